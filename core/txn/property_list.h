// The properties of an operation. Each property refers to bytes of the request, or to a property
// that the list owns. Copies of a list share the owned properties, which never change.
#pragma once

#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/entity.h"

namespace entitable {

class PropertyList {
 public:
  PropertyList() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  PropertyList(std::vector<Property> properties) {
    reserve(properties.size());
    for (Property& property : properties) push_back(std::move(property));
  }
  PropertyList(std::initializer_list<Property> properties)
      : PropertyList(std::vector<Property>(properties)) {}

  void reserve(std::size_t properties) { views_.reserve(properties); }
  void clear() {  // keeps the capacity
    views_.clear();
    kept_.reset();
  }
  // REQUIRES: the bytes that `property` refers to outlive the list and its copies.
  void push_back(const PropertyView& property) { views_.push_back(property); }
  void push_back(Property property) {
    const Property& kept = keep(std::move(property));
    views_.push_back({kept.name, kept.value.view()});
  }
  // The list owns the value but not the name. REQUIRES: the name outlives the list and its copies.
  void push_back(std::string_view name, Value value) {
    views_.push_back({name, keep({{}, std::move(value)}).value.view()});
  }

  // data() and size() convert the list to a span.
  const PropertyView* data() const { return views_.data(); }
  std::size_t size() const { return views_.size(); }
  bool empty() const { return views_.empty(); }
  const PropertyView& operator[](std::size_t i) const { return views_[i]; }
  auto begin() const { return views_.begin(); }
  auto end() const { return views_.end(); }
  friend bool operator==(const PropertyList& a, const PropertyList& b) {
    return a.views_ == b.views_;
  }

 private:
  const Property& keep(Property property) {
    if (kept_ == nullptr) kept_ = std::make_shared<std::deque<Property>>();
    return kept_->emplace_back(std::move(property));
  }

  std::vector<PropertyView> views_;
  // A deque, because the views refer to its elements and appending must not move them.
  std::shared_ptr<std::deque<Property>> kept_;
};

}  // namespace entitable

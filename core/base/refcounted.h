// Intrusive reference counting for the copy-on-write structures.
//
// The count is not atomic, because the core runs on one thread. An object may be changed in place
// if unique() of its Ref is true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace entitable {

// Base of a counted object. Derive publicly: class Leaf : public RefCounted<Leaf>.
template <typename Derived>
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) noexcept {}  // a copy starts with its own count
  RefCounted& operator=(const RefCounted&) = delete;

 private:
  template <typename T>
  friend class Ref;
  mutable std::uint32_t references_ = 0;
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  explicit Ref(T* object) : object_(object) { acquire(); }
  Ref(const Ref& other) : object_(other.object_) { acquire(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && --object_->references_ == 0) delete object_;
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool unique() const { return object_ != nullptr && object_->references_ == 1; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  void acquire() {
    if (object_ != nullptr) ++object_->references_;
  }
  T* object_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace entitable

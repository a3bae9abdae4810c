// Result<T>: a value or an Error. Results are never ignored.
//
//   Result<TableName> name = TableName::parse(text);
//   if (!name.ok()) return name.error();
//   use(*name);
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/status.h"

namespace entitable {

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  const Error& error() const {
    ENTITABLE_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  T& operator*() {
    ENTITABLE_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& operator*() const {
    ENTITABLE_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  std::variant<T, Error> state_;
};

// Success without a value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  const Error& error() const {
    ENTITABLE_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace entitable

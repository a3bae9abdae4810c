// Result<T>: a value or an Error. A Result must not be ignored.
//
//   Result<TableName> name = TableName::parse(text);
//   if (!name.ok()) return name.error();
//   use(*name);
#pragma once

#include <new>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"

namespace entitable {

// Not a std::variant, which generates function tables for destruction and copying for every T and
// makes the module larger.
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : value_(std::move(value)), ok_(true) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  Result(const Result& other) : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(other.value_);
    } else {
      new (&error_) Error(other.error_);
    }
  }
  Result(Result&& other) noexcept : ok_(other.ok_) { move_from(other); }
  Result& operator=(Result other) noexcept {
    destroy();
    ok_ = other.ok_;
    move_from(other);
    return *this;
  }
  ~Result() { destroy(); }

  bool ok() const { return ok_; }
  const Error& error() const {
    ENTITABLE_CHECK(!ok_);
    return error_;
  }
  T& operator*() {
    ENTITABLE_CHECK(ok_);
    return value_;
  }
  const T& operator*() const {
    ENTITABLE_CHECK(ok_);
    return value_;
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  void move_from(Result& other) noexcept {
    if (ok_) {
      new (&value_) T(std::move(other.value_));
    } else {
      new (&error_) Error(std::move(other.error_));
    }
  }
  void destroy() {
    if (ok_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  union {
    T value_;
    Error error_;
  };
  bool ok_;
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

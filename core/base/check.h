// Assertions that detect bugs in this code. User input never reaches an assertion: bad input is
// reported through Result.
//
// ENTITABLE_CHECK is active in every build: it guards memory and stored bytes. ENTITABLE_DCHECK is
// active unless NDEBUG is defined. A failed assertion calls the handler that the host has set;
// without a handler the program aborts. The wasm build sets a handler that reports InternalError to
// the caller.
#pragma once

namespace entitable {

using CheckHandler = void (*)(const char* condition, const char* file, int line);

// Replaces the handler of failed checks. REQUIRES: the handler does not return.
void set_check_handler(CheckHandler handler);

[[noreturn, gnu::cold, gnu::noinline]] void check_failed(const char* condition, const char* file,
                                                         int line);

}  // namespace entitable

#define ENTITABLE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::entitable::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define ENTITABLE_DCHECK(condition) static_cast<void>(0)
#else
#define ENTITABLE_DCHECK(condition) ENTITABLE_CHECK(condition)
#endif

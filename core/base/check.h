// Assertions for our own bugs. Never for user input: that gets a Result.
//
// CHECK stays on in every build: it guards memory and stored bytes. DCHECK is on
// unless NDEBUG is defined. Both end in check_failed, which a host may replace:
// native builds abort, the wasm build turns it into InternalError at the boundary.
#pragma once

namespace entitable {

using CheckHandler = void (*)(const char* condition, const char* file, int line);

// Replaces what happens when a check fails; the handler must not return.
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

#include "core/base/check.h"

#include <cstdlib>

namespace entitable {
namespace {
CheckHandler check_handler = nullptr;
}

void set_check_handler(CheckHandler handler) {
  check_handler = handler;
}

void check_failed(const char* condition, const char* file, int line) {
  if (check_handler != nullptr) check_handler(condition, file, line);
  std::abort();
}

}  // namespace entitable

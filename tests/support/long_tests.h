// The switch of `./dev test --long`.
#pragma once

#include <cstdlib>

namespace tarn::testing {

/// Whether tests that take minutes run whole: TARN_TEST_LONG is set, and not empty.
inline bool is_long() {
  const char* const value = std::getenv("TARN_TEST_LONG");
  return value != nullptr && *value != '\0';
}

}  // namespace tarn::testing

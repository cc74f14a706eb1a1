// A check that ends the process.
#pragma once

#include <cstdio>
#include <cstdlib>

/// Aborts the process unless the condition holds, after a line on standard error: TARN_CHECK for
/// places that may not throw. tests/tidy/aborts.py lists each use with its reason.
#define TARN_CHECK_OR_ABORT(condition)                                                     \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "check failed: %s at %s:%d\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)

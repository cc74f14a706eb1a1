// A check that ends the process.
#pragma once

#include <cstdio>
#include <cstdlib>

/// As TARN_CHECK, where nothing may be thrown and the process cannot go on: writes to standard
/// error and aborts. tests/tidy/aborts.py lists each use with its reason.
#define TARN_CHECK_OR_ABORT(condition)                                                     \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "check failed: %s at %s:%d\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)

// The assertion of fuzz targets.
#pragma once

#include <cstdio>
#include <cstdlib>

/// Aborts the program, so that libFuzzer saves the input.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

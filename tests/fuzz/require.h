// The assertion of fuzz targets.
#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the program, which libFuzzer records with the input that did it.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

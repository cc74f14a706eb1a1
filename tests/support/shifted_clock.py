"""A clock that is wrong by a constant, for one process: a library that LD_PRELOAD puts before the system's."""

import subprocess

SOURCE = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift;
__attribute__((constructor)) static void begin(void) {
  const char* text = getenv("CLOCK_SHIFT_SECONDS");
  shift = text ? atol(text) : 0;
}
int clock_gettime(clockid_t clock, struct timespec* at) {
  const int result = (int)syscall(SYS_clock_gettime, clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += shift;
  return result;
}
int gettimeofday(struct timeval* at, void* zone) {
  const int result = (int)syscall(SYS_gettimeofday, at, zone);
  if (result == 0) at->tv_sec += shift;
  return result;
}
time_t time(time_t* out) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  if (out) *out = at.tv_sec;
  return at.tv_sec;
}
"""


class ShiftedClock:
    def __init__(self, directory):
        source, self.library = directory / "clock.c", directory / "clock.so"
        source.write_text(SOURCE)
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(self.library), str(source)], check=True)

    def environment(self, seconds):
        return {"LD_PRELOAD": str(self.library), "CLOCK_SHIFT_SECONDS": str(seconds)}

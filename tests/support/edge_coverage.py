"""Edges of a running program that have run, read from the counters that clang's -fsanitize=fuzzer-no-link gives it."""

import os
import subprocess

import numpy

FIRST, END = "__start___sancov_cntrs", "__stop___sancov_cntrs"


def of(pid):
    """None: the program has no counters."""
    program = os.readlink(f"/proc/{pid}/exe")
    symbols = {}
    for line in subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.splitlines():
        address, _, name = line.rpartition(" ")
        if name in (FIRST, END):
            symbols[name] = int(address.split()[0], 16)
    return EdgeCoverage(pid, program, symbols[FIRST], symbols[END]) if symbols else None


class EdgeCoverage:
    """A counter of one byte for each of `size` edges, of which `count` have run."""

    def __init__(self, pid, program, first, end):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(program))
        self.first, self.size = first + (base if first < base else 0), end - first
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.ran = numpy.zeros(self.size, dtype=bool)
        self.count = 0

    def __del__(self):
        os.close(self.memory)

    def grew(self):
        """Whether an edge has run that had not before."""
        self.ran |= numpy.frombuffer(os.pread(self.memory, self.size, self.first), dtype=numpy.uint8) != 0
        before, self.count = self.count, int(numpy.count_nonzero(self.ran))
        return self.count > before

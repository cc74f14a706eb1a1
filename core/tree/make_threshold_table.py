#!/usr/bin/env python3
"""Writes chunk_thresholds.inc: the chances of a chunk boundary as 64-bit integers.

A chunk whose size grows from s-1 to s ends there with the conditional probability of a Weibull distribution of shape 4
and scale lambda: 1 - exp(-((s/lambda)^4 - ((s-1)/lambda)^4)). The table holds floor(p * 2^64) for every size, so that
every machine draws the same boundaries; nothing is computed in floating point at run time. Changing a number here
changes the format. Run: python3 make_threshold_table.py > chunk_thresholds.inc
"""

from decimal import Decimal, getcontext

getcontext().prec = 80
SHAPE = 4
PER_LINE = 4
TABLES = [("kLeafThresholds", 177, 24, 480), ("kInnerThresholds", 265, 2, 720)]


def threshold(size: int, scale: int, smallest: int) -> int:
    if size < smallest:
        return 0
    hazard = (Decimal(size) ** SHAPE - Decimal(size - 1) ** SHAPE) / Decimal(scale) ** SHAPE
    return int((1 - (-hazard).exp()) * 2**64)


def main() -> None:
    print("// Made by make_threshold_table.py; part of the format.")
    for name, scale, smallest, largest in TABLES:
        values = [threshold(size, scale, smallest) for size in range(largest + 1)]
        print(f"constexpr std::array<uint64_t, {largest + 1}> {name} = {{")
        for at in range(0, len(values), PER_LINE):
            print("    " + " ".join(f"0x{v:016x}," for v in values[at : at + PER_LINE]))
        print("};")


if __name__ == "__main__":
    main()

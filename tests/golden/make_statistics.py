#!/usr/bin/env python3
"""Writes statistics.csv: results of SciPy for the random cases of core/statistics/statistics_test.cc.

The values of a case come from the generator that C++ calls std::minstd_rand, seeded with the number of the case, so the
file holds results only. `--check` compares what SciPy says now with the file. Needs scipy and numpy.
"""

import csv
import io
import pathlib
import sys

import numpy
from scipy import stats

CASES = 1000
RESAMPLES = 9999
PATH = pathlib.Path(__file__).with_name("statistics.csv")


class Minstd:
    """std::minstd_rand: x = 48271 x modulo 2^31 - 1."""

    def __init__(self, seed):
        self.x = seed

    def __call__(self):
        self.x = self.x * 48271 % 2147483647
        return self.x

    def below(self, count):
        return self() % count


def sample(random, size):
    """Values around 0.9, whose spread differs from case to case."""
    shift, spread = random.below(1000), 1 + random.below(1000)
    return [0.9 + shift / 1e5 + random.below(1000) * spread / 1e8 for _ in range(size)]


def welch(case):
    random = Minstd(case)
    first, second = (sample(random, 2 + random.below(30)) for _ in range(2))
    result = stats.ttest_ind(first, second, equal_var=False)
    greater = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
    interval = result.confidence_interval(0.95)
    return [
        result.statistic,
        result.df,
        result.pvalue,
        greater.pvalue,
        interval.low,
        interval.high,
        greater.confidence_interval(0.9).low,
    ]


def mcnemar(case):
    random = Minstd(case)
    first, second = random.below(1 + random.below(500)), random.below(1 + random.below(500))
    return [stats.binomtest(first, first + second).pvalue if first + second else 1.0]


def holm(case):
    """By the definition, since SciPy has no correction of Holm: step down, the greatest so far."""
    random = Minstd(case)
    values = [random.below(10000) / 100000 for _ in range(1 + random.below(8))]
    out = []
    for value in values:
        steps = sorted(values)
        below = [min(1.0, (len(steps) - rank) * p) for rank, p in enumerate(steps) if p <= value]
        out.append(max(below))
    return out


def bootstrap(case):
    """Differences of few values, as of right and wrong answers, in even cases; of any values in odd ones."""
    random = Minstd(case)
    size = 20 + random.below(60)
    if case % 2:
        values = numpy.array([random.below(1000) * random.below(1000) / 1e6 - 0.2 for _ in range(size)])
    else:
        values = numpy.array([(random.below(5) == 0) - (random.below(6) == 0) for _ in range(size)], dtype=float)
    if numpy.ptp(values) == 0:
        return [values[0], values[0], values[0]]
    found = stats.bootstrap((values,), numpy.mean, n_resamples=RESAMPLES, confidence_level=0.95, method="BCa", rng=case)
    return [values.mean(), found.confidence_interval.low, found.confidence_interval.high]


def rows():
    for kind in (welch, mcnemar, holm, bootstrap):
        for case in range(1, CASES + 1):
            yield [kind.__name__, case, *(f"{value:.12g}" for value in kind(case))]


def main():
    if "--check" not in sys.argv:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows())
        PATH.write_text(text.getvalue(), encoding="utf-8")
        return 0
    kept = list(csv.reader(PATH.open(encoding="utf-8")))
    for row, old in zip(rows(), kept, strict=True):
        tolerance = 1e-2 if row[0] == "bootstrap" else 1e-8
        if row[:1] != old[:1] or not numpy.allclose(
            [float(v) for v in row[1:]], [float(v) for v in old[1:]], rtol=tolerance, atol=1e-12
        ):
            print(f"{PATH.name}: has {old}, SciPy says {row}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

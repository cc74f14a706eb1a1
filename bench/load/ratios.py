"""Judges a comparison of two programs by the ratios of rounds in which both were measured, one right after the other.

A ratio is the speed after over the speed before: 0.95 is 5 % slower. A round in which the machine did something else
spoils one ratio, so the median counts, and the spread leaves out the smallest and the largest.
"""

import statistics

ROUNDS_MIN = 3  # fewer have no spread


def speed_ratio(before, after, lower_is_better=False):
    return before / after if lower_is_better else after / before


def spread(ratios):
    """Half the range of the ratios, without the smallest and the largest if five or more are there."""
    kept = sorted(ratios)
    if len(kept) >= 5:
        kept = kept[1:-1]
    return (kept[-1] - kept[0]) / 2


def judge(ratios, bound):
    """(median, spread, verdict). `bound`: the part of the speed that may be lost, 0.05 for 5 %.

    "worse": slower than the bound permits by more than the spread. "slower", "faster": by more than the spread, but
    no reason to fail. "same": the rounds cannot tell.
    """
    if len(ratios) < ROUNDS_MIN:
        raise ValueError(f"{len(ratios)} rounds: at least {ROUNDS_MIN} are needed to know the spread")
    middle, wide = statistics.median(ratios), spread(ratios)
    if 1 - middle > bound + wide:
        verdict = "worse"
    elif middle + wide < 1:
        verdict = "slower"
    elif middle - wide > 1:
        verdict = "faster"
    else:
        verdict = "same"
    return middle, wide, verdict

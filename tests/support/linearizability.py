"""Whether a history of overlapping operations could have come from one object that does them one at a time.

The search is that of Wing and Gong with Lowe's memory of configurations (operations done, state). A state is any hashable
value, and an operation says which states it may lead to. One whose outcome is unknown may take effect at any moment after
its start, or never.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SEARCH_SECONDS = 10
CONFIGURATIONS_MAX = 300_000
SHRINKING_CONFIGURATIONS_MAX = 5_000  # of one attempt; one that needs more keeps its operations
SHRINKING_SECONDS = 10


@dataclass(slots=True, eq=False)
class Operation:
    """`step(state)` lists the states after it; none when its answer cannot be given in that state."""

    start: float
    end: float  # math.inf: no answer came
    step: Callable[[Any], list]
    label: str
    required: bool = True  # False: it may never have happened
    reads_only: bool = False  # its steps lead to the state that was there
    alike: Any = None  # those that may have happened and have this in common have the same steps

    def __str__(self):
        end = "      ..." if self.end == math.inf else f"{self.end:9.4f}"
        return f"{self.start:9.4f} {end}  {self.label}{'' if self.required else '  (may have happened)'}"


class Undecided(Exception):
    """The history has too many ways to be put in order."""


class Entry:
    """A call or a return in the list of what is still to be put in order."""

    __slots__ = ("operation", "bit", "back", "before", "after")

    def __init__(self, operation, bit, back):
        self.operation, self.bit, self.back = operation, bit, back  # back: the entry of the return, if this is a call
        self.before = self.after = None

    def unlink(self):
        self.before.after, self.after.before = self.after, self.before

    def link(self):
        self.before.after = self.after.before = self


def linked(operations):
    """A ring of calls and returns by time, behind the entry that is answered; an optional operation never returns."""
    moments = []
    for number, operation in enumerate(sorted(operations, key=lambda one: one.start)):
        back = Entry(operation, 1 << number, None) if operation.required and operation.end < math.inf else None
        moments.append((operation.start, 0, number, Entry(operation, 1 << number, back)))
        if back:
            moments.append((operation.end, 1, number, back))
    # One that is required without an end returns when all is over.
    moments.sort(key=lambda moment: moment[:3])
    entries = [moment[3] for moment in moments]
    for entry in list(entries):
        if entry.operation.required and entry.operation.end == math.inf:
            entry.back = Entry(entry.operation, entry.bit, None)
            entries.append(entry.back)
    head = Entry(None, 0, None)
    ring = [head, *entries]
    for one, other in zip(ring, [*ring[1:], head], strict=True):
        one.after, other.before = other, one
    return head


def callable_now(head):
    """Calls before the first return: those that must have happened first, since the others rarely explain anything."""
    required, optional, kinds, entry = [], [], set(), head.after
    while entry is not head and (entry.back is not None or not entry.operation.required):
        if entry.operation.required:
            required.append(entry)
        elif entry.operation.alike is None or entry.operation.alike not in kinds:
            optional.append(entry)  # of several alike the earliest will do
            kinds.add(entry.operation.alike)
        entry = entry.after
    if entry is head:
        return None  # nothing is left that must have happened
    required.sort(key=lambda one: one.operation.end)
    return required + optional


def needless(before, optional, entry, after):
    """Whether `entry` leads to the same without `optional` in front of it, or with it behind.

    Then that order is tried instead. Without this, writes that may have happened would be tried in every combination.
    """
    later = entry.operation.required or entry.bit < optional.bit  # of two that may have happened, one order is tried
    return any(
        without == after or (later and after in optional.operation.step(without)) for without in entry.operation.step(before)
    )


def order_of(operations, initial, configurations_max=CONFIGURATIONS_MAX, seconds=SEARCH_SECONDS):
    """(order, True) when there is one that explains all answers; otherwise (the longest that was found, False)."""
    head = linked(operations)
    done, state, idle = 0, initial, None  # idle: (state before it, entry) of a last operation that may have happened
    seen = set()
    order, longest = [], []
    frames = []  # what to go back to: (what is still to try, entry that was taken, state and idle before it)

    def choices(state, idle):
        now = callable_now(head)
        if now is None:
            return None
        for entry in now:
            # It never changes anything, so no order is lost by taking it at once.
            if entry.operation.required and entry.operation.reads_only and entry.operation.step(state):
                return iter([(entry, state)])
        return (
            (entry, after)
            for entry in now
            for after in entry.operation.step(state)
            if idle is None or not needless(*idle, entry, after)
        )

    tries = choices(state, idle)
    deadline = time.monotonic() + seconds
    while tries is not None:
        for entry, after in tries:
            then = None if entry.operation.required else (state, entry)
            configuration = (done | entry.bit, after, then and (state, entry.bit))
            if configuration not in seen:
                break
        else:
            if not frames:
                return longest, False
            tries, entry, state, idle = frames.pop()
            order.pop()
            done ^= entry.bit
            if entry.back:
                entry.back.link()
            entry.link()
            continue
        seen.add(configuration)
        if len(seen) > configurations_max or time.monotonic() > deadline:
            raise Undecided(f"{len(seen)} configurations of {len(operations)} operations")
        frames.append((tries, entry, state, idle))
        order.append(entry.operation)
        if len(order) > len(longest):
            longest = list(order)
        entry.unlink()
        if entry.back:
            entry.back.unlink()
        done, state, idle = done | entry.bit, after, then
        tries = choices(state, idle)
    return order, True


def linearizable(operations, initial):
    return order_of(operations, initial)[1]


def relaxed(operation):
    """As if its answer had been lost."""
    return Operation(operation.start, math.inf, operation.step, operation.label, required=False)


def until(operations, moment):
    """The knowledge at one moment: answers so far, and requests so far."""
    asked = [one for one in operations if one.start <= moment]
    return [one if one.end <= moment else relaxed(one) for one in asked if one.end <= moment or not one.reads_only]


def fails(operations, initial):
    try:
        return not order_of(operations, initial, SHRINKING_CONFIGURATIONS_MAX, seconds=1)[1]
    except Undecided:
        return False


def first_contradiction(operations, initial):
    """The knowledge when the answers first contradicted each other."""
    ends = sorted(one.end for one in operations if one.end < math.inf)
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if fails(until(operations, ends[middle]), initial):
            high = middle
        else:
            low = middle + 1
    known = until(operations, ends[high]) if ends else []
    return known if fails(known, initial) else list(operations)


def smallest_failing(operations, initial):
    """A few operations that already contradict each other, and writes that could have explained a part of them.

    Leaving out a read, and taking a write for one that may have happened, can only allow more orders. So what stays required
    is a contradiction of the whole history.
    """
    kept = first_contradiction(operations, initial)
    size = max(1, len(kept) // 2)
    deadline = time.monotonic() + SHRINKING_SECONDS
    while time.monotonic() < deadline:
        changed, at = False, 0
        while at < len(kept) and time.monotonic() < deadline:
            piece = kept[at : at + size]
            softer = [relaxed(one) if one.required else one for one in piece if not one.reads_only]
            trial = kept[:at] + softer + kept[at + size :]
            if any(one.required for one in piece) and fails(trial, initial):
                kept, changed = trial, True
                at += len(softer)
            else:
                at += size
        if size == 1 and not changed:
            break
        size = max(1, size // 2)
    needed = [one for one in kept if one.required]
    explaining = []
    for one in needed:
        if len(needed) > 20 or time.monotonic() > deadline:
            break
        try:
            order, found = order_of(
                [other for other in kept if other is not one], initial, SHRINKING_CONFIGURATIONS_MAX, seconds=1
            )
        except Undecided:
            continue
        explaining += [other for other in order if found and not other.required and other not in explaining]
    return sorted(needed + explaining, key=lambda one: one.start)

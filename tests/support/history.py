"""Requests and answers of clients, as operations on the few keys each of them concerns."""

import math
import threading
import time

from linearizability import Operation

UNSEEN = -9  # instead of the number of a write that nobody read


class Cell:
    """Keys (or one name) whose states are checked together, and what happened to them in this round."""

    def __init__(self, label, keys, initial):
        self.label, self.keys, self.initial = label, keys, initial
        self.happened = []


class Recorder:
    """Safe from any thread. Times are seconds since it was made."""

    def __init__(self):
        self.begun = time.monotonic()
        self.lock = threading.Lock()
        self.seen = set()  # numbers of writes that somebody read
        self.count = 0
        self.unknown = 0
        self.last_number = 0
        self.problems = []  # contradictions that need no search

    def now(self):
        return time.monotonic() - self.begun

    def number(self):
        with self.lock:
            self.last_number += 1
            return self.last_number

    def problem(self, text):
        with self.lock:
            self.problems.append(f"{self.now():.3f} {text}")

    def done(self, cell, start, label, step, end=None):
        self.add(cell, Operation(start, self.now() if end is None else end, step, label))

    def read(self, cell, start, label, step, numbers=(), end=None):
        self.seen.update(numbers)
        self.add(cell, Operation(start, self.now() if end is None else end, step, label, reads_only=True))

    def in_doubt(self, cell, start, label, make, value=None, alike=None):
        """`make(value)` is the step. `value`: numbers it writes, or None; `alike`: all else that distinguishes the step."""
        self.unknown += 1
        self.add(cell, (start, label, make, value, alike))

    def add(self, cell, operation):
        self.count += 1
        cell.happened.append(operation)

    def operations(self, cell):
        """Of this round; to be asked when all that was read is known."""
        out = []
        for one in cell.happened:
            if isinstance(one, Operation):
                out.append(one)
                continue
            start, label, make, value, alike = one
            unseen = value is not None and not any(number in self.seen for number in value if number > 0)
            if unseen:
                value = tuple(UNSEEN if number > 0 else number for number in value)
                alike = alike and (alike, value)
            out.append(
                Operation(
                    start,
                    math.inf,
                    make(value) if value is not None else make(),
                    label,
                    required=False,
                    alike=alike if unseen or value is None else None,
                )
            )
        return out

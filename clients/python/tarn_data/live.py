"""Sends what a run logs while it runs, from a thread in the background. It never stops what it measures."""

from __future__ import annotations

import atexit
import collections
import logging
import math
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from tarn_data.errors import InvalidRequest, TarnError, Unavailable
from tarn_data.transport import Server

FLUSH_SECONDS = 1.0
# Far below the five minutes after which the server calls a run stale.
HEARTBEAT_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 30.0
# The end of a run waits so long for values that were not sent yet.
END_SECONDS = 20.0
BATCH_POINTS_MAX = 5_000
QUEUE_POINTS_MAX = 200_000
QUEUE_BYTES_MAX = 32 << 20
POINT_BYTES = 32  # of one value besides its name

_log = logging.getLogger("tarn_data")


class LiveLog:
    """A queue of values and the thread that sends them. Safe from any thread.

    If the server is gone values wait, up to a limit; beyond it the oldest are dropped. `dropped` counts what the server will
    not have. Forked processes send nothing."""

    def __init__(self, server: Server, repo: str, run: str) -> None:
        self.dropped = 0
        self._server = server
        self._place = ("repositories", repo, "runs", run, "steps")
        self._run = run
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._points: collections.deque[tuple[int, str, float]] = collections.deque()
        self._params: dict[str, Any] = {}
        self._bytes = 0
        self._sending = 0  # points
        self._ending = False
        self._over = False  # nothing more is sent
        self._told: set[str] = set()
        self._thread = threading.Thread(target=self._work, name=f"tarn run {run}", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def add(self, step: int, values: Mapping[str, float]) -> None:
        if os.getpid() != self._pid:
            return
        with self._changed:
            for name, value in values.items():
                if self._over:
                    self.dropped += 1
                elif math.isfinite(value):
                    self._points.append((step, name, value))
                    self._bytes += _bytes_of(name)
                else:
                    self._drop(1, "values that are no finite number are left out of curves")
            self._make_room()
            if len(self._points) >= BATCH_POINTS_MAX:
                self._changed.notify_all()

    def params(self, params: Mapping[str, Any]) -> None:
        if os.getpid() != self._pid:
            return
        with self._changed:
            self._params.update(params)

    def close(self, seconds: float = END_SECONDS) -> None:
        """Sends what waits, for so long at most, and ends the thread."""
        atexit.unregister(self.close)
        if os.getpid() != self._pid or self._ending:
            return
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed:
            self._over = True
            lost = len(self._points) + self._sending
            self._points.clear()
            if lost > 0:
                self._drop(lost, "the server did not take all values in time")
            if self.dropped > 0:
                _log.warning("run %s: %d values are not in its curves", self._run, self.dropped)

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if why not in self._told:
            self._told.add(why)
            _log.warning("run %s: %s", self._run, why)

    def _make_room(self) -> None:
        while len(self._points) > QUEUE_POINTS_MAX or self._bytes > QUEUE_BYTES_MAX:
            self._bytes -= _bytes_of(self._points.popleft()[1])
            self._drop(1, "the server takes values too slowly, the oldest are dropped")

    def _work(self) -> None:
        sent = time.monotonic()
        pause = FLUSH_SECONDS
        while True:
            with self._changed:
                if not self._ending:
                    self._changed.wait(pause)
                points = [self._points.popleft() for _ in range(min(len(self._points), BATCH_POINTS_MAX))]
                self._bytes -= sum(_bytes_of(name) for _, name, _ in points)
                self._sending = len(points)
                params, self._params = self._params, {}
                ending = self._ending
            if not points and not params:
                if ending or self._over:
                    return
                if time.monotonic() < sent + HEARTBEAT_SECONDS:
                    continue
            if self._send(points, params):
                sent, pause = time.monotonic(), FLUSH_SECONDS
            else:
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            with self._changed:
                self._sending = 0
                if self._over or (self._ending and pause > FLUSH_SECONDS and not self._thread_may_wait(pause)):
                    return

    def _thread_may_wait(self, pause: float) -> bool:
        """Waits before another attempt at the end of a run; false once nobody waits for it."""
        self._changed.wait(pause)
        return not self._over

    def _send(self, points: list[tuple[int, str, float]], params: dict[str, Any]) -> bool:
        """Whether the server has them, or never will; else they wait again."""
        steps: dict[int, dict[str, float]] = {}
        for step, name, value in points:
            steps.setdefault(step, {})[name] = value
        body = {"params": params, "steps": [{"step": step, "metrics": values} for step, values in steps.items()]}
        try:
            self._server.request("POST", *self._place, json=body, repeat=True)
        except (InvalidRequest, ValueError) as error:
            with self._changed:
                self._drop(len(points), f"the server refuses values: {error}")
        except Unavailable as error:
            _log.info("run %s: %s", self._run, error)
            with self._changed:
                if self._over:
                    return False
                self._points.extendleft(reversed(points))
                self._bytes += sum(_bytes_of(name) for _, name, _ in points)
                self._params = {**params, **self._params}
                self._make_room()
            return False
        except TarnError as error:
            with self._changed:
                self._over = True
                self._drop(len(points) + len(self._points), f"nothing more is sent: {error}")
                self._points.clear()
        except Exception as error:
            with self._changed:
                self._over = True
                self._drop(len(points), f"nothing more is sent: {error!r}")
        return True


def _bytes_of(name: str) -> int:
    return POINT_BYTES + len(name)

"""Histories beside failovers, old primaries that return, collections under a clock that moves on, and copies of the installation.

Clients and checks are those of test_histories.py, and more: versions over S3 and their removal, promotions through a gate,
repositories that are deleted and restored, history that expires. See tests/support/installations.py for what happens to them;
TARN_HISTORY_FAULTS takes its methods too, such as "copy_of_files,fail_over,collect".
"""

import os
import random
import time
from pathlib import Path

import pytest
from gate_client import Gates
from histories import Histories
from installations import Installations
from life_client import Lives, Retention
from long_tests import LONG
from version_client import Versions

pytestmark = pytest.mark.skipif(not LONG, reason="takes minutes: ./dev test --long")

LONG_SECONDS = 3600


@pytest.mark.timeout(24 * 3600)
def test_every_answer_is_explained_beside_copies_and_failovers(scratch_dir, made_pair, long_tests):
    seed = int(os.environ.get("TARN_TEST_SEED", random.randrange(10**6)))
    seconds = int(os.environ.get("TARN_HISTORY_SECONDS", LONG_SECONDS if long_tests else 0))
    print(f"seed {seed}")
    begun = time.monotonic()
    happens = Installations(Path(scratch_dir), random.Random(seed + 1), long_tests, made_pair)
    try:
        happens.start()
        histories = Histories(happens, seed)
        recorder, must, patient = histories.recorder, histories.must, histories.patient
        gates, retention = Gates(recorder, must, patient), Retention(recorder, must, patient, lambda: happens.shift)
        histories.others = [Versions(recorder, must, histories.wires), gates, Lives(recorder, must, patient), retention]
        histories.names.expiries = (None,)
        for arena in histories.arenas:
            arena.addresses_expire = True
        happens.recorder, happens.must, happens.repositories = recorder, must, ("histories", "versions", "gated", "expiring")
        while True:
            histories.round(None)
            lasted = time.monotonic() - begun
            print(
                f"{lasted:.0f} s: {recorder.count} answers, {recorder.unknown} in doubt, {histories.undecided} of "
                f"{histories.cells} keys undecided, {happens.failovers} failovers, {happens.copies} copies with "
                f"{happens.refusals} refusals, {happens.collections} collections removed {happens.removed} objects, "
                f"{gates.promoted} promotions, {retention.expired} reads of what had expired, no violation",
                flush=True,
            )
            if lasted >= seconds:
                break
        if "TARN_HISTORY_FAULTS" not in os.environ:  # it all happened
            assert happens.failovers and happens.copies and happens.refusals and happens.removed
            assert gates.promoted and retention.expired
    finally:
        happens.end()

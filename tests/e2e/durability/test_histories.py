"""Random clients on two servers over one database, while servers and database fail; every answer is explained or refused.

Connections to the database break after a COMMIT, statements are late, servers and PostgreSQL are killed or stopped, and the
servers' clocks are minutes apart. See tests/support/histories.py for the clients and what is checked.

TARN_TEST_SEED=N chooses the same clients and faults again; TARN_HISTORY_SECONDS=N, how long rounds go on with
TARN_TEST_LONG=1. TARN_HISTORY_FAULTS names the faults (comma-separated; see Chaos), "none" for none; TARN_HISTORY_WITHOUT,
operations of clients that are left out. With TARN_TEST_KEEP=1 the histories of a contradiction stay in contradictions.txt.
"""

import os
import random
import time
from pathlib import Path

import pytest
from chaos import Chaos, measured
from histories import Histories

ROUND_SECONDS = 11
ROUND_SECONDS_LONG = 48
PATIENCE_SECONDS = 120  # more, while a busy machine has let too little happen
ANSWERS_MIN = 1001  # histories with fewer would say little
LEASED_MIN = 11


@pytest.mark.timeout(24 * 3600)
def test_every_answer_is_explained_under_chaos(scratch_dir, long_tests):
    seed = int(os.environ.get("TARN_TEST_SEED") or random.randrange(10**6))
    seconds = int(os.environ.get("TARN_HISTORY_SECONDS") or (3600 if long_tests else 0))
    print(f"seed {seed}")
    begun, leased = time.monotonic(), 0
    chaos = Chaos(Path(scratch_dir), random.Random(seed + 1), long_tests)
    try:
        chaos.start()
        histories = Histories(chaos, seed)
        while True:
            histories.round(ROUND_SECONDS_LONG if long_tests else ROUND_SECONDS)
            lasted = time.monotonic() - begun
            done = histories.recorder.count
            leased += sum(measured(server, "tarn_leased_reads_total")[0] for server in chaos.servers)
            print(
                f"{lasted:.0f} s: {done} answers, {done / lasted:.0f}/s, {histories.recorder.unknown} in doubt, "
                f"{histories.operations} operations checked in {histories.searched:.1f} s, "
                f"{histories.undecided} of {histories.cells} keys "
                f"undecided, {leased:.0f} reads under leases, no violation",
                flush=True,
            )
            enough = done >= ANSWERS_MIN and leased >= LEASED_MIN
            if (lasted >= seconds and enough) or lasted >= seconds + PATIENCE_SECONDS or done >= 10**6:
                break
        assert done >= ANSWERS_MIN, f"seed {seed}: only {done} answers"
        assert leased >= LEASED_MIN, f"seed {seed}: only {leased} reads under leases"
    finally:
        chaos.end()

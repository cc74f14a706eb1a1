"""Two servers on one database: 64 writers, a committer and a merger on one branch lose no acknowledged write.

Tried out: without the lock in the functions that stage, runs of 8 s lost 19 of 24,344 and 18 of 24,595 acknowledged writes.
"""

import json
import subprocess

import pytest
import servers

SECONDS = 5
SECONDS_LONG = 60
WRITES = 1000
WRITES_LONG = 1_000_000
VERBS = 11


@pytest.mark.timeout(3600)
def test_no_acknowledged_write_is_lost_over_two_servers(two_tarnds, long_tests):
    writes = WRITES_LONG if long_tests else WRITES
    command = [
        servers.program("race_client"),
        two_tarnds[0].access_key,
        two_tarnds[0].secret_key,
        str(SECONDS_LONG if long_tests else SECONDS),
        str(writes),
        str(VERBS),
        *(server.url for server in two_tarnds),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    result = json.loads(done.stdout)
    assert result["lost"] == 0
    assert result["refused"] == 0
    assert result["commits"] >= VERBS
    assert result["merges"] >= VERBS
    assert result["acknowledged"] >= writes

"""Failovers that Patroni makes: nothing acknowledged is lost or stale without a word, and nothing at all in strict mode."""

import json
import time

import patroni_cluster
import pytest
from long_tests import LONG
from test_lost_writes import Fleet, Load, judge, until

TOOL = patroni_cluster.missing_tool()
pytestmark = [
    pytest.mark.skipif(not LONG, reason="takes minutes: ./dev test --long"),
    pytest.mark.skipif(TOOL is not None, reason=f"{TOOL} is not installed (Debian: patroni, etcd-server, haproxy)"),
]

ROUNDS = 4


def fail(node, fault):
    {"kill": node.kill, "pause": node.pause, "partition": node.cut_off}[fault]()


def mend(node, fault):
    {"kill": node.start, "pause": node.go_on, "partition": node.connect_again}[fault]()


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "not_strict"])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("fault", ["kill", "pause", "partition"])
def test_failovers_by_patroni(session_scratch, strict, count, fault):
    cluster = patroni_cluster.Cluster(session_scratch / f"patroni-{time.monotonic_ns()}", strict, count).start()
    fleet = Fleet(session_scratch, cluster.url())
    # A leader of Patroni 3.0 that goes on after a pause may name another standby than the one that acknowledges: patroni/patroni#2779.
    keeps_all = strict and (fault != "pause" or count == 2)
    total = {
        "strict": strict,
        "nodes": count,
        "fault": fault,
        "failovers": 0,
        "acknowledged": 0,
        "reads": 0,
        "said": 0,
        "lost": 0,
        "stale": 0,
    }
    try:
        each = [fleet.start(), fleet.start()]
        for round_ in range(ROUNDS):
            load = Load(each, f"{round_}")
            time.sleep(4)
            old = cluster.leader()
            fail(old, fault)
            until(lambda old=old: cluster.leader() not in (None, old), "a new leader", 90)
            time.sleep(5)
            mend(old, fault)
            cluster.wait_until_whole()
            time.sleep(2)
            said, lost = judge(load, fleet, total)
            print(json.dumps(total), flush=True)
            assert not (keeps_all and (said or lost or load.stale)), (round_, lost[:3], load.stale[:3])
    finally:
        fleet.stop()
        cluster.stop()

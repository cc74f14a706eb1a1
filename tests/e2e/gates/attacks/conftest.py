"""A stage for each attack, on one server and on two that take turns."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import servers
from attack import rows
from stage import Stage
from team import Team


def pytest_generate_tests(metafunc):
    """See attack.rows."""
    for table in ("attack", "honest"):
        if table in metafunc.fixturenames:
            found = rows(getattr(metafunc.module, {"attack": "ATTACKS", "honest": "HONEST"}[table]))
            metafunc.parametrize([table, "way", "count"], found, indirect=["count"])


@pytest.fixture(scope="session")
def teams(request, session_scratch):
    """{number of servers: the team there}; started when first asked for."""
    made = {}
    started = []

    def of(count):
        if count not in made:
            if count == 1:
                server = request.getfixturevalue("tarn")
            else:
                server = servers.Tarnds(session_scratch / "tarnds-gate", count).start()
                started.append(server)
            made[count] = Team(server)
        return made[count]

    yield of
    for server in started:
        server.stop()


@pytest.fixture
def count(request):
    return request.param


@pytest.fixture(scope="session")
def prepared():
    """{what they were prepared with: stages on which nothing has moved yet}"""
    return {}


@pytest.fixture
def stage(request, teams, count, way, tmp_path, prepared):
    """Ready for the attack or the honest use of the test."""
    attack = request.getfixturevalue("attack" if "attack" in request.fixturenames else "honest")
    scene = (count, way, attack.scene())
    made = prepared.pop(scene, None)
    if made is None:
        made = Stage(teams(count), way, tmp_path)
        attack.prepare(made)
    yield made
    if attack.is_one_refusal() and request.node.stash.get(PASSED, False):
        prepared[scene] = made


PASSED = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call":
        item.stash[PASSED] = report.passed
    return report

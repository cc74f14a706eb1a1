"""One repository and one running client at a time, for the checks of test_matrix.py."""

import os
import sys
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import client_matrix
import proxies
import servers
from bench import Bench


@pytest.fixture(scope="session")
def ends():
    """{(client id, way, check): how it ended}"""
    return {}


@pytest.fixture(scope="session")
def tarn(disk_scratch, initialised_data, pytestconfig):
    """As everywhere, but CreateBucket makes repositories."""
    making = {"TARN_S3_CREATE_BUCKET": "repository"}
    place, count = disk_scratch / "tarnd-clients", pytestconfig.getoption("--servers")
    if count == 1:
        server = servers.Tarnd(place, environment=making).copy_data_of(initialised_data)
    else:
        server = servers.Tarnds(place, count, environment=making)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def proxy(tarn, disk_scratch):
    server = proxies.Nginx(disk_scratch / "nginx", tarn.url).start()
    yield server
    server.stop()


class Running:
    """The one client that runs, with its bench."""

    def __init__(self, place):
        self.place = place
        self.key = None
        self.pair = None

    def get(self, client, way, make):
        if self.key != (client.id, way):
            self.stop()
            repo = f"{client.id.replace('_', '-')}-{way}-{uuid.uuid4().hex[:8]}"
            bench = make(repo, self.place / repo)
            self.key, self.pair = (client.id, way), (bench, client_matrix.Child(client, bench.box))
        return self.pair

    def stop(self):
        if self.pair:
            self.pair[1].stop()
        self.key = self.pair = None


@pytest.fixture(scope="session")
def running(disk_scratch):
    one = Running(disk_scratch / "clients")
    yield one
    one.stop()


@pytest.fixture
def started(request, running, tarn):
    """(bench, running client) of the parameter (client, way); the tests of one client follow each other."""
    client, way = request.param
    if client.needs and not os.path.exists(client.needs):
        pytest.skip(f"{client.name} needs {client.needs}")

    def make(repo, directory):
        url, ca = (tarn.url, "") if way == "http" else request.getfixturevalue("proxy").reached(way)
        return Bench(client, way, tarn, url, ca, repo, directory)

    return running.get(client, way, make)

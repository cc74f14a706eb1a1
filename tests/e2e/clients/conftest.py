"""One repository and one running client at a time, for the checks of test_matrix.py."""

import os
import sys
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import client_matrix  # noqa: E402
import proxies  # noqa: E402
from bench import Bench  # noqa: E402


@pytest.fixture(scope="session")
def ends():
    """{(client id, way, check): how it ended}"""
    return {}


@pytest.fixture(scope="session")
def proxy(tarn, session_scratch):
    server = proxies.Nginx(session_scratch / "nginx", tarn.url).start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def bench(request, tarn, session_scratch):
    """(bench, running client) of the parameter (client, way)."""
    client, way = request.param
    if client.needs and not os.path.exists(client.needs):
        pytest.skip(f"{client.name} needs {client.needs}")
    url, ca = (tarn.url, "") if way == "http" else request.getfixturevalue("proxy").reached(way)
    repo = f"{client.id.replace('_', '-')}-{way}-{uuid.uuid4().hex[:8]}"
    one = Bench(client, way, tarn, url, ca, repo, session_scratch / "clients" / repo)
    child = client_matrix.Child(client, one.box)
    yield one, child
    child.stop()

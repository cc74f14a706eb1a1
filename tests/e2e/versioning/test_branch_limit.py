"""Branches that one user may have made in a repository: over REST and by the command, freed by deletion and by expiry."""

import time

import clients
import command
import pytest
import servers

LIMIT = 3
DEADLINE_SECONDS = 60


@pytest.fixture
def sparing(scratch_dir, initialised_data):
    """A server that lets a user have three branches in a repository."""
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_BRANCHES_PER_USER_MAX": LIMIT})
    server.copy_data_of(initialised_data).start()
    clients.Rest(server)("POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    yield server
    server.stop()


def test_a_user_has_so_many_branches(sparing, tmp_path):
    rest = clients.Rest(sparing)
    branches = "/repositories/lake/branches"
    cli = command.Cli(sparing, tmp_path)
    for number in range(LIMIT - 1):
        assert rest("POST", branches, json={"name": f"exp-{number}", "source": "main"}).status_code == 201
    cli.run("branch", "create", "tarn://lake/exp-last", "--expires", "2s")

    refused = rest("POST", branches, json={"name": "exp-more", "source": "main"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_branches")
    assert "Retry-After" not in refused.headers, "waiting alone does not help"
    for words in (f"{LIMIT} branches", "lake", "branches.per_user_max", "tarn branch delete"):
        assert words in refused.json()["message"]
    assert "branches.per_user_max" in cli.run("branch", "create", "tarn://lake/exp-more", status=14).talk

    # One that expires makes room, and so does one that is deleted.
    deadline = time.monotonic() + DEADLINE_SECONDS
    while rest("GET", f"{branches}/exp-last").status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert rest("POST", branches, json={"name": "exp-more", "source": "main"}).status_code == 201
    assert rest("POST", branches, json={"name": "exp-even", "source": "main"}).status_code == 429
    assert rest("DELETE", f"{branches}/exp-0").status_code == 204
    assert rest("POST", branches, json={"name": "exp-even", "source": "main"}).status_code == 201

"""Tables that are written on a branch, merged into main and read there."""

import client_matrix
import pytest
from table_checks import summary

ROWS = 500


def pytest_generate_tests(metafunc):
    if "started" in metafunc.fixturenames:
        metafunc.parametrize(
            "started",
            [
                pytest.param((client, "http"), id=client.id)
                for client in client_matrix.chosen(metafunc.config.getoption("--clients"))
                if client.kind == "tables"
            ],
            indirect=True,
        )


def published(bench):
    """Commits the branch and merges it into main."""
    bench.commit_branch("dev")
    bench.rest("POST", bench.path("/refs/dev/merge/main"), json={})


def below(bench, branch):
    return [key.removeprefix(f"{branch}/") for key in bench.keys(f"{branch}/merged/")]


def test_a_table_of_a_branch_is_merged_and_read_on_main(started):
    bench, client = started
    client.write_table("dev/merged", ROWS)
    on_branch = below(bench, "dev")
    published(bench)
    assert below(bench, "main") == below(bench, "dev") == on_branch != []
    if "from_tag" in bench.client.not_offered:
        # Its metadata leads back to the branch; what the client needs besides is a test of its own file.
        assert client.read_table("dev/merged") == summary(ROWS)
        return
    assert client.read_table("main/merged") == summary(ROWS)
    client.write_table("dev/merged", 20)
    assert client.read_table("main/merged") == summary(ROWS), "what is not merged"
    published(bench)
    assert client.read_table("main/merged") == client.read_table("dev/merged") == summary(20)
    assert below(bench, "main") == below(bench, "dev")
    # And of the other objects none is lost.
    for key, path in bench.seeded.items():
        assert bench.same_bytes(key, path), key

"""Every client does every check, and docs/s3-compatibility.md tells so."""

import checks
import client_matrix
import pytest


def pytest_generate_tests(metafunc):
    if "bench" not in metafunc.fixturenames:
        return
    kind = "check" if "check" in metafunc.fixturenames else "also"
    cases = []
    for client in client_matrix.chosen(metafunc.config.getoption("--clients")):
        for way in client.ways():
            names = checks.of(client, way) if kind == "check" else client.also if way == "http" else ()
            cases += [pytest.param((client, way), name, id=f"{client.id}-{way}-{name}") for name in names]
    metafunc.parametrize(f"bench, {kind}", cases, indirect=["bench"], scope="session")


def test_check(bench, check, ends):
    one, client = bench
    key = (one.client.id, one.way, check)
    ends[key] = client_matrix.FAILED
    getattr(checks, check)(client, one)
    ends[key] = client_matrix.OK


def test_also(bench, also):
    """What one client does beyond the table."""
    _, client = bench
    client.call(also, [])


def test_the_table_is_what_the_clients_did(request, ends):
    table = client_matrix.table(checks, ends)
    if request.config.getoption("--write-matrix"):
        client_matrix.write(table)
    assert client_matrix.written() == table, "pytest tests/e2e/clients --write-matrix"


def test_the_table_says_that_each_client_does_what_it_offers():
    cells = client_matrix.written_cells()
    for client, way in client_matrix.rows():
        for check, column in checks.COLUMNS.items():
            expected = client_matrix.OK if check in checks.of(client, way) else client_matrix.empty_cell(client, check)
            assert cells.pop((client.row(way), column)) == expected, (client.row(way), column)
    assert not cells, "rows of clients that are not there"


@pytest.mark.parametrize("client", client_matrix.clients(), ids=lambda client: client.id)
def test_a_declaration_names_what_there_is(client):
    assert set(client.not_offered) <= set(checks.COLUMNS)
    requirements = client_matrix.requirements(client.environment)
    if requirements:
        assert f"=={client.name.split()[-1]}\n" in requirements.read_text(), "the version in NAME is not the one installed"

"""Every client does every check, and docs/s3-compatibility.md tells so."""

import checks
import client_matrix
import pytest
import table_checks

KINDS = {"objects": checks, "tables": table_checks}


def checks_of(client, way):
    """Checks of its kind, and its own; "tools" have only theirs."""
    kind = KINDS.get(client.kind)
    return [*(kind.of(client, way) if kind else []), *(client.also if way == "http" else [])]


def pytest_generate_tests(metafunc):
    if "started" in metafunc.fixturenames:
        metafunc.parametrize(
            "started, check",
            [
                pytest.param((client, way), check, id=f"{client.id}-{way}-{check}")
                for client in client_matrix.chosen(metafunc.config.getoption("--clients"))
                for way in client.ways()
                for check in checks_of(client, way)
            ],
            indirect=["started"],
        )


def test_client(started, check, ends):
    """The functions also_* of a client are no columns of the table: what it does beyond the others."""
    bench, client = started
    key = (bench.client.id, bench.way, check)
    ends[key] = client_matrix.FAILED
    if check in bench.client.also:
        client.call(check, [])
    else:
        getattr(KINDS[bench.client.kind], check)(client, bench)
    ends[key] = client_matrix.OK


def test_the_table_is_what_the_clients_did(request, ends):
    table = client_matrix.tables(KINDS, ends)
    if request.config.getoption("--write-matrix"):
        client_matrix.write(table)
    assert client_matrix.written() == table, "pytest tests/e2e/clients --write-matrix"


def test_the_table_says_that_each_client_does_what_it_offers():
    cells = client_matrix.written_cells()
    for kind, module in KINDS.items():
        for client, way in client_matrix.rows(kind):
            for check, column in module.COLUMNS.items():
                offered = check in module.of(client, way)
                expected = client_matrix.OK if offered else client_matrix.empty_cell(client, check)
                assert cells.pop((client.row(way), column)) == expected, (client.row(way), column)
    assert not cells, "rows of clients that are not there"


@pytest.mark.parametrize("client", client_matrix.clients(), ids=lambda client: client.id)
def test_a_declaration_names_what_there_is(client):
    assert client.kind in (*KINDS, "tools")
    assert client.kind != "tools" or client.also
    assert set(client.not_offered) <= set(KINDS[client.kind].COLUMNS if client.kind in KINDS else ())
    requirements = client_matrix.requirements(client.environment)
    if requirements:
        pinned = "".join(file.read_text() for file in requirements)
        assert client.name.split()[-1] in pinned, "the version in NAME is not the one pinned"

"""client-coverage.md tells the truth: what it says is called is called, and nothing is left out."""

import re

import client_coverage
import not_yet


def test_the_lists_of_what_is_not_served_agree_with_the_table_of_operations():
    text = (client_coverage.ROOT / "docs/rest-compatibility.md").read_text()
    unserved = {line.split("|")[1].strip() for line in text.splitlines() if line.endswith("| 501 |")}
    listed = not_yet.NOT_YET | not_yet.REFUSED
    assert unserved == {name for name, status in listed.items() if status == 501}


def test_what_is_not_served_says_so(rest, repo):
    fields = {"repository": repo.id, "branch": "main", "partNumber": "1", "type": "range"}
    given = {"path": "a", "task_id": "x", "id": "x"}
    for (method, path), operation in client_coverage.operations().items():
        status = not_yet.NOT_YET.get(operation) or not_yet.REFUSED.get(operation)
        if status:
            path = re.sub(r"\{(\w+)\}", lambda field: fields.get(field[1], "x"), path)
            answer = rest(method, path, params=given)
            assert answer.status_code == status, f"{operation}: {answer.status_code}; not_yet.py says {status}"


def test_the_table_is_what_this_run_called(request):
    # Tried by leaving out one test of test_sdk_refs.py: "TagsApi.get_tag: no success".
    assert client_coverage.missing() == []
    table = client_coverage.table()
    if request.config.getoption("--write-coverage"):
        client_coverage.TABLE.write_text(table)
    assert client_coverage.TABLE.read_text() == table, "./dev test, or pytest tests/e2e --write-coverage"


def test_the_table_names_every_method():
    written = client_coverage.TABLE.read_text()
    for cls, name in client_coverage.sdk_methods():
        assert f"| {cls.__name__}.{name} |" in written
    for name in client_coverage.wrapper_methods():
        assert f"| {name} |" in written

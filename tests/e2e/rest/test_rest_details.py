"""Details of REST answers that clients of lakeFS rely on."""

import pytest
import requests


@pytest.fixture
def here(repo):
    return f"/repositories/{repo.id}"


def ok(answer):
    assert answer.ok, f"{answer.status_code} {answer.text}"
    return answer.json() if answer.content else None


def upload(rest, here, path, body=b"x", branch="main"):
    return ok(rest("POST", f"{here}/branches/{branch}/objects?path={path}", data=body))


def remove(rest, here, path, branch="main"):
    ok(rest("DELETE", f"{here}/branches/{branch}/objects?path={path}"))


def commit(rest, here, branch="main"):
    return ok(rest("POST", f"{here}/branches/{branch}/commits", json={"message": "m"}))["id"]


def test_a_diff_shows_how_large_a_removed_object_was(rest, here):
    upload(rest, here, "a", b"12345")
    commit(rest, here)
    remove(rest, here, "a")
    expected = [{"path": "a", "path_type": "object", "size_bytes": 0, "type": "removed"}]
    assert ok(rest("GET", f"{here}/branches/main/diff"))["results"] == expected
    commit(rest, here)
    assert ok(rest("GET", f"{here}/refs/main~1/diff/main"))["results"] == expected


def test_a_tree_that_was_emptied_again_can_be_merged_into_the_first_commit(rest, here):
    rest("POST", f"{here}/branches", json={"name": "dev", "source": "main"})
    merge = f"{here}/refs/dev/merge/main"
    assert rest("POST", merge).status_code == 400, "the first commit itself"
    upload(rest, here, "a", branch="dev")
    commit(rest, here, "dev")
    remove(rest, here, "a", branch="dev")
    emptied = commit(rest, here, "dev")
    merged = ok(rest("POST", merge))["reference"]
    log = ok(rest("GET", f"{here}/refs/main/commits"))["results"]
    assert log[0]["id"] == merged and log[0]["parents"][1] == emptied
    assert rest("POST", merge).status_code == 400, "nothing is left to merge"


def test_what_brings_nothing_back_is_no_merge_behind_the_first_commit(rest, here):
    upload(rest, here, "kept")
    commit(rest, here)
    rest("POST", f"{here}/branches", json={"name": "dev", "source": "main"})
    upload(rest, here, "a", branch="dev")
    commit(rest, here, "dev")
    remove(rest, here, "a", branch="dev")
    commit(rest, here, "dev")
    refused = rest("POST", f"{here}/refs/dev/merge/main")
    assert (refused.status_code, refused.json()["message"]) == (400, "update branch main: no changes")


def test_an_upload_in_no_parts_has_no_list_of_urls(rest, here):
    began = ok(rest("POST", f"{here}/branches/main/staging/pmpu?path=a"))
    assert "presigned_urls" not in began and began["upload_id"]
    began = ok(rest("POST", f"{here}/branches/main/staging/pmpu?path=a&parts=2"))
    assert len(began["presigned_urls"]) == 2


def test_usage_is_reported_under_the_id_of_the_installation(rest, tarn):
    first = ok(rest("GET", "/usage-report/summary"))
    assert first == {"installation_id": first["installation_id"], "reports": []}
    assert len(first["installation_id"]) > 8
    assert ok(rest("GET", "/usage-report/summary")) == first
    text = requests.get(
        rest.url + "/usage-report/summary", auth=(tarn.access_key, tarn.secret_key), timeout=60, headers={"Accept": "text/plain"}
    )
    assert text.headers["Content-Type"].startswith("text/plain")
    assert first["installation_id"] in text.text
    assert requests.get(rest.url + "/usage-report/summary", timeout=60).status_code == 401

"""Finding objects by what they are, over REST and with the command."""

import json
import subprocess

import pytest
import requests
import servers


def put(repo, path, size, content_type="text/csv", branch="main", **metadata):
    repo.branch(branch).object(path).upload(data=b"x" * size, mode="wb", content_type=content_type, metadata=metadata)


def search(rest, repo, ref="main", **query):
    """All paths found, page after page."""
    found, after = [], ""
    while True:
        answer = rest("GET", f"/repositories/{repo.id}/refs/{ref}/objects/search", params={**query, "after": after})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert page["pagination"]["results"] == len(page["results"])
        found += [item["path"] for item in page["results"]]
        if not page["pagination"]["has_more"]:
            return found
        assert page["pagination"]["next_offset"] > after
        after = page["pagination"]["next_offset"]


def test_conditions_staged_and_committed(rest, repo):
    put(repo, "data/a.csv", 10, label="cat", source="web")
    put(repo, "data/deep/b.csv", 200)
    put(repo, "data/deep/c.png", 300, "image/png", label="dog")
    put(repo, "other/d.gif", 5, "image/gif", label="cat")
    repo.branch("main").commit("four")
    repo.tag("v1").create("main")
    put(repo, "data/deep/b.csv", 9)
    put(repo, "new/e.png", 1000, "image/png", label="cat")
    repo.branch("main").object("other/d.gif").delete()

    committed = {
        "glob": ({"glob": "data/**/*.csv"}, ["data/a.csv", "data/deep/b.csv"]),
        "one level": ({"glob": "data/*"}, ["data/a.csv"]),
        "alternatives": ({"glob": "**/*.{png,gif}"}, ["data/deep/c.png", "other/d.gif"]),
        "sizes": ({"min_size": 10, "max_size": 200}, ["data/a.csv", "data/deep/b.csv"]),
        "type": ({"content_type": "image/png"}, ["data/deep/c.png"]),
        "types": ({"content_type": "image/*"}, ["data/deep/c.png", "other/d.gif"]),
        "key": ({"metadata": "label"}, ["data/a.csv", "data/deep/c.png", "other/d.gif"]),
        "pair": ({"metadata": "label=cat"}, ["data/a.csv", "other/d.gif"]),
        "pairs": ({"metadata": ["label=cat", "source"]}, ["data/a.csv"]),
        "prefix": ({"prefix": "data/deep/"}, ["data/deep/b.csv", "data/deep/c.png"]),
        "all": ({"prefix": "data/", "glob": "**/c*", "min_size": 300, "content_type": "image/*", "metadata": "label=dog"},
                ["data/deep/c.png"]),
        "pages of one": ({"prefix": "data/", "amount": 1}, ["data/a.csv", "data/deep/b.csv", "data/deep/c.png"]),
    }
    for query, paths in committed.values():
        assert search(rest, repo, "v1", **query) == paths, query
        assert search(rest, repo, "main@", **query) == paths, query
    assert search(rest, repo, min_size=10, max_size=200) == ["data/a.csv"]
    assert search(rest, repo, content_type="image/*") == ["data/deep/c.png", "new/e.png"]
    assert search(rest, repo, metadata="label=cat") == ["data/a.csv", "new/e.png"]


def test_times(rest, repo):
    put(repo, "a", 1)
    stats = repo.branch("main").object("a").stat()
    assert search(rest, repo, modified_after=stats.mtime, modified_before=stats.mtime + 1) == ["a"]
    assert search(rest, repo, modified_before=stats.mtime) == []
    assert search(rest, repo, modified_after=stats.mtime + 1) == []
    assert search(rest, repo, modified_after="2020-01-01", modified_before="2100-01-01T00:00:00Z") == ["a"]


def test_an_object_is_shown_as_in_a_listing(rest, repo):
    put(repo, "a.csv", 3, label="cat")
    for shown in (True, False):
        query = {"user_metadata": str(shown).lower()}
        listed = rest("GET", f"/repositories/{repo.id}/refs/main/objects/ls", params=query).json()["results"]
        found = rest("GET", f"/repositories/{repo.id}/refs/main/objects/search", params={**query, "prefix": "a"}).json()
        assert found["results"] == listed
    found = rest("GET", f"/repositories/{repo.id}/refs/main/objects/search", params={"prefix": "a", "presign": "true"})
    assert requests.get(found.json()["results"][0]["physical_address"], timeout=60).content == b"xxx"


@pytest.mark.parametrize(("query", "named"), [
    ({}, "search"), ({"glob": "a[b"}, '"glob"'), ({"min_size": "-1"}, '"min_size"'), ({"max_size": "big"}, '"max_size"'),
    ({"modified_after": "soon"}, '"modified_after"'), ({"modified_before": "253402300800"}, '"modified_before"'),
    ({"metadata": "=v"}, '"metadata"'), ({"metadata": ["k"] * 33}, '"metadata"'), ({"prefix": "a", "amount": 1001}, '"amount"'),
])
def test_bad_input_names_the_parameter(rest, repo, query, named):
    answer = rest("GET", f"/repositories/{repo.id}/refs/main/objects/search", params=query)
    assert answer.status_code == 400
    assert named in answer.json()["message"]


def test_absent_refs(rest, repo):
    assert rest("GET", f"/repositories/{repo.id}/refs/absent/objects/search", params={"prefix": "a"}).status_code == 404
    assert rest("GET", "/repositories/absent-repo/refs/main/objects/search", params={"prefix": "a"}).status_code == 404


def test_command(tarn, repo, tmp_path):
    put(repo, "data/a.csv", 10, label="cat")
    put(repo, "data/b.png", 20, "image/png", label="dog")
    environment = servers.clean_environment({"HOME": tmp_path, "TARN_ENDPOINT": tarn.url,
                                             "TARN_ACCESS_KEY": tarn.access_key, "TARN_SECRET_KEY": tarn.secret_key})

    def run(*words):
        return subprocess.run([servers.program("tarn"), "search", *words], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, check=True, text=True).stdout

    ref = f"tarn://{repo.id}/main"
    document = json.loads(run(ref, "--metadata", "label=dog", "--min-size", "11", "-o", "json"))
    assert [item["path"] for item in document["items"]] == ["data/b.png"]
    assert document["items"][0]["metadata"] == {"label": "dog"}
    table = run(ref, "--glob", "data/*.{csv,png}", "--content-type", "image/*", "-o", "table")
    assert "data/b.png" in table and "image/png" in table and "data/a.csv" not in table
    assert run(f"{ref}/data/a", "-o", "name") == "data/a.csv\n"

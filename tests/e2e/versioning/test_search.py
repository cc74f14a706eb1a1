"""Finding objects by what they are, over REST and with the command."""

import json
import subprocess

import lakefs
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
        "all": (
            {"prefix": "data/", "glob": "**/c*", "min_size": 300, "content_type": "image/*", "metadata": "label=dog"},
            ["data/deep/c.png"],
        ),
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


@pytest.mark.parametrize(
    "query, named",
    [
        ({}, "search"),
        ({"glob": "a[b"}, '"glob"'),
        ({"min_size": "-1"}, '"min_size"'),
        ({"max_size": "big"}, '"max_size"'),
        ({"modified_after": "soon"}, '"modified_after"'),
        ({"modified_before": "253402300800"}, '"modified_before"'),
        (
            {"where": "loss < big"},
            "\"where\" in query has an error: expected a number, or a text in quotes, found 'big' at byte 7",
        ),
        ({"where": "a" * 4097}, '"where"'),
        ({"prefix": "a", "sort": "type"}, '"sort"'),
        ({"prefix": "a", "sort": "size desc", "after": "a"}, "'after'"),
        ({"metadata": "=v"}, '"metadata"'),
        ({"metadata": ["k"] * 33}, '"metadata"'),
        ({"prefix": "a", "amount": 1001}, '"amount"'),
    ],
)
def test_bad_input_names_the_parameter(rest, repo, query, named):
    answer = rest("GET", f"/repositories/{repo.id}/refs/main/objects/search", params=query)
    assert answer.status_code == 400
    assert named in answer.json()["message"]


def search_all(rest, **query):
    """Everything found across refs, page after page."""
    found, after = [], ""
    while True:
        answer = rest("GET", "/objects/search", params={**query, "after": after})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += [f"{item['repository']}/{item['ref']}/{item['path']}" for item in page["results"]]
        if not page["pagination"]["has_more"]:
            return found
        assert page["pagination"]["next_offset"] != after
        after = page["pagination"]["next_offset"]


def test_conditions_and_orders(rest, repo, s3):
    for step in range(12):
        put(repo, f"runs/{step:02}.json", step + 1, "application/json", loss=f"{(step * 7) % 12 / 100}", step=str(step))
    put(repo, "runs/failed.json", 40, "application/json", loss="nan")
    put(repo, "other.csv", 50, label="cat")
    s3.put_object_tagging(
        Bucket=repo.id,
        Key="main/runs/05.json",
        Tagging={"TagSet": [{"Key": "stage", "Value": "prod"}, {"Key": "rank", "Value": "1"}]},
    )
    repo.branch("main").commit("runs")
    put(repo, "runs/12.json", 13, "application/json", loss="0.005", step="12")

    names = lambda *steps: [f"runs/{step:02}.json" for step in steps]  # noqa: E731
    assert search(rest, repo, where="loss < 0.02") == names(0, 7, 12)
    assert search(rest, repo, where="loss<0.02 and not step in (0, 12)") == names(7)
    assert search(rest, repo, where="step between 3 and 5 or (label = cat and size >= 50B)") == ["other.csv", *names(3, 4, 5)]
    assert search(rest, repo, where="tag.stage = prod") == names(5)
    assert search(rest, repo, where="has loss and not loss >= 0") == ["runs/failed.json"]
    assert search(rest, repo, where="size > 10", prefix="runs/", content_type="application/*", max_size=13) == names(10, 11, 12)
    assert search(rest, repo, "main@", where="loss < 0.02") == names(0, 7)
    by_loss = sorted(range(12), key=lambda step: (step * 7) % 12)
    by_loss.insert(1, 12)
    for amount in (1, 4, 100):
        found = search_sorted(rest, repo, where="has loss", sort="loss", amount=amount)
        assert found == [*names(*by_loss), "runs/failed.json"]
    assert search_sorted(rest, repo, where="has step", sort="step desc", amount=5) == names(*range(12, -1, -1))
    assert search_sorted(rest, repo, where="has step", sort="tag.rank", amount=100)[0] == "runs/05.json"


def search_sorted(rest, repo, **query):
    """All paths found at main, page after page; the pages are not in the order of paths."""
    found, after = [], ""
    while True:
        page = rest("GET", f"/repositories/{repo.id}/refs/main/objects/search", params={**query, "after": after}).json()
        found += [item["path"] for item in page["results"]]
        if not page["pagination"]["has_more"]:
            return found
        after = page["pagination"]["next_offset"]


def test_across_branches_and_repositories(rest, client, repo, name):
    other = lakefs.repository(f"{name}-2", client=client).create(f"local://{name}-2")
    for one in (repo, other):
        for branch in ("exp-1", "exp-2", "side"):
            one.branch(branch).create("main")
            put(one, "model.bin", 20, loss="0.01" if branch == "exp-2" else "0.5", branch=branch)
    first, second = sorted([repo.id, other.id])
    both = {"repository": [repo.id, other.id]}
    assert search_all(rest, **both, ref="exp-*", where="loss < 0.02") == [f"{first}/exp-2/model.bin", f"{second}/exp-2/model.bin"]
    assert search_all(rest, repository=repo.id[:-1] + "?", ref=["exp-*", "side"], where="loss > 0.1", amount=1) == [
        f"{repo.id}/exp-1/model.bin",
        f"{repo.id}/side/model.bin",
    ]
    assert search_all(rest, **both, ref="*", where="has loss", sort="loss", amount=2)[:2] == [
        f"{first}/exp-2/model.bin",
        f"{second}/exp-2/model.bin",
    ]
    assert len(search_all(rest, **both, ref="*", where="has loss", sort="loss", amount=2)) == 6
    for query, status in (
        ({"ref": "main", "prefix": "a"}, 400),
        ({"repository": repo.id, "prefix": "a"}, 400),
        ({**both, "ref": "a[", "prefix": "a"}, 400),
        ({**both, "ref": "exp-*"}, 400),
        ({**both, "ref": ["main"] * 17, "prefix": "a"}, 400),
        ({**both, "ref": "absent", "prefix": "a"}, 404),
        ({"repository": "absent-repo", "ref": "*", "prefix": "a"}, 404),
    ):
        assert rest("GET", "/objects/search", params=query).status_code == status, query


def test_absent_refs(rest, repo):
    assert rest("GET", f"/repositories/{repo.id}/refs/absent/objects/search", params={"prefix": "a"}).status_code == 404
    assert rest("GET", "/repositories/absent-repo/refs/main/objects/search", params={"prefix": "a"}).status_code == 404


def test_command(tarn, repo, tmp_path):
    put(repo, "data/a.csv", 10, label="cat")
    put(repo, "data/b.png", 20, "image/png", label="dog")
    environment = servers.clean_environment(
        {"HOME": tmp_path, "TARN_ENDPOINT": tarn.url, "TARN_ACCESS_KEY": tarn.access_key, "TARN_SECRET_KEY": tarn.secret_key}
    )

    def run(*words):
        return subprocess.run(
            [servers.program("tarn"), "search", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=True,
            text=True,
        ).stdout

    ref = f"tarn://{repo.id}/main"
    document = json.loads(run(ref, "--metadata", "label=dog", "--min-size", "11", "-o", "json"))
    assert [item["path"] for item in document["items"]] == ["data/b.png"]
    assert document["items"][0]["metadata"] == {"label": "dog"}
    table = run(ref, "--glob", "data/*.{csv,png}", "--content-type", "image/*", "-o", "table")
    assert "data/b.png" in table and "image/png" in table and "data/a.csv" not in table
    assert run(f"{ref}/data/a", "-o", "name") == "data/a.csv\n"
    assert (
        run(ref, "--where", "size > 1 and label in (cat, dog)", "--sort", "size desc", "-o", "name") == "data/b.png\ndata/a.csv\n"
    )
    wide = run(f"tarn://{repo.id}/ma*", "--where", "label = dog", "-o", "name")
    assert wide == f"tarn://{repo.id}/main/data/b.png\n"
    assert json.loads(run(f"tarn://{repo.id}/*/data/", "--where", "label = dog", "-o", "json"))["items"][0]["ref"] == "main"
    wrong = subprocess.run(
        [servers.program("tarn"), "search", ref, "--where", "label = "],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
        text=True,
    )
    assert wrong.returncode != 0 and "expected a value, found the end at byte 8" in wrong.stderr

"""tarn du: sizes of repositories, refs and prefixes, as listed and as stored."""

import datetime
import time

import pytest


@pytest.fixture
def lake(repo):
    main = repo.branch("main")
    for path, size in (("a/1", 5), ("a/2", 3), ("top", 1)):
        main.object(path).upload(data=b"x" * size, mode="wb")
    main.commit("first")
    repo.branch("dev").create("main").object("a/2").upload(data=b"1234", mode="wb")
    return repo


def rows(cli, *arguments):
    """(what, path) -> (objects, bytes) of `tarn du`."""
    items = cli.json("du", *arguments)["items"]

    def what(item):
        return item.get("what", item.get("path_type"))

    return {(what(item), item["path"]): (item["objects"], item["bytes"]) for item in items}


def test_a_repository_has_a_row_for_each_branch(cli, lake):
    assert rows(cli, f"tarn://{lake.id}") == {("branch", "dev"): (3, 10), ("branch", "main"): (3, 9)}


def test_a_ref_counts_uncommitted_changes_and_its_prefixes(cli, lake):
    dev = f"tarn://{lake.id}/dev"
    assert rows(cli, dev) == {("logical", dev): (3, 10)}
    assert rows(cli, f"{dev}/a/") == {("logical", f"{dev}/a/"): (2, 9)}
    assert rows(cli, "--depth", "1", dev) == {
        ("logical", dev): (3, 10),
        ("common_prefix", "a/"): (2, 9),
        ("object", "top"): (1, 1),
    }


def test_more_prefixes_than_a_page_are_all_shown(cli, lake):
    main = lake.branch("main")
    for number in range(105):
        main.object(f"p{number:03}/x").upload(data=b"1", mode="wb")
    found = rows(cli, "--depth", "1", f"tarn://{lake.id}/main/p")
    assert len(found) == 106 and found["common_prefix", "p104/"] == (1, 1)


def test_exact_sizes_and_what_deleting_frees(cli, lake):
    dev = f"tarn://{lake.id}/dev"
    exact = rows(cli, "--exact", dev)
    assert exact["stored", dev] == (3, 10) and exact["shared", dev] == (2, 6)
    assert exact["foreign", dev] == exact["imported", dev] == (0, 0)
    assert ("freed", dev) not in exact
    assert rows(cli, "--free", dev)["freed", dev] == (1, 4)
    assert rows(cli, "--exact", f"tarn://{lake.id}")["stored", f"tarn://{lake.id}"] == (4, 13)


def test_an_exact_size_that_is_not_waited_for(cli, lake):
    made = cli.json("du", "--exact", "--async", f"tarn://{lake.id}/dev")
    if made["kind"] == "Operation":
        ended = cli.json("op", "wait", made["id"], "--timeout", "60s")
        assert ended["result"]["stored"]["own"] == {"objects": 3, "bytes": 10}


def test_the_table_has_sizes_in_words(cli, lake):
    lake.branch("main").object("large").upload(data=b"x" * 2048, mode="wb")
    assert "2.0 KiB" in cli.run("du", f"tarn://{lake.id}/main/large").text


def test_words_that_have_no_meaning_are_refused(cli, lake):
    ref = f"tarn://{lake.id}/dev"
    for named, *words in (
        ("--free", "--free", f"tarn://{lake.id}"),
        ("--free", "--free", f"{ref}/a/"),
        ("--depth", "--depth", "2", ref),
        ("--exact", "--async", ref),
    ):
        assert named in cli.run("du", *words, status=2).talk, words
    cli.run("du", f"tarn://{lake.id}/nowhere", status=4)


def test_the_history_is_a_list_of_days(cli, lake, long_tests):
    def history():
        return cli.json("du", "--history", f"tarn://{lake.id}")

    assert history()["kind"] == "UsageDayList"
    if not long_tests:
        return
    deadline = time.monotonic() + 90
    while not history()["items"] and time.monotonic() < deadline:
        time.sleep(1)
    (day,) = history()["items"]
    assert (day["objects"], day["bytes"]) == (3, 9)
    measured = datetime.date.fromisoformat(day["day"])
    assert datetime.datetime.now(datetime.UTC).date() - measured <= datetime.timedelta(days=1)

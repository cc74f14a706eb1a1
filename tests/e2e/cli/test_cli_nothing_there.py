"""Commands for objects where there is no object: each says so, and what to do."""

import pytest

# The words of the command, and whether they take a prefix.
VERBS = {
    "cat": ["cat", "{at}"],
    "stat": ["stat", "{at}"],
    "presign": ["presign", "{at}"],
    "metadata": ["metadata", "{at}", "--meta", "a=b"],
    "download": ["download", "{at}", "{here}"],
    "cp": ["cp", "{at}", "{to}"],
    "cp to here": ["cp", "{at}", "{here}"],
    "mv": ["mv", "{at}", "{to}"],
    "mv to another branch": ["mv", "{at}", "{dev}"],
    "rm": ["rm", "{at}"],
    "archive": ["archive", "{at}", "{here}"],
}
TREES = {
    "download": ["download", "-r", "{at}", "{here}"],
    "cp": ["cp", "-r", "{at}", "{to}"],
    "cp to here": ["cp", "-r", "{at}", "{here}"],
    "mv": ["mv", "-r", "{at}", "{to}"],
    "mv to another branch": ["mv", "-r", "{at}", "{dev}"],
    "rm": ["rm", "-r", "{at}"],
}


@pytest.fixture
def words(repo, tmp_path):
    repo.branch("dev").create("main")
    repo.branch("main").object("dir/a").upload(b"a")

    def words(verb, path):
        root = f"tarn://{repo.id}"
        places = {"at": f"{root}/main/{path}", "to": f"{root}/main/to", "dev": f"{root}/dev/to", "here": tmp_path / "here"}
        return ["fs", *(word.format(**places) for word in verb)]

    return words


@pytest.mark.parametrize("verb", VERBS)
def test_an_absent_path_is_an_error(cli, words, verb):
    assert cli.reason(*words(VERBS[verb], "nothing"), status=4) == "object_not_found"


@pytest.mark.parametrize("verb", TREES)
def test_an_empty_prefix_is_an_error(cli, words, verb):
    assert cli.reason(*words(TREES[verb], "nothing/"), status=4) == "object_not_found"


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"archive"}))
def test_a_prefix_is_no_object_and_stays(cli, repo, words, verb):
    for path in ("dir", "dir/"):
        ended = cli.run(*words(VERBS[verb], path), status=4)
        assert "-r" in ended.talk or "fs ls" in ended.talk, (path, ended.talk)
    assert [item.path for item in repo.branch("main").objects()] == ["dir/a"]

"""Names of objects, refs, experiments and metrics that do not exist: each command names them, and says what to do."""

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


@pytest.mark.parametrize(
    "words",
    [
        ["log", "e1", "--stop-at", "nosuch"],
        ["diff", "e1", "nosuch"],
        ["merge", "nosuch", "e1"],
        ["merge", "e1", "nosuch"],
        ["branch", "create", "new", "--source", "nosuch"],
        ["tag", "create", "v1", "nosuch"],
        ["revert", "nosuch", "e1"],
        ["revert", "e1", "nosuch"],
        ["cherry-pick", "nosuch", "e1"],
        ["exp", "compare", "e1", "--baseline", "nosuch"],
    ],
    ids=" ".join,
)
def test_the_ref_that_does_not_exist_is_named(cli, repo, words):
    repo.branch("e1").create("main")
    said = cli.run(*words, status=4).talk
    assert "nosuch" in said and "e1" not in said.replace(repo.id, "")


def test_a_repository_that_is_deleted_for_good_promises_no_return(cli, name):
    for grace, returns in (("0s", False), ("1h", True)):
        uri = f"tarn://{name}-{grace}"
        cli.run("repo", "create", uri)
        ended = cli.run("repo", "delete", uri, "--yes", "--grace", grace)
        assert ("undelete" in ended.talk) == returns


@pytest.mark.parametrize(
    "words, meant",
    [
        (["ls", "--metrics", "los"], "loss"),
        (["ls", "--sort", "-lsos"], "loss"),
        (["ls", "--where", "metrics.loos < 1"], "loss"),
        (["ls", "--where", "params.le = 1"], "lr"),
        (["ls", "--experiment", "tunning"], "tuning"),
        (["compare", "main", "--metrics", "los:min"], "loss"),
    ],
)
def test_names_of_metrics_that_exist_nowhere_are_refused(cli, repo, words, meant):
    head = repo.branch("main").head.id
    cli.run("exp", "log", "--ref", head, "--experiment", "tuning", "--metric", "loss@val=0.5", "--param", "lr=1")
    said = cli.run("exp", *words, status=4).talk
    assert f'did you mean "{meant}' in said, said
    for fine in (["--metrics", "loss@val"], ["--sort", "loss"], ["--where", "params.lr = 1"], ["--experiment", "tuning"]):
        cli.run("exp", "ls", *fine)
    for number in ("nan", "inf", "-Infinity", "1e999"):
        cli.run("exp", "ls", "--where", f"metrics.loss > {number}", status=1)

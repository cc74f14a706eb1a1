"""Defaults of a directory, profiles, `tarn status`, and mistyped commands."""

import hashlib
import json
import re

import pytest
import yaml


def test_a_directory_names_its_repository_and_branch(cli, repo, tmp_path):
    project = tmp_path / "project" / "src"
    project.mkdir(parents=True)
    cli.environment.pop("TARN_REPO")
    cli.run("log", cwd=project, status=2)
    assert f"tarn://{repo.id}/main" in cli.run("use", f"{repo.id}/main", cwd=project.parent).talk
    assert yaml.safe_load((project.parent / ".tarn.yaml").read_text()) == {"repo": repo.id, "branch": "main"}
    assert [item["message"] for item in cli.json("log", cwd=project)["items"]] == ["Repository created"]
    cli.run("use", f"{repo.id}/nope", cwd=project, status=4)
    cli.run("use", "no-such-repository", cwd=project, status=4)
    assert not (project / ".tarn.yaml").exists(), "nothing is stored that is not there"
    cli.run("use", "--clear", cwd=project.parent)
    cli.run("log", cwd=project, status=2)


def test_a_directory_of_somebody_else_gets_no_keys(cli, repo, tmp_path):
    """A server in the file of a directory would receive the user's keys."""
    (tmp_path / ".tarn.yaml").write_text(f"endpoint: http://127.0.0.1:9\nrepo: {repo.id}\n")
    cli.environment.pop("TARN_REPO")
    endpoint = cli.environment.pop("TARN_ENDPOINT")
    origins = {row["key"]: row for row in cli.json("config", "show", cwd=tmp_path)["items"]}
    assert origins["endpoint"]["from"] == "default" and origins["endpoint"]["value"] != endpoint
    assert origins["repo"]["value"] == repo.id


def test_profiles(cli, tarn, tmp_path):
    keys = [cli.environment.pop(name) for name in ("TARN_ACCESS_KEY", "TARN_SECRET_KEY")]
    given = dict(zip(("TARN_ACCESS_KEY", "TARN_SECRET_KEY"), keys, strict=True))
    cli.run("auth", "login", "--profile", "test", **given)
    cli.environment.pop("TARN_ENDPOINT")
    assert cli.json("auth", "whoami", "--profile", "test")["id"]
    cli.run("auth", "whoami", status=9)
    refused = cli.run("auth", "whoami", "--profile", "tset", status=2)
    assert "has only test" in refused.talk
    cli.run("auth", "switch", "tset", status=2)
    cli.run("auth", "switch", "test")
    assert cli.json("auth", "whoami")["id"]
    assert cli.json("auth", "switch")["items"] == [{"profile": "test", "current": True}]
    file = tmp_path / "home/.config/tarn/config.yaml"
    assert yaml.safe_load(file.read_text())["profiles"]["test"]["endpoint"] == tarn.url
    assert file.stat().st_mode & 0o777 == 0o600
    cli.run("auth", "switch", "-")
    cli.run("auth", "whoami", status=9)


def test_without_a_ref_the_default_branch_is_read(cli, repo, tmp_path):
    name = f"{repo.id[:50]}-trunk"
    lake = f"tarn://{name}"
    cli.run("repo", "create", lake, "--default-branch", "trunk")
    (tmp_path / "a").write_text("a")
    cli.run("fs", "upload", tmp_path / "a", f"{lake}/trunk/a")
    for words in (
        ("log", lake),
        ("show", lake),
        ("diff", lake),
        ("branch", "show", lake),
        ("fs", "ls", lake),
        ("search", lake, "--glob", "*"),
        ("annotate", lake),
        ("import-verify", lake),
    ):
        said = cli.run(*words)
        assert f"{lake}/trunk, the default branch:" in said.talk, words
    assert [item["path"] for item in cli.json("fs", "ls", lake)["items"]] == ["a"]
    assert [item["path"] for item in cli.json("diff", lake)["items"]] == ["a"]
    status = cli.json("status", lake)
    assert (status["branch"], status["uncommitted"]["added"]) == ("trunk", 1)
    # A branch of --branch counts, in its repository.
    assert "the default branch" not in cli.run("log", "--repo", name, "--branch", "trunk").talk
    cli.environment.pop("TARN_REPO")
    assert [item["message"] for item in cli.json("log", name)["items"]] == ["Repository created"]
    assert "which repository" in cli.run("log", "main~1", status=2).talk
    # Commands that change a branch need its name.
    for words in (("commit", lake, "-m", "one"), ("branch", "reset", lake, "--yes"), ("tag", "create", f"{lake}/v1")):
        assert "which branch" in cli.run(*words, status=2).talk, words
    made = cli.run("branch", "create", f"{lake}/exp")
    assert f"{lake}/trunk, the default branch:" in made.talk
    cli.run("commit", f"{lake}/exp", "-m", "none")
    pull = cli.json("pr", "create", f"{lake}/exp", "--title", "one")
    assert pull["destination_branch"] == "trunk"
    assert cli.json("find-merge-base", f"{lake}/exp")["base_commit_id"]
    # An empty listing of a path that was meant as a branch would mislead.
    told = cli.run("fs", "ls", "trunk", "--repo", name, status=2).talk
    assert f"write {lake}/REF/trunk for the path, {lake}/trunk/ if it is the branch" in told


@pytest.fixture
def used(cli, repo, tmp_path):
    """A directory whose repository is set, with an object and a branch, and the name of another repository."""
    cli.environment.pop("TARN_REPO")
    here = tmp_path / "used"
    here.mkdir()
    (here / "a.csv").write_text("a")
    cli.run("fs", "upload", here / "a.csv", f"tarn://{repo.id}/main/data/a.csv")
    cli.run("commit", f"tarn://{repo.id}/main", "-m", "data")
    cli.run("branch", "create", f"tarn://{repo.id}/exp-1")
    other = f"{repo.id[:50]}-other"
    cli.run("repo", "create", f"tarn://{other}")
    cli.run("use", repo.id, cwd=here)
    return lambda *words, status: cli.run(*words, cwd=here, status=status).talk, f"tarn://{repo.id}", other


REF_COMMANDS = (
    ("log",),
    ("show",),
    ("status",),
    ("diff",),
    ("branch", "show"),
    ("commit", "-m", "x"),
    ("branch", "reset", "--yes"),
)


@pytest.mark.parametrize("words", REF_COMMANDS, ids=" ".join)
def test_a_path_where_a_ref_is_wanted_is_named_with_what_to_write(used, words):
    run, lake, other = used
    group, options = (
        [word for word in words if word.islower()][: 2 if words[0] == "branch" else 1],
        words[2 if words[0] == "branch" else 1 :],
    )
    of_object = {"log": "tarn log --object 'data/a.csv'", "diff": "tarn diff --prefix 'data/a.csv'"}
    of_prefix = {"log": "tarn log --prefix 'data/'", "diff": "tarn diff --prefix 'data/'"}
    read = "was read as a branch, tag or commit"

    def status_of(name):
        """No branch can have some of the names."""
        return 4 if words[0] in ("log", "show") or name.replace("-", "").isalnum() else 1

    told = run(*group, "data/a.csv", *options, status=status_of("data/a.csv"))
    assert f'"data/a.csv" is an object of {lake}/main and {read}' in told, told
    assert of_object.get(words[0], f"tarn fs stat '{lake}/main/data/a.csv'") in told, told
    for name in ("data", "data/"):
        told = run(*group, name, *options, status=status_of(name))
        assert f'"{name}" is a prefix of {lake}/main and {read}' in told, told
        assert of_prefix.get(words[0], f"tarn fs ls '{lake}/main/data/'") in told, told
    for name in (other, f"{other}/main"):
        assert f"write tarn://{name} to name a repository" in run(*group, name, *options, status=status_of(name))
    told = run(*group, "nothing", *options, status=4)
    assert read not in told and "tarn " in told, told


def test_a_ref_where_a_path_is_wanted_is_named_with_what_to_write(used, cli, repo, tmp_path):
    run, lake, _ = used
    for words in (("fs", "ls"), ("annotate",), ("search",), ("du",), ("import-verify",)):
        told = run(*words, "exp-1", status=2)
        assert f"write {lake}/REF/exp-1 for the path, {lake}/exp-1/ if it is the branch" in told, words
        told = run(*words, "exp-1", "--branch", "main", status=0)
        assert f'"exp-1" is a branch, tag or commit and was read as a path: write {lake}/exp-1/' in told, (words, told)
        assert "was read as" not in run(*words, "data/", "--branch", "main", status=0)
        assert "was read as" not in run(*words, "nothing/", "--branch", "main", status=0)
    for words in (("fs", "cat"), ("fs", "stat")):
        told = run(*words, "exp-1/data/a.csv", "--branch", "main", status=4)
        assert f"write {lake}/exp-1/data/a.csv" in told, told


def test_a_ref_where_a_repository_is_wanted_is_named_with_what_to_write(used):
    run, lake, _ = used
    for words in (("branch", "list"), ("tag", "list"), ("repo", "show"), ("exp", "ls"), ("promote", "ls"), ("pr", "list")):
        told = run(*words, "exp-1", status=4)
        assert '"exp-1" is a branch, tag or commit' in told and f"write {lake}/exp-1 for it, or leave it out" in told, (
            words,
            told,
        )
        assert "was read as" not in run(*words, "nothing", status=4)


def test_a_word_is_a_repository_where_none_is_set(cli, repo, tmp_path):
    cli.environment.pop("TARN_REPO")
    (tmp_path / "a").write_text("a")
    cli.run("fs", "upload", tmp_path / "a", f"tarn://{repo.id}/main/a")
    for words in (
        ("log",),
        ("show",),
        ("status",),
        ("diff",),
        ("fs", "ls"),
        ("annotate",),
        ("search", "--glob", "*"),
        ("import-verify",),
        ("du",),
        ("branch", "list"),
        ("repo", "show"),
    ):
        cli.run(*words, repo.id)
        told = cli.run(*words, f"{repo.id}/main", status=2).talk
        wants_repository = words in (("branch", "list"), ("repo", "show"))
        assert (f"write {repo.id}" if wants_repository else f"write tarn://{repo.id}/main") in told, (words, told)


def test_status(cli, repo):
    status = cli.json("status", "main")
    assert status["uncommitted"] == {"added": 0, "changed": 0, "removed": 0, "more": False}
    assert status["run"] is None and status["policies"] == []
    for path in ("a", "b"):
        repo.branch("main").object(path).upload(data=b"x", mode="wb")
    repo.branch("main").commit(message="two")
    repo.branch("main").object("a").delete()
    repo.branch("main").object("b").upload(data=b"y", mode="wb")
    repo.branch("main").object("c").upload(data=b"z", mode="wb")
    cli.run("exp", "log", "--ref", repo.branch("main").head.id, "--metric", "accuracy=0.5")
    policy = {
        "name": "best",
        "destination": "main",
        "candidates": "exp-*",
        "metrics": [{"name": "accuracy", "goal": "max", "primary": True}],
    }
    cli.run("policy", "apply", "-f", "-", stdin=json.dumps(policy).encode())
    shown = cli.json("status", "main")
    assert shown["uncommitted"] == {"added": 1, "changed": 1, "removed": 1, "more": False}
    assert shown["policies"] == ["best"]
    assert shown["head"]["message"] == "two"
    assert shown["run"]["commit_id"] == shown["head"]["id"]
    people = cli.run("status", "main")
    assert "3 (1 added, 1 changed, 1 removed)" in people.text
    assert f"tarn commit tarn://{repo.id}/main -m MESSAGE" in people.talk
    cli.run("status", "nope", status=4)


def test_mistyped_commands_are_named(cli):
    assert 'there is no command "tarn comit"; did you mean "tarn commit"?' in cli.run("comit", "x", status=2).talk
    for word in ("clone", "pull", "fetch", "push", "sync", "checkout"):
        meant = re.findall(r'"(tarn [^"]+)"', cli.run(word, "x", status=2).talk)[1:]
        assert meant, word
        for command in meant:
            assert cli.run(*command.split()[1:], "--help").text, command
    assert 'did you mean "tarn repo create"?' in cli.run("repo", "creat", "x", status=2).talk
    assert cli.run("help", "repo", "create").text == cli.run("repo", "create", "--help").text
    assert cli.run("--version").text == cli.run("version").text
    assert cli.run("repo", "ls", "-o", "name").text == cli.run("repo", "list", "-o", "name").text


def test_a_candidate_may_have_the_name_of_a_command(cli, repo):
    """`promote show` shows a promotion; a branch of that name is promoted by `promote run`."""
    policy = {
        "name": "best",
        "destination": "main",
        "candidates": "*",
        "metrics": [{"name": "accuracy", "goal": "max", "primary": True}],
    }
    cli.run("policy", "apply", "-f", "-", stdin=json.dumps(policy).encode())
    cli.run("branch", "create", "show")
    cli.run("promote", "show", "--to", "main", "--dry-run", status=2)
    judged = cli.run("promote", "run", "show", "--to", "main", "--dry-run", status=11)
    assert "show" in judged.text and "accuracy" in judged.text + judged.talk


def test_commits_say_what_they_expect(cli, repo, s3, tmp_path):
    files = tmp_path / "out"
    (files / "deep").mkdir(parents=True)
    (files / "model").write_text("m")
    (files / "deep" / "curve").write_text("c")
    branch, sha256 = f"tarn://{repo.id}/main", hashlib.sha256(b"m").hexdigest()

    def commit(*words, status=0):
        return cli.run("commit", "main", "-m", "m", "--allow-empty", *words, "-o", "json", status=status)

    cli.run("fs", "upload", "-r", files, f"{branch}/below/")
    for wrong in ("below/model", "=x", "below/model=", f"below={files}", f"below/={files}/model"):
        commit("--expect", wrong, status=2)
    commit("--expect", f"below/model={files}/absent", status=4)
    commit("--expect-head", "", status=2)
    commit("--expect", f"below/deep/curve={sha256}", status=6)
    commit("--expect", f"below/model={sha256}", "--expect-only", status=6)
    commit("--expect", f"/={files}", status=6)
    head = repo.branch("main").head.id
    made = json.loads(commit("--expect", f"below/={files}", "--expect-only", "--expect-head", head).text)["id"]
    commit(
        "--expect",
        f"below/model={files}/model",
        "--expect",
        f"below/deep/curve={files}/deep/curve",
        "--expect-head",
        head,
        status=7,
    )
    run = cli.json("exp", "log", "--ref", made, "--measured", f"below/={files}", "--metric", "a=1")
    assert {one["path"]: one["sha256"] for one in run["objects"]}["below/model"] == sha256
    cli.run("exp", "log", "--ref", head, "--measured", f"below/={files}", "--metric", "a=1", status=6)
    # The server has computed a digest of each part only.
    upload = s3.create_multipart_upload(Bucket=repo.id, Key="main/parts")["UploadId"]
    parts = [
        {
            "PartNumber": number,
            "ETag": s3.upload_part(Body=body, PartNumber=number, Bucket=repo.id, Key="main/parts", UploadId=upload)["ETag"],
        }
        for number, body in ((1, b"x" * (5 << 20)), (2, b"y"))
    ]
    s3.complete_multipart_upload(Bucket=repo.id, Key="main/parts", UploadId=upload, MultipartUpload={"Parts": parts})
    whole = hashlib.sha256(b"x" * (5 << 20) + b"y").hexdigest()
    assert cli.reason("commit", "main", "-m", "m", "--expect", f"parts={whole}", status=6) == "digest_unknown"

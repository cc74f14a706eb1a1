"""Recipes of docs/promotion.md and docs/ci: two requests at once, undoing a rollback, and a cleanup that spares what waits."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import time

import command
import pytest
import servers
from users import allow

DOCS = servers.ROOT / "docs"
WAIT = ("--wait", "--timeout", "60s")
POLICY = """name: gate
destination: main
alias: champion
candidates: "exp-*"
metrics: [{name: accuracy, goal: max, min: 0.5, vs_champion: {min_delta: 0.005}, primary: true}]
objects: {required: ["artifacts/**"]}
"""
APPROVED = POLICY + "approvals: {count: 1}\n"


def apply(cli, tmp_path, policy):
    file = tmp_path / "gate.yaml"
    file.write_text(policy)
    cli.run("policy", "apply", "-f", file)


def train(repo, name, accuracy, source="main", **files):
    branch = repo.branch(name).create(source, exist_ok=True)
    for path, data in {"artifacts/model.pkl": f"model of {name}", **files}.items():
        branch.object(path).upload(data=data.encode())
    branch.commit(f"train {name}", metadata={"metric.accuracy": str(accuracy)})


@pytest.fixture
def reviewer(make_user, repo, tmp_path):
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    user = make_user(allow(["fs:Read*", "fs:List*", "fs:ApprovePromotion"], where, f"{where}/*"))
    return command.Cli(user, tmp_path / "reviewers-home", repo.id)


def run_line(cli, line, status=0):
    """A command as a message or a page has it, in a shell."""
    assert line.startswith("tarn "), line
    tools = os.path.dirname(os.path.abspath(servers.program("tarn")))
    ended = subprocess.run(
        ["sh", "-c", line],
        env={**cli.environment, "PATH": f"{tools}:{os.environ['PATH']}"},
        timeout=120,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == status, (line, ended.returncode, ended.stdout, ended.stderr)
    return ended


def wait_for_people(cli, candidate, *words):
    return json.loads(cli.run("promote", candidate, "--to", "main", *words, "-o", "json").text)["id"]


def ended(cli, id, status=0):
    return cli.run("promote", "wait", id, "--timeout", "60s", "-o", "json", status=status)


def wait_for_champion(cli, id):
    """Until the promotion is judged against the present champion, so that an approval is of that."""
    champion = cli.json("alias", "log", "champion")["items"][0]["to_commit_id"]
    deadline = time.monotonic() + 60
    while cli.json("promote", "show", id)["review"]["champion"]["commit"] != champion:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def two_waiting(cli, repo, tmp_path, reviewer):
    """Two candidates that changed the model and one more file each; both wait for an approval; the first is promoted."""
    repo.branch("main").object("artifacts/model.pkl").upload(data=b"model of nobody")
    repo.branch("main").commit("base")
    apply(cli, tmp_path, APPROVED)
    train(repo, "exp-1", 0.9, **{"docs/first.md": "first", "artifacts/only-first": "1"})
    train(repo, "exp-2", 0.95, **{"docs/second.md": "second"})
    first, second = wait_for_people(cli, "exp-1"), wait_for_people(cli, "exp-2")
    reviewer.run("promote", "wait", second, "--timeout", "3s", status=12)
    reviewer.run("promote", "wait", first, "--timeout", "3s", status=12)
    reviewer.approve(first)
    ended(cli, first)
    wait_for_champion(cli, second)
    reviewer.approve(second, status=6)
    refused = ended(cli, second, status=6).talk
    return json.loads(refused.splitlines()[-1])["message"]


def commands_in(message):
    """The command behind the colon of a message, up to the next clause."""
    return [found.strip() for found in re.findall(r": (tarn [^;]+)", message)]


def check_second(cli, repo):
    assert len(cli.json("alias", "log", "champion")["items"]) == 2
    main = repo.ref("@champion")
    read = {one.path: main.object(one.path).reader(mode="rb").read() for one in main.objects()}
    # The model is the second's, whole; what the first brought besides is still there.
    assert read["artifacts/model.pkl"] == b"model of exp-2" and "artifacts/only-first" not in read
    return read


def test_the_second_of_two_is_merged_as_the_message_says(cli, repo, reviewer, two_waiting):
    merge, _ = commands_in(two_waiting)
    assert shlex.split(merge)[:4] == ["tarn", "merge", "main", "exp-2"] and "artifacts/model.pkl" in two_waiting
    run_line(cli, merge)
    # The rest of the first's model came with the merge, so what was measured is no longer what is there: measure again.
    repo.branch("exp-2").object("artifacts/only-first").delete()
    repo.branch("exp-2").commit("train again", metadata={"metric.accuracy": "0.95"})
    id = wait_for_people(cli, "exp-2")
    reviewer.run("promote", "wait", id, "--timeout", "3s", status=12)
    reviewer.approve(id)
    ended(cli, id)
    read = check_second(cli, repo)
    assert read["docs/first.md"] == b"first" and read["docs/second.md"] == b"second"


def test_the_second_of_two_replaces_the_models_paths_as_the_message_says(cli, repo, reviewer, two_waiting):
    _, replace = commands_in(two_waiting)
    assert "--path 'artifacts/**'" in replace
    id = json.loads(run_line(cli, f"{replace} -o json").stdout)["id"]
    reviewer.run("promote", "wait", id, "--timeout", "3s", status=12)
    reviewer.approve(id)
    ended(cli, id)
    read = check_second(cli, repo)
    assert read["docs/first.md"] == b"first" and "docs/second.md" not in read


def recipe(heading):
    """The commands of a recipe in docs/promotion.md."""
    page = (DOCS / "promotion.md").read_text()
    block = re.search(re.escape(heading) + r".*?```sh\n(.*?)```", page, re.S)[1]
    return [line.split("  #")[0].rstrip() for line in block.splitlines() if line.startswith("tarn ")]


def test_the_recipe_for_two_requests_at_once(cli, repo, reviewer, two_waiting):
    """Each command of the page, with the reviewer's where it approves."""
    commands = recipe("### Two requests at once")
    assert len(commands) >= 4
    id = None
    for line in commands:
        line = line.replace("$ID", id or "").replace("tarn://dogs/", f"tarn://{repo.id}/")
        line = line.replace("=model.pkl", "=" + hashlib.sha256(b"model of exp-2").hexdigest())
        if line.startswith("tarn promote approve"):
            reviewer.run("promote", "wait", id, "--timeout", "3s", status=12)
            shown = reviewer.json("promote", "show", id)["review_digest"]
            run_line(reviewer, f"{line} --review {shown}")
        elif line.startswith("tarn promote exp-2"):
            id = json.loads(run_line(cli, f"{line} -o json").stdout)["id"]
        else:
            run_line(cli, line)
    ended(cli, id)
    read = check_second(cli, repo)
    assert read["docs/first.md"] == b"first" and read["docs/second.md"] == b"second"


def test_undoing_a_rollback_is_one_command(cli, repo, tmp_path):
    """The candidate that was taken back is promoted again, though it does not beat itself; the champion's model is back."""
    apply(cli, tmp_path, POLICY)
    train(repo, "exp-1", 0.8)
    cli.run("promote", "exp-1", "--to", "main", *WAIT)
    train(repo, "exp-2", 0.9)
    run_line(cli, "tarn merge main exp-2 --strategy dest-wins")
    train(repo, "exp-2", 0.9, **{"artifacts/more": "more"})
    cli.run("promote", "exp-2", "--to", "main", *WAIT)
    before = {one.path: one.checksum for one in repo.ref("main").objects()}
    rolled = cli.json("promote", "rollback", "@champion", "-m", "slower in use")
    assert repo.ref("@champion").object("artifacts/model.pkl").reader(mode="rb").read() == b"model of exp-1"
    refused = cli.run("promote", "rollback", rolled["id"], status=6).talk
    assert "promote" in refused, refused
    [line] = recipe("### Undoing a rollback")
    run_line(cli, line)
    assert {one.path: one.checksum for one in repo.ref("@champion").objects()} == before
    assert {one.path: one.checksum for one in repo.ref("main").objects()} == before
    # The worse one, which was champion meanwhile, is no way past the better one.
    cli.run("promote", "exp-1", "--to", "main", *WAIT, status=10)


def clean(cli, tmp_path, status=0, **variables):
    tools = os.path.dirname(os.path.abspath(servers.program("tarn")))
    environment = {**cli.environment, "PATH": f"{tools}:{os.environ['PATH']}", "PREFIX": "exp-", "DAYS": "-1", **variables}
    done = subprocess.run(
        ["sh", str(DOCS / "ci" / "cleanup.sh")],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout.splitlines()


def test_cleaning_up_spares_what_waits(cli, repo, tmp_path, reviewer):
    """DAYS=-1: every commit is old enough."""
    apply(cli, tmp_path, APPROVED)
    for name, accuracy in {
        "exp-named": 0.9,
        "exp-glob-1": 0.7,
        "exp-glob-2": 0.8,
        "exp-pull": 0.6,
        "exp-free": 0.6,
        "exp-lost": 0.1,
        "exp-dirty": 0.6,
        "other-1": 0.6,
    }.items():
        train(repo, name, accuracy)
    repo.branch("exp-dirty").object("work").upload(data=b"work")
    repo.branch("exp-new").create("main")
    named, globbed = wait_for_people(cli, "exp-named"), wait_for_people(cli, "exp-glob-*")
    for id in (named, globbed):
        reviewer.run("promote", "wait", id, "--timeout", "3s", status=12)
    pull = cli.json("pr", "create", "exp-pull", "other-1", "-t", "t")["id"]

    def branches():
        return {branch.id for branch in repo.branches(max_amount=1000)}

    everything = branches()
    assert clean(cli, tmp_path, DAYS="1") == [] and branches() == everything
    assert "would delete exp-free" in clean(cli, tmp_path, DRY_RUN="1") and branches() == everything
    said = clean(cli, tmp_path)
    assert branches() == everything - {"exp-free", "exp-lost"}
    assert (
        f"kept exp-named: promotion {named} waits for it" in said and f"kept exp-glob-1: promotion {globbed} waits for it" in said
    )
    assert f"kept exp-pull: pull request {pull} waits for it" in said and "kept exp-dirty: has uncommitted changes" in said
    # The waiting one is approved and promoted; the rest goes once nothing waits any more.
    reviewer.approve(named)
    ended(cli, named)
    ended(cli, globbed, status=10)  # the new champion is better
    cli.run("pr", "close", pull)
    clean(cli, tmp_path)
    assert branches() == {"main", "other-1", "exp-dirty", "exp-new"}
    assert repo.ref("@champion").object("artifacts/model.pkl").reader(mode="rb").read() == b"model of exp-named"


def test_cleaning_up_deletes_nothing_when_it_cannot_ask(cli, repo, tmp_path):
    train(repo, "exp-free", 0.6)
    clean(cli, tmp_path, status=9, TARN_ENDPOINT=f"http://127.0.0.1:{servers.free_port()}")
    clean(cli, tmp_path, status=3, TARN_SECRET_KEY="wrong")
    clean(cli, tmp_path, status=2, PREFIX="")
    assert {branch.id for branch in repo.branches()} == {"main", "exp-free"}

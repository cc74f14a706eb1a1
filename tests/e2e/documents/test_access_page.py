"""The policies of docs/access.md, as they stand there: what they permit and what they refuse."""

import json
import os
import re
import subprocess

import command
import pytest
import servers

PAGE = (servers.ROOT / "docs/access.md").read_text()


@pytest.fixture
def member(tarn, cli, repo, tmp_path):
    """Creates a user with one policy of the page, written for `repo`, by the page's own commands."""

    def make(policy, branches="exp-*"):
        text = next(block for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) if f'"{policy}"' in block)
        document = json.loads(text.replace("repository/digits", f"repository/{repo.id}").replace("exp-*", branches))
        name = document["id"] = f"{policy}-{repo.id[-12:]}"
        file = tmp_path / "policy.json"
        file.write_text(json.dumps(document))
        cli.run("auth", "users", "create", name)
        cli.run("auth", "policies", "create", name, file)
        cli.run("auth", "policies", "attach", name, "--user", name)
        keys = cli.json("auth", "credentials", "create", name)
        theirs = command.Cli(tarn, tmp_path / name, repo.id)
        theirs.environment.update(TARN_ACCESS_KEY=keys["access_key_id"], TARN_SECRET_KEY=keys["secret_access_key"])
        return theirs

    return make


def test_experiments_on_branches_of_ones_own(cli, repo, member, tmp_path):
    ann = member("digits-experiments")
    file = tmp_path / "data"
    file.write_text("x")
    ann.run("branch", "create", "exp-1", "--source", "main")
    ann.run("fs", "upload", file, f"tarn://{repo.id}/exp-1/a")
    ann.run("commit", "exp-1", "-m", "one")
    ann.run("exp", "log", "--ref", repo.branch("exp-1").head.id, "--metric", "accuracy=0.9")
    assert ann.run("fs", "cat", f"tarn://{repo.id}/exp-1/a").text == "x"
    ann.run("log", "main")
    ann.run("fs", "upload", file, f"tarn://{repo.id}/main/a", status=3)
    ann.run("branch", "create", "release", "--source", "main", status=3)
    ann.run("merge", "exp-1", "main", status=3)
    ann.run("auth", "users", "list", status=3)
    policy = {
        "name": "best",
        "destination": "main",
        "candidates": "exp-*",
        "metrics": [{"name": "accuracy", "goal": "max", "primary": True}],
    }
    cli.run("policy", "apply", "-f", "-", stdin=json.dumps(policy).encode())
    ann.run("policy", "rm", "best", "--yes", status=3)
    ann.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "60s")
    assert cli.run("fs", "cat", f"tarn://{repo.id}/main/a").text == "x"


def test_a_pipeline_needs_no_more(cli, repo, member, tmp_path):
    """As docs/ci/README.md says: the policy of experiments, for the branches pr-*, runs its script to the end."""
    pipeline = member("digits-experiments", "pr-*")
    policy = {
        "name": "models",
        "destination": "main",
        "alias": "champion",
        "candidates": "pr-*",
        "metrics": [{"name": "accuracy", "goal": "max", "primary": True, "trust": ["api"]}],
        "objects": {"required": ["artifacts/**"]},
    }
    cli.run("policy", "apply", "-f", "-", stdin=json.dumps(policy).encode())
    train = tmp_path / "train.sh"
    train.write_text("#!/bin/sh\nmkdir -p out/artifacts && echo 0.9 >out/accuracy && echo weights >out/artifacts/model\n")
    train.chmod(0o755)
    tools = f"{os.path.dirname(os.path.abspath(servers.program('tarn')))}:{os.environ['PATH']}"
    for _ in range(2):  # again: the baseline, the branch and the run are there
        ended = subprocess.run(
            ["sh", servers.ROOT / "docs/ci/promote.sh"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**pipeline.environment, "PATH": tools, "CI": "true", "CANDIDATE": "pr-1", "JOB": "1", "TRAIN": "./train.sh"},
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
    assert cli.run("fs", "cat", f"tarn://{repo.id}/@champion/artifacts/model").text == "weights\n"


def test_a_job_that_reports_one_check(cli, repo, member):
    job = member("digits-smoke-test")
    repo.branch("exp-1").create("main").object("a").upload(data=b"x", mode="wb")
    commit = repo.branch("exp-1").commit("one", metadata={"metric.accuracy": "0.9"}).id
    policy = {
        "name": "best",
        "destination": "main",
        "candidates": "exp-*",
        "checks": {"required": ["smoke-test", "other"]},
        "metrics": [{"name": "accuracy", "goal": "max", "primary": True}],
    }
    cli.run("policy", "apply", "-f", "-", stdin=json.dumps(policy).encode())
    id = cli.json("promote", "exp-1", "--to", "main")["id"]
    job.run("promote", "check", id, "smoke-test", "--commit", commit)
    job.run("promote", "check", id, "other", "--commit", commit, status=3)
    job.run("promote", "approve", id, "--review", "0" * 64, status=3)
    assert job.run("fs", "cat", f"tarn://{repo.id}/exp-1/a").text == "x"
    job.run("branch", "create", "mine", "--source", "main", status=3)

"""The recipes of docs/ci, as a CI would run them: their own scripts, against a real server, twice each.

What is not ours stands still: steps without a `tarn` command (comments on other people's servers) are left out, and
`train.sh` is a small program of the test, as a user's repository would hold one.
"""

import copy
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse

import pytest
import servers
import yaml

DOCS = servers.ROOT / "docs" / "ci"
POLICY = re.search(r"```\n(name: models\n.*?)```", (DOCS / "README.md").read_text(), re.S)[1]
TRAIN = """#!/bin/sh
set -eu
mkdir -p out/artifacts out/metrics
cat data/* | cksum > out/artifacts/model.pkl
printf '%s' "$ACCURACY" > out/accuracy
printf '{"accuracy": %s}' "$ACCURACY" > out/metrics/metrics.json
"""
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
TARN_LINE = re.compile(r"(^|then |if |; )\s*tarn ", re.M)


class Checkout:
    """A user's repository on a runner, with `tarn` on the PATH."""

    def __init__(self, cli, directory):
        self.cli = cli
        self.directory = directory
        (directory / "data").mkdir(parents=True)
        (directory / "data" / "a.csv").write_text("1,2\n")
        (directory / "train.sh").write_text(TRAIN)
        (directory / "train.sh").chmod(0o755)
        tools = os.path.dirname(os.path.abspath(servers.program("tarn")))
        self.environment = {**cli.environment, "PATH": f"{tools}:{os.environ['PATH']}", "CI": "true"}

    def __call__(self, script, shell="bash", status=0, **variables):
        ended = subprocess.run(
            [shell, "-e", "-c", script],
            env={**self.environment, **variables},
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        assert ended.returncode == status, (script, ended.returncode, ended.stdout, ended.stderr)
        return ended


@pytest.fixture
def checkout(cli, repo, tmp_path):
    user = with_least_rights(cli, repo, tmp_path)  # before the policy, which trusts the user
    apply(cli, repo, tmp_path, POLICY)
    return Checkout(user, tmp_path / "checkout")


def pipeline(repo):
    """The user that is `ci` on the page."""
    return f"ci-{repo.id[-20:]}"


def apply(cli, repo, tmp_path, policy):
    file = tmp_path / "policy.yaml"
    file.write_text(policy.replace("api:ci", f"api:{pipeline(repo)}"))
    cli.run("policy", "apply", "-f", file)


def with_least_rights(cli, repo, tmp_path):
    """The user of the page, for this repository."""
    name = pipeline(repo)
    file = tmp_path / "models-ci.json"
    file.write_text((DOCS / "models-ci.json").read_text().replace("repository/models", f"repository/{repo.id}"))
    cli.run("auth", "users", "create", name)
    cli.run("auth", "policies", "create", name, file)
    cli.run("auth", "policies", "attach", name, "--user", name)
    keys = cli.json("auth", "credentials", "create", name)
    user = copy.copy(cli)
    user.environment = {**cli.environment, "TARN_ACCESS_KEY": keys["access_key_id"], "TARN_SECRET_KEY": keys["secret_access_key"]}
    return user


def test_the_user_of_the_page_may_do_this_and_no_more(cli, repo, checkout):
    assert "yes" in checkout(f"tarn doctor {repo.id}").stdout
    checkout("tarn branch create pr-1 --source main && tarn gate check pr-1 || [ $? = 10 ]")
    for refused in (
        "tarn commit main -m x",
        "tarn fs upload data/a.csv tarn://$TARN_REPO/main/a",
        "tarn policy rm models --yes",
        "tarn branch create other --source main",
        "tarn merge pr-1 main -m x",
        "tarn auth credentials create",
    ):
        checkout(refused, status=3)


def has_tarn(script):
    return TARN_LINE.search(script) is not None


def check_champion(cli, s3, repo, number, promotions):
    """The promoted model is what training wrote, and the champion was moved so often."""
    assert s3.get_object(Bucket=repo.id, Key="@champion/metrics/metrics.json")["Body"].read() == (b'{"accuracy": 0.%d}' % number)
    log = cli.json("alias", "log", "champion")["items"]
    assert len(log) == promotions and log[0]["to_commit_id"] == repo.branch("main").head.id


def check_record(cli, sha):
    [run] = cli.json("exp", "ls", "--git-sha", sha)["items"]
    assert run["experiment"] == "ci" and run["source"]["ci_url"]


def test_the_shell_script(cli, s3, repo, rest, checkout):
    def job(status=0, **variables):
        return checkout(
            f'exec "{DOCS}/promote.sh"', shell="sh", status=status, TRAIN="./train.sh", CI_URL="https://ci.example/1", **variables
        )

    first = job(CANDIDATE="pr-1", JOB="1", GIT_SHA="0a", ACCURACY="0.70")
    assert "promoted" in first.stdout and (checkout.directory / "compare.md").read_text().startswith("| rank |")
    check_champion(cli, s3, repo, 70, promotions=1)
    check_record(cli, "0a")
    # Worse than the champion, then better.
    refused = job(CANDIDATE="pr-2", JOB="2", GIT_SHA="0b", ACCURACY="0.65", status=10)
    assert "vs_champion" in refused.stderr
    assert "baseline" in (checkout.directory / "compare.md").read_text()
    check_champion(cli, s3, repo, 70, promotions=1)
    job(CANDIDATE="pr-2", JOB="3", GIT_SHA="0c", ACCURACY="0.80")
    check_champion(cli, s3, repo, 80, promotions=2)
    for branch in ("pr-1", "pr-2"):
        assert "expires" in rest("GET", f"/repositories/{repo.id}/branches/{branch}").json()
    job(CANDIDATE="", JOB="4", status=2)


def test_the_shell_script_tells_that_it_waits(cli, repo, checkout, tmp_path):
    apply(cli, repo, tmp_path, POLICY + "approvals: {count: 1}\n")
    again = {"CANDIDATE": "pr-1", "TRAIN": "./train.sh", "ACCURACY": "0.70", "PATIENCE": "2s", "JOB": "1"}
    ended = checkout(f'exec "{DOCS}/promote.sh"', shell="sh", status=12, **again)
    assert "approval" in ended.stderr
    assert [p["state"] for p in cli.json("promote", "ls")["items"]] == ["awaiting_approval"]


def github_steps(job):
    return [step for step in job["steps"] if "run" in step]


def test_github_actions(cli, s3, repo, checkout, tmp_path):
    workflow = yaml.safe_load((DOCS / "github-actions.yml").read_text())
    # Nothing that a pull request says stands in a script.
    for job in workflow["jobs"].values():
        assert not any(EXPRESSION.search(step["run"]) for step in github_steps(job))

    def variables(number, job, run):
        known = {
            "vars.TARN_ENDPOINT": checkout.environment["TARN_ENDPOINT"],
            "vars.TARN_REPO": repo.id,
            "secrets.TARN_ACCESS_KEY": checkout.environment["TARN_ACCESS_KEY"],
            "secrets.TARN_SECRET_KEY": checkout.environment["TARN_SECRET_KEY"],
            "github.event.pull_request.number": str(number),
            "github.event.pull_request.head.sha": f"{number}a",
            "github.server_url": "https://github.example",
            "github.repository": "o/r",
            "github.run_id": str(run),
        }
        given = {name: EXPRESSION.sub(lambda m: known[m[1]], value) for name, value in workflow["env"].items()}
        return {
            **given,
            "GITHUB_RUN_ID": str(run),
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_JOB": job,
            "GITHUB_OUTPUT": str(tmp_path / f"output-{run}"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / f"summary-{run}"),
        }

    def run(job, number, run_id, status=0, **more):
        given = {**variables(number, job, run_id), **more}
        ran = 0
        for step in github_steps(workflow["jobs"][job]):
            if step["run"].startswith("./train.sh") or has_tarn(step["run"]):
                last = step is github_steps(workflow["jobs"][job])[-1]
                checkout(step["run"], status=status if last else 0, **given)
                ran += 1
        assert ran > 0

    run("candidate", 1, 11, ACCURACY="0.70")
    assert "| rank |" in (tmp_path / "summary-11").read_text() and "would be promoted" in (tmp_path / "summary-11").read_text()
    run("promote", 1, 12)
    check_champion(cli, s3, repo, 70, promotions=1)
    check_record(cli, "1a")
    lines = (tmp_path / "output-12").read_text().splitlines()
    outputs = {lines[at].split("<<")[0]: lines[at + 1] for at in range(0, len(lines), 3)}
    named = {EXPRESSION.match(value)[1].rpartition(".")[2] for value in workflow["jobs"]["promote"]["outputs"].values()}
    assert named <= outputs.keys() and outputs["commit"] == repo.branch("main").head.id
    # The step that is started again finds its promotion.
    run("promote", 1, 12)
    check_champion(cli, s3, repo, 70, promotions=1)
    run("cleanup", 1, 12)
    cli.run("branch", "show", "pr-1", status=4)
    run("cleanup", 1, 12)
    run("candidate", 2, 21, status=10, ACCURACY="0.65")
    assert "vs_champion" in (tmp_path / "summary-21").read_text()
    run("promote", 2, 22, status=10)
    check_champion(cli, s3, repo, 70, promotions=1)
    run("candidate", 2, 23, ACCURACY="0.80")
    run("promote", 2, 24)
    check_champion(cli, s3, repo, 80, promotions=2)


def test_gitlab(cli, s3, repo, checkout):
    pipeline = yaml.safe_load((DOCS / "gitlab-ci.yml").read_text())

    def run(job, number, id, status=0, **more):
        script = "\n".join(pipeline[job]["script"])
        assert has_tarn(script)
        checkout(
            script,
            status=status,
            CANDIDATE=pipeline["variables"]["CANDIDATE"].replace("$CI_MERGE_REQUEST_IID", str(number)),
            CI_COMMIT_SHA=f"{number}b",
            CI_JOB_URL="https://gitlab.example/1",
            CI_JOB_ID=f"{id}-{job}",
            CI_PIPELINE_ID=str(id),
            **more,
        )

    run("train", 1, 1, ACCURACY="0.70")
    run("promote", 1, 1)
    run("promote", 1, 1)
    check_champion(cli, s3, repo, 70, promotions=1)
    check_record(cli, "1b")
    run("train", 2, 2, ACCURACY="0.65", status=10)
    run("promote", 2, 2, status=10)
    check_champion(cli, s3, repo, 70, promotions=1)
    run("cleanup", 2, 2)
    cli.run("branch", "show", "pr-2", status=4)
    assert (checkout.directory / "compare.md").read_text().startswith("| rank |")
    assert pipeline["promote"]["allow_failure"]["exit_codes"] == [8, 12]
    assert not has_tarn("\n".join(pipeline["comment"]["script"]))


def test_jenkins(cli, s3, repo, checkout):
    scripts = re.findall(r"sh '''\n(.*?)'''", (DOCS / "Jenkinsfile").read_text(), re.S)
    assert len(scripts) == 4 and all(has_tarn(script) for script in scripts)
    train, compare, promote, cleanup = scripts

    def build(number, accuracy):
        return {
            "CANDIDATE": f"pr-{number}",
            "GIT_COMMIT": f"{number}c",
            "BUILD_URL": "https://jenkins.example/1",
            "BUILD_TAG": f"jenkins-{number}",
            "ACCURACY": accuracy,
        }

    for script in (train, compare, promote, promote, cleanup, cleanup):
        checkout(script, shell="sh", **build(1, "0.70"))
    check_champion(cli, s3, repo, 70, promotions=1)
    check_record(cli, "1c")
    checkout(train, shell="sh", **build(2, "0.65"))
    checkout(compare, shell="sh", status=10, **build(2, "0.65"))
    checkout(promote, shell="sh", status=10, **build(2, "0.65"))
    check_champion(cli, s3, repo, 70, promotions=1)


class Comments:
    """The comments of a pull request as GitHub and GitLab keep them: `kept` is {id: body}, `asked` what was requested."""

    def __init__(self):
        self.kept, self.asked, self.refuses = {}, [], False
        comments = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                comments.answer(self)

            do_POST = do_PATCH = do_PUT = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        path, _, query = request.path.partition("?")
        token = request.headers.get("Authorization") or request.headers.get("PRIVATE-TOKEN")
        self.asked.append((request.command, path, token))
        content = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        found = []
        if request.command == "GET":
            page = int(urllib.parse.parse_qs(query)["page"][0])
            found = [{"id": key, "body": body} for key, body in self.kept.items()][100 * (page - 1) : 100 * page]
        elif not self.refuses:
            key = len(self.kept) + 1 if request.command == "POST" else int(path.rpartition("/")[2])
            self.kept[key] = json.loads(content)["body"]
        body = json.dumps(found).encode()
        request.send_response(403 if self.refuses else 200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


@pytest.fixture
def comments():
    kept = Comments()
    yield kept
    kept.server.shutdown()
    kept.server.server_close()


def measured(checkout, number, accuracy):
    """A candidate as the recipes train it."""
    checkout(
        f'tarn branch create pr-{number} --source main && printf "%s" $ACCURACY >m && '
        f"tarn fs upload m tarn://$TARN_REPO/pr-{number}/artifacts/m && "
        f"commit=$(tarn commit pr-{number} -m train -o name) && "
        f'tarn exp log --ref "$commit" --of-branch pr-{number} --experiment ci --metric accuracy=$ACCURACY',
        ACCURACY=accuracy,
    )


def test_the_action_comments_on_the_pull_request(cli, repo, checkout, comments, tmp_path):
    action = yaml.safe_load((DOCS / "action" / "action.yml").read_text())
    [step] = action["runs"]["steps"]
    assert not EXPRESSION.search(step["run"])

    def run(number, status=0, **inputs):
        known = {
            "github.event.pull_request.number": str(number),
            "github.run_id": str(number),
            "github.job": "gate",
            "github.token": "of-the-job",
        }
        given = {
            "endpoint": checkout.environment["TARN_ENDPOINT"],
            "repository": repo.id,
            "access-key": checkout.environment["TARN_ACCESS_KEY"],
            "secret-key": checkout.environment["TARN_SECRET_KEY"],
            **inputs,
        }
        for name, declared in action["inputs"].items():
            assert "default" in declared or name in given
            known[f"inputs.{name}"] = given.get(name, EXPRESSION.sub(lambda m: known[m[1]], str(declared.get("default", ""))))
        variables = {name: EXPRESSION.sub(lambda m: known[m[1]], value) for name, value in step["env"].items()}
        output = tmp_path / "output"
        output.write_text("")
        checkout(
            step["run"],
            status=status,
            **variables,
            GITHUB_ACTION_PATH=str(DOCS / "action"),
            GITHUB_API_URL=comments.url,
            GITHUB_REPOSITORY="o/r",
            GITHUB_OUTPUT=str(output),
            GITHUB_STEP_SUMMARY=str(tmp_path / "summary"),
        )
        lines = output.read_text().splitlines()
        named = {lines[at].split("<<")[0]: lines[at + 1] for at in range(0, len(lines), 3)}
        return {name: named.get(EXPRESSION.match(of["value"])[1].rpartition(".")[2]) for name, of in action["outputs"].items()}

    measured(checkout, 1, "0.70")
    comments.kept = {number: f"comment {number}" for number in range(1, 121)}
    said = run(1)
    assert (said["verdict"], said["winner"]) == ("passed", "pr-1")
    assert len(comments.kept) == 121 and "`pr-1`: passed" in comments.kept[121] and "| rank |" in comments.kept[121]
    issues = "/repos/o/r/issues"
    assert comments.asked == [("GET", f"{issues}/1/comments", "Bearer of-the-job")] * 2 + [
        ("POST", f"{issues}/1/comments", "Bearer of-the-job")
    ]
    promoted = run(1, mode="promote")
    assert promoted["promotion-id"] and promoted["commit"] == repo.branch("main").head.id
    assert len(comments.kept) == 121 and "`pr-1`: promoted" in comments.kept[121]
    assert comments.asked[-1] == ("PATCH", f"{issues}/comments/121", "Bearer of-the-job")
    # The comment of another candidate is another one, and one that cannot be written changes no verdict.
    measured(checkout, 2, "0.65")
    run(2, status=10)
    assert "`pr-2`: refused" in comments.kept[122] and "vs_champion" in comments.kept[122] and "baseline" in comments.kept[122]
    comments.refuses = True
    run(2, status=10, mode="promote")
    comments.refuses = False
    assert "`pr-2`: refused" in comments.kept[122]
    run(2, status=2, mode="other")
    asked = len(comments.asked)
    run(2, status=10, **{"pull-request": ""})
    assert len(comments.asked) == asked


def test_the_template_of_gitlab_writes_notes(cli, repo, checkout, comments):
    jobs = yaml.safe_load((DOCS / "gitlab-template.yml").read_text())
    (checkout.directory / "ci").mkdir()
    (checkout.directory / "ci" / "gate.sh").write_text((DOCS / "action" / "gate.sh").read_text())

    def run(job, number, status=0):
        known = {"CI_MERGE_REQUEST_IID": str(number), "CI_PIPELINE_ID": f"{number}00"}
        own = {name: re.sub(r"\$(\w+)", lambda m: known[m[1]], value) for name, value in jobs[job]["variables"].items()}
        api = {"CI_API_V4_URL": comments.url, "CI_PROJECT_ID": "7", "COMMENT_TOKEN": "of-the-project"}
        checkout("\n".join(jobs[job]["script"]), shell="sh", status=status, **known, **own, **api)

    measured(checkout, 1, "0.70")
    run(".tarn-gate", 1)
    run(".tarn-promote", 1)
    run(".tarn-promote", 1)
    notes = "/projects/7/merge_requests/1/notes"
    assert [(method, path) for method, path, _ in comments.asked] == [
        ("GET", notes),
        ("POST", notes),
        ("GET", notes),
        ("PUT", f"{notes}/1"),
        ("GET", notes),
        ("PUT", f"{notes}/1"),
    ]
    assert {token for _, _, token in comments.asked} == {"of-the-project"}
    assert "`pr-1`: promoted" in comments.kept[1] and len(cli.json("promote", "ls")["items"]) == 1


# Commands of another user just before the recipe's own commit, the exit status of that one, and a word of its message.
MEANWHILE = {
    "other_bytes": ("fs upload {evil} {branch}/artifacts/model.pkl", 6, "artifacts/model"),
    "one_more_object": ("fs upload {evil} {branch}/metrics/more.json", 6, "metrics/more.json"),
    "other_data": ("fs upload {evil} {branch}/data/a.csv", 6, "data/a.csv"),
    "a_deletion": ("fs rm {branch}/of-main", 6, "of-main"),
    "a_commit": ("commit {name} -m mine", 7, "its head is"),
}


def training_scripts():
    """The part of each recipe that trains, commits and records."""
    github = yaml.safe_load((DOCS / "github-actions.yml").read_text())["jobs"]["candidate"]
    steps = [step["run"] for step in github_steps(github)]
    gitlab = yaml.safe_load((DOCS / "gitlab-ci.yml").read_text())["train"]["script"]
    jenkins = re.search(r"sh '''\n(.*?)'''", (DOCS / "Jenkinsfile").read_text(), re.S)[1]
    example = servers.ROOT / "examples" / "ci" / "job.sh"
    return {
        "shell": f'exec "{DOCS}/promote.sh"',
        "github": "\n".join(steps[: 1 + next(at for at, step in enumerate(steps) if "tarn exp log" in step)]),
        "gitlab": "\n".join(gitlab),
        "jenkins": jenkins,
        "example": f'exec "{example}"',
    }


@pytest.mark.parametrize("what", MEANWHILE)
@pytest.mark.parametrize("recipe", ["shell", "github", "gitlab", "jenkins", "example"])
def test_bytes_of_another_do_not_get_the_number(cli, repo, checkout, tmp_path, recipe, what):
    cli.run("policy", "rm", "models", "--yes")
    repo.branch("main").object("of-main").upload(data=b"1")
    repo.branch("main").commit("base")
    apply(cli, repo, tmp_path, POLICY)
    words, status, says = MEANWHILE[what]
    evil = tmp_path / "evil"
    evil.write_text("evil")
    words = words.format(evil=evil, name="pr-1", branch=f"tarn://{repo.id}/pr-1")
    real, tools = os.path.abspath(servers.program("tarn")), tmp_path / "tools"
    tools.mkdir()
    (tools / "tarn").write_text(
        f"""#!/bin/sh
if [ "$1" = commit ]; then
  TARN_ACCESS_KEY={cli.environment["TARN_ACCESS_KEY"]} TARN_SECRET_KEY={cli.environment["TARN_SECRET_KEY"]} \\
    {real} {words} >/dev/null
fi
exec {real} "$@"
"""
    )
    (tools / "tarn").chmod(0o755)
    checkout.environment["PATH"] = f"{tools}:{os.path.dirname(sys.executable)}:{checkout.environment['PATH']}"
    ended = checkout(
        training_scripts()[recipe],
        status=status,
        CANDIDATE="pr-1",
        ACCURACY="0.99",
        TRAIN="./train.sh",
        **dict.fromkeys(("JOB", "GIT_SHA", "CI_URL", "GITHUB_RUN_ID", "GITHUB_JOB", "CI_COMMIT_SHA", "CI_JOB_URL"), "1"),
        **dict.fromkeys(("CI_JOB_ID", "GIT_COMMIT", "BUILD_URL", "BUILD_TAG"), "1"),
        NUMBERS="1 2 3",
    )
    assert says in ended.stderr
    assert cli.json("exp", "ls")["items"] == [] and cli.json("promote", "ls")["items"] == []


def test_the_page_names_every_status_that_promoting_has(checkout):
    page = (DOCS / "README.md").read_text()
    named = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.M)}
    assert {0, 6, 7, 8, 10, 11, 12, 14} <= named
    assert set(re.findall(r"\]\(([\w.-]+)\)", page)) == {path.name for path in DOCS.iterdir()} - {"README.md"}


def test_the_page_of_promotion(cli, repo, tmp_path):
    """Each command of it, in its order, under its gate; and its gate with most rules can be set."""
    page = (DOCS.parent / "promotion.md").read_text()
    commands = re.search(r"```sh\n(.*?)```", page, re.S)[1].replace("tarn://dogs/", f"tarn://{repo.id}/").splitlines()
    whole = re.search(r"```yaml\n(name: dogs-champion\n.*?)```", page, re.S)[1]
    place = Checkout(cli, tmp_path / "checkout")
    (place.directory / "gate.yaml").write_text(re.search(r"```yaml\n(.*?)```", page, re.S)[1])
    (place.directory / "model.pkl").write_text("weights")
    assert len(commands) == 9
    said = {}
    for command in commands:
        said[command.split("#")[0].split()[1]] = place(command).stdout
    assert said["fs"] == "weights" and "| exp-1 |" in said["exp"] and "verdict" in said["gate"]
    assert "undoes" in said["promote"]
    cli.run("alias", "show", "champion", status=4)
    cli.run("tag", "create", "dataset-v3", "main")
    (place.directory / "gate.yaml").write_text(whole)
    cli.run("policy", "rm", "dogs", "--yes")
    place("tarn policy apply -f gate.yaml")

"""The examples of examples/, each run as it stands against a real server."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

import clients
import command
import lakefs
import pytest
import servers

EXAMPLES = servers.ROOT / "examples"
READY_SECONDS = 30


def environment_of(tarn):
    tools = os.path.dirname(os.path.abspath(servers.program("tarn")))
    return servers.clean_environment(
        {
            "TARN_ENDPOINT": tarn.url,
            "TARN_ACCESS_KEY": tarn.access_key,
            "TARN_SECRET_KEY": tarn.secret_key,
            "PATH": f"{tools}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
            "CI": "true",
        }
    )


def test_the_notebook(tarn, client, name):
    ended = subprocess.run(
        [sys.executable, EXAMPLES / "notebook" / "branch_and_merge.py"],
        capture_output=True,
        text=True,
        env={**environment_of(tarn), "REPOSITORY": name},
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    repo = lakefs.repository(name, client=client)
    assert repo.ref("main").object("labels.csv").reader().read() == b"file,label\n1.png,dog\n"
    assert repo.tag("v1").get_commit().id == repo.branch("main").head.id
    said = ended.stdout.split()
    assert said.count("1.png,cat") == 2 and said.count("1.png,dog") == 3 and "changed labels.csv" in ended.stdout


def test_the_ci_job(tarn, cli, repo, rest, tmp_path):
    # The policy trusts a user of its own, as the page makes it; here it is the one that the tests have.
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        (EXAMPLES / "ci" / "policy.yaml").read_text().replace("api:ci", f"api:{rest('GET', '/user').json()['user']['id']}")
    )
    cli.run("policy", "apply", "-f", policy)

    def job(number, numbers, status=0):
        ended = subprocess.run(
            [EXAMPLES / "ci" / "job.sh"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=150,
            env={
                **environment_of(tarn),
                "HOME": str(tmp_path),
                "TARN_REPO": repo.id,
                "CANDIDATE": f"pr-{number}",
                "JOB": str(number),
                "NUMBERS": numbers,
            },
            check=False,
        )
        assert ended.returncode == status, (ended.stdout, ended.stderr)

    job(1, "1 2 3 4 5")
    job(2, "1 1 9 9", status=10)
    job(3, "2 3 3 3 4")
    assert sorted(p["state"] for p in cli.json("promote", "ls")["items"]) == ["promoted", "promoted", "rejected"]
    assert repo.ref("@champion").object("artifacts/model.json").reader().read() == b'{"mean": 3.0}'


@pytest.fixture
def receiver():
    """receiver.py of the example, as a process; gives its URL."""
    port = servers.free_port()
    process = subprocess.Popen([sys.executable, EXAMPLES / "hooks" / "receiver.py", str(port)], stderr=subprocess.DEVNULL)
    url, deadline = f"http://127.0.0.1:{port}/merge", time.monotonic() + READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(url, b"{}").close()
            break
        except urllib.error.URLError:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(servers.POLL_SECONDS)
    yield url
    process.terminate()
    process.wait()


def test_the_hooks(receiver, scratch_dir, name):
    server = servers.Tarnd(
        scratch_dir / "tarnd",
        environment={"LAKEFSACTION_CHECKS_URL": receiver, "TARN_HOOKS_VARIABLES": "LAKEFSACTION_CHECKS_URL=*"},
    ).start()
    repo = lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=f"local://{name}")
    tarn = command.Cli(server, scratch_dir / "home", repo.id)
    tarn.run("fs", "upload", "-r", "_lakefs_actions/", f"tarn://{name}/main/_lakefs_actions/", cwd=EXAMPLES / "hooks")
    tarn.run("commit", f"tarn://{name}/main", "-m", "Add checks")

    branch = repo.branch("fix").create(source_reference="main")
    branch.object("labels.csv").upload(data=b"1.png,dog\n")
    assert 'must begin with "file,label"' in tarn.run("commit", "fix", "-m", "Add labels", status=13).talk
    branch.object("labels.csv").upload(data=b"file,label\n1.png,dog\n")
    tarn.run("commit", "fix", "-m", "Add labels")

    tarn.run("merge", "fix", "main", status=13)
    assert not repo.ref("main").object("labels.csv").exists()
    tarn.run("merge", "fix", "main", "-m", "Labels of the first picture")
    assert repo.ref("main").object("labels.csv").exists()
    server.stop()

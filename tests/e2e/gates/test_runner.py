"""`tarn runner` against a server of the protocol of evaluation jobs that a test scripts: what it answers, and what it was sent."""

import io
import json
import os
import signal
import subprocess
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
import servers
from command import Cli
from sandbox import needs_sandbox

PREDICT = """
import os, shutil, time
if os.path.exists(os.environ["TARN_CANDIDATE"] + "/slow"):
    time.sleep(600)
shutil.copy(os.environ["TARN_INPUTS"] + "/1.txt", os.environ["TARN_OUTPUT"])
"""
SCORE = """
import json, os
right = open(os.environ["TARN_PREDICTIONS"]).read() == open(os.environ["TARN_DATA"] + "/labels/1.txt").read()
open(os.environ["TARN_OUTPUT"], "w").write(json.dumps({"id": "1", "values": {"accuracy": int(right)}}) + "\\n")
"""
LINE = b'{"id": "1", "values": {"accuracy": 1}}\n'
DATA = {"inputs/1.txt": "cat", "labels/1.txt": "cat", "predict.py": PREDICT, "score.py": SCORE}


def archive(files, edit=None):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            if edit:
                edit(member)
            tar.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


class JobServer:
    """Hands out one job; `answers` replaces the status, or the status and reason, of a call."""

    def __init__(self):
        self.calls, self.bodies, self.answers, self.changed = [], {}, {}, threading.Condition()
        self.parts = {
            "data": archive(DATA),
            "inputs": archive({"1.txt": "cat"}),
            "program": archive({"predict.py": PREDICT}),
            "candidate": archive({"model.bin": "weights"}),
        }
        self.job = {
            "id": "ev_1", "token": "0af1", "lease_seconds": 3, "repository": "lake", "evaluation": "digits", "predict": "predict.py",
            "score": "score.py", "inputs": "inputs/", "timeout_seconds": 60, "memory_bytes": 512 << 20,
            "output_bytes_max": 1 << 20, "labels": [],
        }  # fmt: skip
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.answer(self)

            do_POST = do_GET

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.access_key, self.secret_key = "key", "secret"

    def answer(self, request):
        call = request.path.removeprefix("/api/v1/evaluation-jobs/").removeprefix("ev_1/")
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        assert request.headers["Authorization"].startswith("Basic ")
        assert call == "lease" or request.headers["X-Tarn-Lease"] == "0af1"
        with self.changed:
            self.calls.append(call)
            self.bodies[call] = body
            self.changed.notify_all()
            scripted = self.answers.get(call)
            status, reason = scripted.pop(0) if isinstance(scripted, list) and scripted else (scripted or (0, ""))
            first = self.calls.count("lease") == 1
        sent = b""
        if status:
            sent = json.dumps({"code": reason, "message": f"refused: {reason}"}).encode()
        elif call == "lease":
            status, sent = (200, json.dumps(self.job).encode()) if first else (204, b"")
        elif call.startswith("files/"):
            status, sent = 200, self.parts[call.removeprefix("files/")]
        else:
            status = 204
        request.send_response(status)
        if reason:
            request.send_header("X-Tarn-Error", reason)
        request.send_header("Content-Length", str(len(sent)))
        request.end_headers()
        request.wfile.write(sent)

    def wait_for(self, call, count=1, seconds=60):
        with self.changed:
            assert self.changed.wait_for(lambda: self.calls.count(call) >= count, seconds), self.calls

    def failure(self):
        return json.loads(self.bodies["failure"])

    def ended_with(self):
        """The last call about the job besides files and renewals."""
        calls = [call for call in self.calls if not call.startswith(("files/", "renew", "lease"))]
        return calls[-1] if calls else ""


@pytest.fixture
def server():
    scripted = JobServer()
    yield scripted
    scripted.http.shutdown()
    scripted.http.server_close()


@pytest.fixture
def runner(server, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    cli = Cli(server, str(tmp_path))
    started = []

    def start(*options, endpoint=None):
        words = [servers.program("tarn"), "runner", "--work", str(work), *options]
        environment = {**cli.environment, **({"TARN_ENDPOINT": endpoint} if endpoint else {})}
        started.append(subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    def once(*options, status=0):
        process = start("--once", *options)
        _, talk = process.communicate(timeout=120)
        assert process.returncode == status, talk
        assert not list(work.iterdir())

    yield SimpleNamespace(start=start, once=once, work=work, cli=cli)
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdout, process.stderr):
            pipe.close()


@needs_sandbox
def test_a_job_is_measured(server, runner):
    runner.once("--label", "gpu")
    assert json.loads(server.bodies["lease"])["labels"] == ["gpu"]
    assert server.bodies["result"] == LINE and server.ended_with() == "result"


@needs_sandbox
def test_without_predict_score_sees_the_candidate(server, runner):
    server.job["predict"] = ""
    score = "import os, shutil\nshutil.copy(os.environ['TARN_CANDIDATE'] + '/lines', os.environ['TARN_OUTPUT'])\n"
    server.parts["data"] = archive({"score.py": score})
    server.parts["candidate"] = archive({"lines": LINE.decode()})
    runner.once()
    assert server.bodies["result"] == LINE
    assert not {"files/inputs", "files/program"} & set(server.calls)


@needs_sandbox
@pytest.mark.parametrize(
    "predict, limits, code",
    [
        ("raise SystemExit('no model')", {}, "program_failed"),
        ("import time; time.sleep(600)", {"timeout_seconds": 1}, "timeout"),
        ("pass", {}, "output_invalid"),
        ("import os; open(os.environ['TARN_OUTPUT'], 'wb').write(bytes(2000))", {"output_bytes_max": 1000}, "output_too_large"),
    ],
)
def test_the_failure_of_a_program_is_told_with_what_it_printed(server, runner, predict, limits, code):
    server.job.update(limits)
    server.parts["program"] = archive({"predict.py": predict})
    runner.once()
    failure = server.failure()
    assert (failure["phase"], failure["code"]) == ("predict", code)
    assert "result" not in server.calls and "release" not in server.calls
    if code == "program_failed":
        assert failure["detail"] == "exit status 1\nno model\n"


@needs_sandbox
def test_what_a_program_printed_is_cut_and_valid_utf8(server, runner):
    server.parts["data"] = archive(
        {**DATA, "score.py": "import sys\nsys.stdout.buffer.write(b'\\xff\\0' + 'ü'.encode() * 9999)\n"}
    )
    runner.once()
    detail = server.failure()["detail"]
    assert server.failure()["phase"] == "score" and len(detail.encode()) <= 4096 + 100 and detail.endswith("ü")


@needs_sandbox
def test_a_result_that_the_server_refuses_is_a_failure(server, runner):
    server.answers["result"] = (400, "example_unknown")
    runner.once()
    failure = server.failure()
    assert (failure["phase"], failure["code"]) == ("score", "output_invalid")
    assert failure["detail"].startswith("example_unknown\n")


@needs_sandbox
def test_a_lease_that_is_lost_stops_the_work(server, runner):
    server.parts["candidate"] = archive({"slow": ""})
    server.answers["renew"] = (409, "lease_lost")
    began = time.monotonic()
    runner.once()
    assert time.monotonic() - began < 60 and server.ended_with() == ""


@needs_sandbox
def test_a_lease_that_is_lost_at_the_end_is_forgotten(server, runner):
    server.answers["result"] = (409, "lease_lost")
    runner.once()
    assert server.ended_with() == "result"


@needs_sandbox
def test_the_lease_is_renewed_while_a_program_runs(server, runner):
    server.parts["candidate"] = archive({"slow": ""})
    server.job["timeout_seconds"] = 4
    runner.once()
    assert server.calls.count("renew") >= 2 and server.failure()["code"] == "timeout"


@needs_sandbox
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_releases_the_job(server, runner, name):
    server.parts["candidate"] = archive({"slow": ""})
    process = runner.start()
    server.wait_for("files/program")
    server.wait_for("renew", 1)
    process.send_signal(getattr(signal, name))
    assert process.wait(30) == 0
    assert server.ended_with() == "release" and not list(runner.work.iterdir())


@needs_sandbox
def test_a_runner_that_is_killed_leaves_no_process(server, runner):
    mark = f"predict-{os.getpid()}-{time.time_ns()}.py"
    server.job["predict"] = mark
    server.parts["program"] = archive({mark: PREDICT})
    server.parts["candidate"] = archive({"slow": ""})
    process = runner.start()
    server.wait_for("renew", 2)
    assert running(mark)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while running(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running(mark)


def running(mark):
    return mark in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@needs_sandbox
def test_an_unavailable_server_is_waited_for(server, runner):
    server.answers["lease"] = [(503, "overloaded")] * 5
    server.answers["result"] = [(503, "overloaded")] * 5
    process = runner.start()
    deadline = time.monotonic() + 60
    while not server.bodies.get("result") and time.monotonic() < deadline:
        time.sleep(0.1)
        if server.calls.count("lease") == 5:
            server.calls[:] = []  # the job is handed out at the first call that is answered
    process.terminate()
    assert process.wait(30) == 0
    assert server.bodies["result"] == LINE


@needs_sandbox
def test_a_runner_without_a_server_ends_at_a_signal(runner):
    process = runner.start(endpoint="http://127.0.0.1:9")
    time.sleep(2)
    process.terminate()
    assert process.wait(30) == 0


@needs_sandbox
def test_a_runner_that_may_not_take_jobs_ends(server, runner):
    server.answers["lease"] = (401, "unauthenticated")
    runner.once(status=3)


def link(member):
    member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0


def climb(member):
    member.name = "../" + member.name


def device(member):
    member.type, member.size = tarfile.CHRTYPE, 0


@needs_sandbox
@pytest.mark.parametrize("edit", [link, climb, device])
@pytest.mark.parametrize("part", ["data", "inputs", "program", "candidate"])
def test_unsafe_members_of_archives_release_the_job(server, runner, part, edit):
    server.parts[part] = archive({"predict.py": PREDICT}, edit)
    runner.once(status=1)
    assert server.ended_with() == "release"


@needs_sandbox
def test_files_larger_than_the_disk_release_the_job(server, runner):
    server.parts["candidate"] = archive({"model.bin": "x" * 5000})
    runner.once("--disk", "4KiB", status=1)
    assert server.ended_with() == "release"


@needs_sandbox
def test_a_python_that_is_not_in_the_sandbox_takes_no_job(server, runner):
    runner.once("--python", "/opt/absent/python3", status=1)
    assert server.calls == []

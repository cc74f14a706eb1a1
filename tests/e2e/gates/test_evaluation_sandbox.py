"""Attacks of a candidate on the sandbox that measures it. `predict` runs the candidate's code by design, as loading a pickle does."""

import errno
import json
import platform
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import Cli
from sandbox import needs_sandbox

SECRET = "sandbox-key-of-the-runner"
# Runs the model, which fills `found`; a mean of `found` shows what it reached.
PREDICT = """
import ctypes, errno, json, mmap, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
OUTPUT = os.environ["TARN_OUTPUT"]
found = {}

def attempt(name, action):
    "Keeps 0 when the action succeeds, else the number of its error."
    try:
        action()
        found[name] = 0
    except OSError as error:
        found[name] = error.errno

def call(name, *arguments):
    def action():
        if libc.syscall(*map(ctypes.c_long, arguments)) < 0:
            raise OSError(ctypes.get_errno(), name)
    attempt(name, action)

def read(path):
    return lambda: open(path, "rb").read(1)

def write(path):
    return lambda: open(path, "wb").write(b"x")

exec(open(os.environ["TARN_CANDIDATE"] + "/model.py").read())
if not os.path.lexists(OUTPUT):
    open(OUTPUT, "w").write(json.dumps(found))
"""
SCORE = """
import json, os
found = json.load(open(os.environ["TARN_PREDICTIONS"]))
open(os.environ["TARN_OUTPUT"], "w").write(json.dumps({"id": "1", "values": found}))
"""
# Numbers of system calls.
CALLS = {
    "x86_64": {"mount": 165, "unshare": 272, "setns": 308, "clone": 56, "clone3": 435, "pivot_root": 155, "ptrace": 101,
               "process_vm_readv": 310, "keyctl": 250, "add_key": 248, "bpf": 321, "perf_event_open": 298,
               "userfaultfd": 323, "io_uring_setup": 425, "open_by_handle_at": 304, "fsopen": 430},
    "aarch64": {"mount": 40, "unshare": 97, "setns": 268, "clone": 220, "clone3": 435, "pivot_root": 41, "ptrace": 117,
                "process_vm_readv": 270, "keyctl": 219, "add_key": 217, "bpf": 280, "perf_event_open": 241,
                "userfaultfd": 282, "io_uring_setup": 425, "open_by_handle_at": 265, "fsopen": 430},
}.get(platform.machine(), {})  # fmt: skip


class Evaluation:
    """The folders of an evaluation, and `tarn evaluation try` with a model that is a program."""

    def __init__(self, folder):
        self.data, self.candidate, self.temporary = folder / "data", folder / "candidate", folder / "tmp"
        # A name of its own, by which its processes are found.
        self.predict = f"predict-{folder.name}-{time.time_ns()}.py"
        for path in (self.data / "inputs", self.candidate, self.temporary):
            path.mkdir(parents=True)
        (self.data / "labels.csv").write_text("1,cat\n")
        (self.data / "inputs" / "1.txt").write_text("meow\n")
        (self.data / self.predict).write_text(PREDICT)
        (self.data / "score.py").write_text(SCORE)
        nowhere = SimpleNamespace(url="http://127.0.0.1:9", access_key="key", secret_key=SECRET)
        self.cli = Cli(nowhere, str(folder))
        self.cli.environment["TMPDIR"] = str(self.temporary)

    def words(self, model, *options):
        (self.candidate / "model.py").write_text(model)
        words = ["evaluation", "try", "--data", self.data, "--candidate", self.candidate, "--score", "score.py"]
        return [*words, "--predict", self.predict, *options]

    def found(self, model, *options):
        rows = self.cli.json(*self.words(model, *options))
        self.nothing_is_left()
        return {row["name"]: row["mean"] for row in rows["items"]}

    def failure(self, model, *options):
        code = self.cli.reason(*self.words(model, *options), status=1)
        self.nothing_is_left()
        return code

    def nothing_is_left(self):
        assert not list(self.temporary.iterdir())
        left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if self.predict in text_of(path)]
        assert not left


def text_of(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


@pytest.fixture
def evaluation(tmp_path):
    return Evaluation(tmp_path)


@needs_sandbox
def test_files_outside_are_not_there(evaluation):
    paths = ["/evaluation/data/labels.csv", "/evaluation/inputs/../labels.csv", "/evaluation/program/score.py", "/etc/passwd", "/etc/shadow",
             "/root", "/home", "/var", "/sys", "/run", evaluation.data / "labels.csv", "/dev/mem", "/dev/vda"]  # fmt: skip
    model = "".join(f"attempt({str(path)!r}, lambda: os.stat({str(path)!r}))\n" for path in paths)
    assert evaluation.found(model) == {str(path): errno.ENOENT for path in paths}


@needs_sandbox
def test_inputs_and_candidate_are_read(evaluation):
    found = evaluation.found("""
attempt("inputs", read(os.environ["TARN_INPUTS"] + "/1.txt"))
attempt("candidate", read(os.environ["TARN_CANDIDATE"] + "/model.py"))
found["uid"], found["variables"] = os.getuid(), int("TARN_DATA" in os.environ)
""")
    assert found == {"inputs": 0, "candidate": 0, "uid": 65534, "variables": 0}


@needs_sandbox
def test_nothing_outside_is_written(evaluation):
    paths = ["/x", "/usr/x", "/evaluation/x", "/evaluation/inputs/x", "/evaluation/inputs/1.txt", "/evaluation/candidate/x", "/evaluation/candidate/model.py",
             "/evaluation/program/x", "/dev/x", "/proc/sys/kernel/hostname", "/proc/self/comm"]  # fmt: skip
    model = "".join(f"attempt({path!r}, write({path!r}))\n" for path in paths)
    refused = {errno.EROFS, errno.EACCES, errno.EPERM}
    found = evaluation.found(model)
    assert set(found) == set(paths) and not {path: code for path, code in found.items() if code not in refused}


@needs_sandbox
def test_there_is_no_network(evaluation):
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as local:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        name = f"tarn-{time.time_ns()}"
        local.bind("\0" + name)
        local.listen()
        found = evaluation.found(f"""
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", {tcp.getsockname()[1]}), timeout=5))
attempt("udp", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("local", lambda: socket.socket(socket.AF_UNIX).connect("\\0{name}"))
found["interfaces"] = len(os.listdir("/sys/class/net")) if os.path.isdir("/sys") else len(open("/proc/net/dev").readlines()) - 2
""")
    refused = dict.fromkeys(("tcp", "udp", "netlink", "packet"), errno.EPERM)
    assert found == {**refused, "local": errno.ECONNREFUSED, "interfaces": 1}


@needs_sandbox
def test_keys_and_processes_of_the_runner_are_not_seen(evaluation):
    found = evaluation.found(f"""
processes = [name for name in os.listdir("/proc") if name.isdigit()]
found["processes"] = len(processes)
found["keys"] = 0
for name in processes:
    for file in ("environ", "cmdline"):
        try:
            found["keys"] += {SECRET.encode()!r} in open("/proc/" + name + "/" + file, "rb").read()
        except OSError:
            pass
found["keys"] += {SECRET!r} in str(os.environ)
""")
    assert found["keys"] == 0 and found["processes"] <= 4


@needs_sandbox
@pytest.mark.skipif(not CALLS, reason="numbers of system calls of this architecture are not known")
def test_dangerous_calls_are_refused(evaluation):
    new_user = 0x10000000
    arguments = {"unshare": [new_user], "clone": [new_user | 17], "clone3": [0, 0], "ptrace": [16, 1]}
    model = "".join(f"call({name!r}, {number}, *{arguments.get(name, [])}, 0, 0, 0, 0)\n" for name, number in CALLS.items())
    expected = dict.fromkeys(CALLS, errno.EPERM) | {"clone3": errno.ENOSYS}
    assert evaluation.found(model) == expected


@needs_sandbox
@pytest.mark.skipif(platform.machine() != "x86_64", reason="calls by int 0x80 are of x86")
def test_calls_of_another_architecture_end_the_process(evaluation):
    """Numbers of 32 bits would mean other calls than those that the filter refuses."""
    assert (
        evaluation.failure("""
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b814000000cd80c3"))  # getpid, as int 0x80
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
""")
        == "program_failed"
    )


@needs_sandbox
def test_processes_are_limited_and_end_with_the_program(evaluation):
    found = evaluation.found("""
found["started"] = 0
def bomb():
    while True:
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.setsid()
            time.sleep(600)
            os._exit(0)
        found["started"] += 1
attempt("bomb", bomb)
""")
    assert found["bomb"] == errno.EAGAIN and 0 < found["started"] < 512


@needs_sandbox
def test_a_program_that_does_not_end_is_killed_with_its_children(evaluation):
    began = time.monotonic()
    assert evaluation.failure("""
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        break
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    time.sleep(600)
""", "--timeout", "2s") == "program_timeout"  # fmt: skip
    assert time.monotonic() - began < 30


@needs_sandbox
def test_both_programs_share_the_time(evaluation):
    (evaluation.data / "score.py").write_text("import time\ntime.sleep(3)\n" + SCORE)
    assert evaluation.failure("time.sleep(3)", "--timeout", "5s") == "program_timeout"


@needs_sandbox
def test_a_child_that_stays_behind_ends_and_changes_nothing(evaluation):
    found = evaluation.found("""
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
found["ended"] = 1
""")
    assert found == {"ended": 1}


@needs_sandbox
def test_killing_the_parents_is_a_failure(evaluation):
    assert evaluation.failure("""
attempt("first", lambda: os.kill(1, signal.SIGKILL))
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(600)
""", "--timeout", "20s") == "program_failed"  # fmt: skip


@needs_sandbox
@pytest.mark.parametrize(
    "model",
    ["held = bytearray(1 << 30)", "held = mmap.mmap(-1, 1 << 30); held.write(bytes(1 << 30))"],
    ids=["private", "shared"],
)
def test_memory_is_limited(evaluation, model):
    """Without a control group the allocation fails, and only private memory is counted."""
    codes = {"memory", "program_failed"} if "bytearray" in model else {"memory"}
    if codes == {"memory"} and not limits_by_group():
        pytest.skip("this user may make no control group with a limit of memory")
    assert evaluation.failure(model, "--memory", "256MiB") in codes


def limits_by_group():
    """Whether this process may make a group below its own; version 1 only, as version 2 needs a delegated one."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            group = Path(f"/sys/fs/cgroup/memory{path}/tarn-test-{time.time_ns()}")
            try:
                group.mkdir()
                group.rmdir()
                return True
            except OSError:
                return False
    return False


@needs_sandbox
def test_folders_in_memory_are_limited(evaluation):
    found = evaluation.found("""
def fill(path):
    with open(path, "wb", buffering=0) as file:
        for _ in range(512):
            if file.write(bytes(1 << 20)) < 1 << 20:
                raise OSError(errno.ENOSPC, path)
for folder in ("/tmp", "/dev/shm"):
    attempt(folder, lambda: fill(folder + "/full"))
    os.unlink(folder + "/full")
""", "--memory", "512MiB")  # fmt: skip
    assert found == {"/tmp": errno.ENOSPC, "/dev/shm": errno.ENOSPC}


@needs_sandbox
@pytest.mark.parametrize(
    "model, code",
    [
        ('open(OUTPUT, "wb").write(bytes((1 << 20) + 1))', "output_too_large"),
        ('open(OUTPUT, "wb").write(bytes(8 << 20))', "output_too_large"),
        ('os.symlink("/evaluation/data/labels.csv", OUTPUT)', "output_invalid"),
        ('os.symlink("/etc/passwd", OUTPUT)', "output_invalid"),
        ('os.symlink("{labels}", OUTPUT)', "output_invalid"),
        ("os.mkfifo(OUTPUT)", "output_invalid"),
        ("os.mkdir(OUTPUT)", "output_invalid"),
        ('open(OUTPUT, "w")', "output_invalid"),
        ("sys.exit(3)", "program_failed"),
        ('print("x" * (1 << 20)); sys.stderr.write(chr(0)); os.abort()', "program_failed"),
    ],
)
def test_an_output_that_is_no_file_of_the_allowed_size_is_a_failure(evaluation, model, code):
    model = model.replace("{labels}", str(evaluation.data / "labels.csv"))
    assert evaluation.failure(model, "--output-max", "1MiB") == code


@needs_sandbox
def test_an_output_of_the_allowed_size_is_kept(evaluation):
    (evaluation.data / "score.py").write_text("""
import json, os
size = os.stat(os.environ["TARN_PREDICTIONS"]).st_size
open(os.environ["TARN_OUTPUT"], "w").write(json.dumps({"id": "1", "values": {"size": size}}))
""")
    found = evaluation.found('open(OUTPUT, "wb").write(bytes(1 << 20))', "--output-max", "1MiB")
    assert found == {"size": 1 << 20}


@needs_sandbox
def test_what_a_program_prints_is_no_result(evaluation):
    found = evaluation.found("""
print(json.dumps({"forged": 1}), flush=True)
for name in os.listdir("/proc/self/fd"):
    try:
        os.write(int(name), b"+forged")
    except OSError:
        pass
found["honest"] = 1
""")
    assert found == {"honest": 1}


@needs_sandbox
def test_nothing_stays_for_the_next_job(evaluation):
    looks = """
paths = ["/tmp/left", "/dev/shm/left", "/evaluation/out/left"]
for path in paths:
    attempt(path, read(path))
segment = libc.shmget(0x7461726e, 4096, 0)
attempt("segment", lambda: segment >= 0 or (_ for _ in ()).throw(OSError(ctypes.get_errno(), "")))
for path in paths:
    write(path)()
libc.shmget(0x7461726e, 4096, 0o1666)
"""
    absent = dict.fromkeys(["/tmp/left", "/dev/shm/left", "/evaluation/out/left", "segment"], errno.ENOENT)
    assert evaluation.found(looks) == absent
    assert evaluation.found(looks) == absent


@needs_sandbox
def test_score_sees_labels_and_no_candidate(evaluation):
    (evaluation.data / "score.py").write_text("""
import json, os
seen = {name: os.path.exists(path) for name, path in
        {"labels": "/evaluation/data/labels.csv", "candidate": "/evaluation/candidate", "inputs": "/evaluation/inputs"}.items()}
values = {name: int(is_seen) for name, is_seen in seen.items()}
open(os.environ["TARN_OUTPUT"], "w").write(json.dumps({"id": "1", "values": values}))
""")
    assert evaluation.found("") == {"labels": 1, "candidate": 0, "inputs": 0}
    words = ["evaluation", "try", "--data", evaluation.data, "--candidate", evaluation.candidate, "--score", "score.py"]
    rows = evaluation.cli.json(*words)["items"]
    assert {row["name"]: row["mean"] for row in rows} == {"labels": 1, "candidate": 1, "inputs": 0}


@needs_sandbox
def test_means_and_slices_are_printed(evaluation):
    lines = [
        {"id": "1", "values": {"accuracy": 1}, "slices": ["night"]},
        {"id": "2", "values": {"accuracy": 0}},
        {"id": "3", "values": {"accuracy": 0}, "slices": ["night", "rain"]},
    ]
    text = "\n".join(map(json.dumps, lines))
    (evaluation.data / "score.py").write_text(f"import os\nopen(os.environ['TARN_OUTPUT'], 'w').write({text!r})\n")
    found = evaluation.found("")
    assert found == {"accuracy": pytest.approx(1 / 3), "slice.night.accuracy": 0.5, "slice.rain.accuracy": 0}


@needs_sandbox
@pytest.mark.parametrize(
    "line",
    ["no JSON", "[]", '{"id": 1, "values": {}}', '{"id": "1"}', '{"id": "1", "values": {"a": "b"}}',
     '{"id": "1", "values": {"a": 1e999}}', '{"id": "1", "values": {"a": NaN}}', '{"id": "1", "values": {}, "slices": [1]}',
     '{"id": "1", "values": {}}\\n{"id": "1", "values": {}}'],
)  # fmt: skip
def test_a_result_that_is_not_lines_of_examples_is_refused(evaluation, line):
    (evaluation.data / "score.py").write_text(f"import os\nopen(os.environ['TARN_OUTPUT'], 'w').write('{line}')\n")
    assert evaluation.failure("") == "output_invalid"


def test_without_bubblewrap_the_error_names_it(evaluation, tmp_path):
    code = evaluation.cli.reason(*evaluation.words(""), status=1, PATH=str(tmp_path))
    assert code == "sandbox_unavailable"
    evaluation.nothing_is_left()


@pytest.mark.parametrize(
    "options",
    [["--data", "absent"], ["--candidate", "absent"], ["--score", "absent.py"], ["--predict", "absent.py"], ["--timeout", "soon"],
     ["--memory", "much"], ["--with", "relative"], ["--device", "/etc/passwd"]],
    ids=lambda options: options[0],
)  # fmt: skip
def test_options_that_name_nothing_are_refused(evaluation, options):
    words = {"--data": evaluation.data, "--candidate": evaluation.candidate, "--score": "score.py"} | dict([options])
    flat = [word for pair in words.items() for word in pair]
    assert evaluation.cli.reason("evaluation", "try", *flat, status=2) == "usage"

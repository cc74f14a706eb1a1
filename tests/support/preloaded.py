"""Runs a program that is written in Python many times and imports its modules once: each run is a fork of a process that has
them. Standard library only: see client_child.py.

usage: preloaded.py MODULE,...       by the program's own interpreter, with a socket as stdin. Each message there is a run:
{"words", "environment", "directory"} with stdin, stdout and stderr as file descriptors, answered by {"status"}."""

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

MESSAGE_BYTES_MAX = 1 << 17


class Program:
    """Of one thread. It ends when we do."""

    def __init__(self, script, modules):
        self.script = script
        interpreter = Path(script).read_text().partition("\n")[0].removeprefix("#!").split()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen([*interpreter, __file__, ",".join(modules)], stdin=theirs, start_new_session=True)

    def run(self, words, input, timeout, cwd, env):
        """As subprocess.run with capture_output; `input` may be None."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as talk:
            given.write(input or b"")
            given.seek(0)
            request = {"words": [self.script, *words[1:]], "environment": env, "directory": str(cwd)}
            self.socket.settimeout(timeout)
            socket.send_fds(self.socket, [json.dumps(request).encode()], [file.fileno() for file in (given, out, talk)])
            try:
                answer = self.socket.recv(MESSAGE_BYTES_MAX)
            except TimeoutError:
                os.killpg(self.process.pid, signal.SIGKILL)
                raise
            out.seek(0)
            talk.seek(0)
            return subprocess.CompletedProcess(words, json.loads(answer)["status"], out.read(), talk.read())


def next_run(requests):
    """Returns in a fork for each request, with the request; ends the process after the last."""
    while True:
        message, files, _, _ = socket.recv_fds(requests, MESSAGE_BYTES_MAX, 3)
        if not message:
            sys.exit()
        child = os.fork()
        if child == 0:
            requests.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            return json.loads(message)
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(BrokenPipeError):
            requests.send(json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode())


def main():
    before = dict(os.environ)
    for module in sys.argv[1].split(","):
        importlib.import_module(module)
    gc.freeze()  # collections of a run need not look at the modules
    set_by_imports = dict(os.environ.items() - before.items())
    run = next_run(socket.socket(fileno=os.dup(0)))
    os.environ.clear()
    os.environ.update(run["environment"] | set_by_imports)
    os.chdir(run["directory"])
    sys.argv = run["words"]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()

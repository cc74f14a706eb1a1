"""Runs a program on a terminal of its own, of a given size."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from types import SimpleNamespace

import servers

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run_on_terminal(cli, *words, columns=80, rows=24, answers=(), status=0, seconds=60, **environment):
    """Returns what the terminal showed: `raw`, and `text` without escapes. `answers` are pairs of a text that the
    terminal shows and what the user then types."""
    primary, replica = pty.openpty()
    fcntl.ioctl(replica, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [servers.program("tarn"), *map(str, words)],
        stdin=replica,
        stdout=replica,
        stderr=replica,
        env={**cli.environment, "TERM": "xterm-256color", "COLUMNS": "", **environment},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    )
    os.close(replica)
    shown, waiting, end = b"", list(answers), time.monotonic() + seconds
    while True:
        assert time.monotonic() < end, ("the program did not end", shown)
        if select.select([primary], [], [], 0.2)[0]:
            try:
                piece = os.read(primary, 65536)
            except OSError:  # the last process on the terminal ended
                break
            shown += piece
        elif process.poll() is not None:
            break
        if waiting and waiting[0][0].encode() in shown:
            os.write(primary, waiting.pop(0)[1].encode())
    os.close(primary)
    raw = shown.decode(errors="replace").replace("\r\n", "\n")
    assert process.wait(timeout=10) == status, (words, raw)
    assert not waiting, ("never shown", waiting, raw)
    return SimpleNamespace(raw=raw, text=ESCAPES.sub("", raw))

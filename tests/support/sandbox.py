"""The sandbox of evaluations: whether it can be made on this machine."""

import shutil
import subprocess

import pytest


def sandbox_works():
    """Whether bubblewrap may make namespaces here: not below the default seccomp filter of Docker, for example."""
    words = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    return shutil.which("bwrap") and subprocess.run(words, capture_output=True, check=False).returncode == 0


needs_sandbox = pytest.mark.skipif(not sandbox_works(), reason="bubblewrap is missing or may make no namespaces here")

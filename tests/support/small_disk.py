"""A disk that is full when a test says so: a small file system in memory."""

import os
import subprocess

import pytest

MIB = 1024 * 1024


class Disk:
    """A tmpfs that is filled by a file of its own."""

    def __init__(self, place, size):
        self.place = place
        self.filler = place / "filler"
        place.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tarn-test", place],
            capture_output=True,
            text=True,
            check=False,
        )
        if mounted.returncode != 0:
            pytest.skip(f"this machine mounts no tmpfs: {mounted.stderr.strip()}")

    def free(self):
        room = os.statvfs(self.place)
        return room.f_bavail * room.f_frsize

    def fill(self, leave=0):
        block = os.statvfs(self.place).f_frsize
        with open(self.filler, "ab", buffering=0) as filler:
            while self.free() > leave:
                filler.write(b"\0" * min(MIB, max(block, self.free() - leave)))

    def make_room(self):
        self.filler.unlink()

    def mount_again(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.place], check=True)

    def unmount(self):
        subprocess.run(["umount", self.place], check=True)

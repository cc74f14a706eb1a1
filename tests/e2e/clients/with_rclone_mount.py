"""rclone mount: a repository mounted as a directory, files written back when they are closed."""

import os
import subprocess
import time
from pathlib import Path

import mounted
import rclone_verbs

NAME = "rclone mount 1.75.2"
ENVIRONMENT = "light"
NEEDS = "/dev/fuse"
NOT_OFFERED = {
    "repositories": "a mount is one bucket",
    "made_bucket": "a mount is one bucket",
    "presign": "a mount gives no URLs",
    "from_tag": "finds only what the listing of the root has; repository/tag itself can be mounted",
    "from_commit": "finds only what the listing of the root has; repository/commit itself can be mounted",
    "write_to_tag": "finds only what the listing of the root has",
}

UPLOAD_SECONDS = 60
mounts = {}


def mount(box, name, what):
    directory = Path(box.scratch) / name
    directory.mkdir(exist_ok=True)
    mounts[directory] = subprocess.Popen(
        [
            f"{box.programs}/rclone",
            "--config",
            str(rclone_verbs.configuration(box)),
            "mount",
            f"tarn:{what}",
            str(directory),
            "--vfs-cache-mode",
            "writes",
            "--vfs-write-back",
            "0s",
            "--cache-dir",
            f"{box.scratch}/cache",
        ]
    )
    mounted.wait_for_mount(directory, mounts[directory])
    return directory


def stop(_box):
    while mounts:
        mounted.unmount(*mounts.popitem())


class RcloneMount(mounted.Mount):
    """Files are written back after they are closed."""

    def __init__(self, box):
        super().__init__(mount(box, "mount", box.repo))
        self.box = box

    def put(self, files):
        super().put(files)
        expected = {key: os.path.getsize(path) for key, path in files.items()}
        deadline = time.monotonic() + UPLOAD_SECONDS
        while expected.items() - rclone_verbs.sizes(self.box, "dev/").items():
            assert time.monotonic() < deadline, "not written back in time"
            time.sleep(0.05)


def fresh(box):
    """Mounted anew: listings are kept for minutes, and the checks write to the repository beside the mount."""
    stop(box)
    return RcloneMount(box)


globals().update(mounted.forwarded(fresh))


def also_mounts_a_tag(box):
    directory = mount(box, "tag", f"{box.repo}/v1.0")
    assert sorted(path.name for path in directory.iterdir()) == ["large.bin", "small.txt", "tree"]
    try:
        (directory / "small.txt").unlink()
        raise AssertionError("deleted from a tag")
    except OSError:
        assert (directory / "small.txt").stat().st_size == 100

"""s3fs-fuse: a repository mounted as a directory; three HEADs for each absent name, copies of an object onto itself."""

import functools
import subprocess
from pathlib import Path

import mounted

NAME = "s3fs-fuse 1.90"
ENVIRONMENT = "system"
NEEDS = "/dev/fuse"
QUIET = "a file system answers with the numbers of errno only"
NOT_OFFERED = {
    "repositories": "a mount is one bucket",
    "made_bucket": "a mount is one bucket",
    "presign": "a mount gives no URLs",
}

running = {}


@functools.cache
def mount(box):
    directory = Path(box.scratch) / "mount"
    directory.mkdir()
    keys = box.write("passwd-s3fs", f"{box.access_key}:{box.secret_key}\n")
    keys.chmod(0o600)
    running["process"] = subprocess.Popen(
        [
            "/usr/bin/s3fs",
            box.repo,
            str(directory),
            "-f",
            "-o",
            f"url={box.url},use_path_request_style,endpoint=us-east-1,passwd_file={keys},retries=1",
        ]
    )
    mounted.wait_for_mount(directory, running["process"])
    return mounted.Mount(directory)


def stop(box):
    if running:
        mounted.unmount(Path(box.scratch) / "mount", running["process"])


globals().update(mounted.forwarded(mount))

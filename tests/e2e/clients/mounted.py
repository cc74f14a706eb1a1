"""Checks of both mounts of a repository as a directory, with the verbs of the operating system."""

import os
import shutil
import subprocess
import time
from pathlib import Path

MOUNT_SECONDS = 20


def wait_for_mount(directory, process):
    deadline = time.monotonic() + MOUNT_SECONDS
    while not os.path.ismount(directory):
        assert process.poll() is None, f"the mount ended with {process.returncode}"
        assert time.monotonic() < deadline, "not mounted in time"
        time.sleep(0.02)


def unmount(directory, process):
    subprocess.run(["fusermount3", "-u", str(directory)], check=True)
    process.wait(MOUNT_SECONDS)


class Mount:
    """The verbs over a directory where the repository is mounted."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def put(self, files):
        for key, path in files.items():
            (self.directory / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.directory / key)

    def get(self, files):
        for key, path in files.items():
            shutil.copyfile(self.directory / key, path)

    def get_range(self, key, first, count):
        with open(self.directory / key, "rb", buffering=0) as file:
            file.seek(first)
            return file.read(count)

    def list_directory(self, prefix):
        return [prefix + entry.name + ("/" if entry.is_dir() else "") for entry in os.scandir(self.directory / prefix)]

    def list_all(self, prefix):
        return [
            str((Path(folder) / name).relative_to(self.directory))
            for folder, _, names in os.walk(self.directory / prefix)
            for name in names
        ]

    def rename(self, source, target):
        os.rename(self.directory / source, self.directory / target)

    def delete_directory(self, prefix):
        shutil.rmtree(self.directory / prefix)

    def delete(self, keys):
        for key in keys:
            os.unlink(self.directory / key)

    def refused(self, key, path):
        try:
            shutil.copyfile(path, self.directory / key)
        except OSError as error:
            return str(error)
        return None


def forwarded(mount_of):
    """The verbs as functions of a client's file."""

    def verb(name):
        return lambda box, *arguments: getattr(mount_of(box), name)(*arguments)

    return {name: verb(name) for name in vars(Mount) if not name.startswith("_")}

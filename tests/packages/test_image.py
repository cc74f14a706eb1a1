"""The OCI image under runc, as a cluster would run it: no root, no capability, a file system that is read-only."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
import requests
from fresh_debian import run

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import servers  # noqa: E402

IMAGE_BYTES_MAX = 150_000_000
SECONDS = 60
USER = 10001

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("mmdebstrap", "umoci", "runc"))),
    reason="making and running an image takes root, mmdebstrap, umoci and runc",
)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """(archive, version)"""
    place = tmp_path_factory.mktemp("image")
    run(sys.executable, ROOT / "packaging" / "packages.py", "--out", place)
    run("/usr/bin/python3", ROOT / "packaging" / "image.py", "--packages", place)
    (archive,) = place.glob("*-image.tar")
    return archive, archive.name.removeprefix("tarn-").removesuffix("-image.tar")


@pytest.fixture(scope="module")
def bundle(image, tmp_path_factory):
    place = tmp_path_factory.mktemp("bundle")
    with tarfile.open(image[0]) as archive:
        archive.extractall(place / "layout")
    run("umoci", "unpack", "--image", f"{place / 'layout'}:{image[1]}", place / "bundle")
    return place / "bundle"


class Container:
    """The image with the network of this machine."""

    def __init__(self, bundle, data):
        self.name, self.bundle, self.data = f"tarn-test-{os.getpid()}", bundle, data
        self.log = data.parent / "container.log"
        self.port = servers.free_port()
        config = json.loads((bundle / "config.json").read_text())
        self.user = config["process"]["user"]
        config["root"]["readonly"] = True
        config["process"].update(terminal=False, noNewPrivileges=True)
        config["process"]["env"].append(f"TARN_LISTEN=127.0.0.1:{self.port}")
        config["process"]["capabilities"] = {
            kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")
        }
        config["mounts"] = [
            mount for mount in config["mounts"] if mount["destination"] not in ("/var/lib/tarn", "/tmp", "/sys/fs/cgroup")
        ]
        config["mounts"] += [
            {"destination": "/var/lib/tarn", "type": "bind", "source": str(data), "options": ["rbind", "rw"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
        ]
        config["linux"]["namespaces"] = [space for space in config["linux"]["namespaces"] if space["type"] != "network"]
        (bundle / "config.json").write_text(json.dumps(config))

    def start(self):
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                ["runc", "run", "-b", str(self.bundle), self.name], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + SECONDS
        while self.ready() != 200:
            assert self.child.poll() is None and time.monotonic() < deadline, self.log.read_text()[-3000:]
            time.sleep(0.2)
        return self

    def ready(self):
        try:
            return requests.get(f"http://127.0.0.1:{self.port}/_ready", timeout=5).status_code
        except OSError:
            return 0

    def exec(self, *command):
        return run("runc", "exec", self.name, *command).stdout

    def stop(self):
        subprocess.run(["runc", "kill", self.name, "TERM"], check=True)
        return self.child.wait(SECONDS)


@pytest.fixture(scope="module")
def container(bundle):
    place = servers.scratch_directory("image")
    data = place / "data"
    data.mkdir(mode=0o700)
    os.chown(data, USER, USER)
    container = Container(bundle, data).start()
    yield container
    if container.child.poll() is None:
        container.stop()
    shutil.rmtree(place)


def test_it_is_small_and_says_what_it_is(image, bundle):
    size = sum(path.lstat().st_size for path in (bundle / "rootfs").rglob("*") if path.is_file() and not path.is_symlink())
    assert size < IMAGE_BYTES_MAX and image[0].stat().st_size < IMAGE_BYTES_MAX / 2, (size, image[0].stat().st_size)
    layout = bundle.parent / "layout"
    manifest = json.loads(
        (
            layout / "blobs" / json.loads((layout / "index.json").read_text())["manifests"][0]["digest"].replace(":", "/")
        ).read_text()
    )
    blob = layout / "blobs" / manifest["config"]["digest"].replace(":", "/")
    assert manifest["config"]["digest"] == "sha256:" + hashlib.sha256(blob.read_bytes()).hexdigest()
    config = json.loads(blob.read_text())["config"]
    assert config["User"] == f"{USER}:{USER}" and config["Entrypoint"] == ["/usr/sbin/tarnd"]
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/sbin/tarnd", "--probe"]
    assert config["Labels"]["org.opencontainers.image.version"] == image[1]


def test_nothing_in_it_gives_privileges(bundle):
    for path in (bundle / "rootfs").rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert path.stat().st_mode & 0o6000 == 0, path


def test_it_serves_without_root_capabilities_and_writable_files(container):
    assert container.user == {"uid": USER, "gid": USER}
    assert container.exec("/usr/sbin/tarnd", "--probe") == "ready\n"
    assert "permission denied" not in container.log.read_text().lower()
    text = (container.data / "admin-credentials").read_text()
    key, secret = (re.search(rf"{name}: (.*)", text).group(1) for name in ("access_key_id", "secret_access_key"))
    rest = f"http://127.0.0.1:{container.port}/api/v1"
    made = requests.post(
        f"{rest}/repositories", auth=(key, secret), json={"name": "lake", "storage_namespace": "local://lake"}, timeout=60
    )
    assert made.status_code == 201, made.text
    sent = requests.post(
        f"{rest}/repositories/lake/branches/main/objects?path=a",
        auth=(key, secret),
        data=b"bytes",
        timeout=60,
        headers={"Content-Type": "application/octet-stream"},
    )
    assert sent.status_code == 201, sent.text


def test_it_ends_cleanly_and_keeps_its_data(container):
    assert container.stop() == 0, container.log.read_text()[-3000:]
    container.start()
    text = (container.data / "admin-credentials").read_text()
    key, secret = (re.search(rf"{name}: (.*)", text).group(1) for name in ("access_key_id", "secret_access_key"))
    read = requests.get(
        f"http://127.0.0.1:{container.port}/api/v1/repositories/lake/refs/main/objects?path=a", auth=(key, secret), timeout=60
    )
    assert read.content == b"bytes"

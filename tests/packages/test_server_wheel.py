"""The wheel of a server in a fresh Debian that has Python alone, without a network: installed by pip, started, used by its command."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from fresh_debian import CACHE, MIRRORS, SUITE, run

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a system and its namespaces")
# 8 on two cores that other work shares.
FIRST_PAGE_SECONDS = 30
BOX = r"""
set -e
root=$1
shift
mount --make-rprivate /
mount -t proc proc "$root/proc"
for name in null zero urandom; do
  touch "$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir -p "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
ip link set lo up
exec chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""

# A newcomer types this. The first line of its output says how long it took until the page was there.
SCRIPT = r"""
set -e
cd
umask 077
python3 -m venv venv
venv/bin/pip install --quiet --no-index /tmp/tarn_server-*.whl
PATH=$PWD/venv/bin:$PATH
began=$(date +%s.%N)
tarn-server > log 2>&1 &
python3 - "$began" <<'PY'
import sys, time, urllib.request
for _ in range(1200):
    try:
        page = urllib.request.urlopen("http://127.0.0.1:8000/", timeout=5).read().decode()
        break
    except OSError:
        page = "none"
        time.sleep(0.05)
print("seconds", round(time.time() - float(sys.argv[1]), 1), "html" if "<html" in page else page)
PY
cat log
for try in 1 2 3 4 5 6 7 8 9; do grep -q '^ *export' log && break; sleep 0.3; done
eval "$(grep '^ *export' log)"
tarn repo create tarn://first
echo hello | tarn fs upload - tarn://first/main/a.txt
tarn fs cat tarn://first/main/a.txt
python3 - <<'PY'
import re, urllib.request
for name in re.findall('href="(.*?)"', urllib.request.urlopen("http://127.0.0.1:8000/downloads/").read().decode()):
    print("offers", name)
PY
venv/bin/pip install --quiet --no-index --no-deps http://127.0.0.1:8000/downloads/tarn_data-VERSION-py3-none-any.whl
venv/bin/pip freeze --all | grep tarn-data
awk '$4 == "0A" {print "listens", $2}' /proc/net/tcp /proc/net/tcp6
kill $!
wait $! || true
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("packages")
    run(sys.executable, ROOT / "packaging" / "packages.py", "--out", out, "--build", "1")
    (found,) = out.glob("tarn_server-*.whl")
    return found


def python_system(root):
    """Fills the directory with a system that has Python and no PostgreSQL."""
    archive = CACHE / f"debian-{SUITE}-python.tar"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = archive.with_suffix(".unfinished.tar")
        run("mmdebstrap", "--variant=minbase", "--include=python3-venv", SUITE, unfinished, *MIRRORS)
        unfinished.rename(archive)
    root.mkdir()
    for path in (root, *list(root.parents)[:3]):
        path.chmod(0o755)
    run("tar", "-C", root, "-xf", archive)
    return root


@pytest.fixture(scope="module")
def system(tmp_path_factory, wheel):
    """The directory of a system with Python, a user, no time zones, no PostgreSQL and no account for it."""
    root = python_system(tmp_path_factory.mktemp("system") / "root")
    shutil.rmtree(root / "usr/share/zoneinfo")
    shutil.copy(wheel, root / "tmp")
    inside(root, "useradd", "--create-home", "--home-dir", "/srv/ann", "ann")
    yield root
    shutil.rmtree(root)


def inside(root, *command):
    return run("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", BOX, "box", root, *command)


def used_by(system, user):
    (system / "tmp" / f"{user}.sh").write_text(SCRIPT.replace("VERSION", (ROOT / "VERSION").read_text().strip()))
    words = ["su", "-", user, "-c", f"sh /tmp/{user}.sh"] if user != "root" else ["sh", "/tmp/root.sh"]
    return inside(system, *words).stdout


@pytest.mark.parametrize("user, data", [("ann", "/srv/ann/tarn-data"), ("root", "/var/lib/tarn")])
def test_a_newcomer_has_a_server_and_its_page(system, user, data):
    out = used_by(system, user)
    seconds, page = re.search(r"^seconds (\S+) (.*)", out, re.MULTILINE).groups()
    assert page == "html" and float(seconds) < FIRST_PAGE_SECONDS, out
    assert "\nhello\n" in out, out
    version = (ROOT / "VERSION").read_text().strip()
    assert {f"tarn_data-{version}-py3-none-any.whl", f"tarn_{version}~dev1_amd64.deb"} == set(
        re.findall(r"^offers (.*)", out, re.MULTILINE)
    )
    assert "\ntarn-data @ http" in out, out
    assert re.findall(r"^listens (.*)", out, re.MULTILINE) == ["0100007F:1F40"], "127.0.0.1:8000 and nothing else"
    assert (system / data.lstrip("/") / "pg" / "15" / "PG_VERSION").exists()
    print(f"{user}: first page after {seconds} s")

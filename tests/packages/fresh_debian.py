"""A fresh Debian in a directory, and its systemd as process 1 of namespaces of its own."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

SUITE = "bookworm"
MIRRORS = [f"deb http://deb.debian.org/debian {SUITE} main", f"deb http://deb.debian.org/debian-security {SUITE}-security main"]
# Those that the systemd of a fresh system needs to be started here.
INCLUDED = "ca-certificates,systemd,systemd-sysv,dbus"
CACHE = Path(os.environ.get("TARN_CACHE", Path.home() / ".cache" / "tarn"))
BOOT_SECONDS = 90

# Hierarchies of control groups in which a test gets a group of its own, as far as they are mounted.
CGROUPS = [
    path
    for path in (Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
    if (path / "cgroup.procs").exists()
]

BOOT = r"""
set -e
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
  touch "$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
if [ -d /sys/fs/cgroup/systemd ]; then
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd" "$root/sys/fs/cgroup/unified"
  mount -t cgroup -o none,name=systemd,xattr cgroup "$root/sys/fs/cgroup/systemd"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
else
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
ip link set lo up
exec chroot "$root" env -i container=tarn-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --show-status=false --unit=multi-user.target
"""


def run(*command, check=True, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, cwd="/", **options)
    if check and done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return done


def base_archive():
    """A tar archive of a fresh system, made once."""
    archive = CACHE / f"debian-{SUITE}-{INCLUDED.replace(',', '-')}.tar"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = archive.with_suffix(".unfinished.tar")
        run("mmdebstrap", "--variant=minbase", f"--include={INCLUDED}", SUITE, unfinished, *MIRRORS)
        unfinished.rename(archive)
    return archive


class FreshDebian:
    def __init__(self, directory):
        self.root = Path(directory)
        self.group = f"tarn-test-{os.getpid()}"
        self.child = None
        self.root.mkdir(parents=True)
        run("tar", "-C", self.root, "-xf", base_archive())
        shutil.copyfile("/etc/resolv.conf", self.root / "etc/resolv.conf")
        # Nothing of the network may decide whether this machine starts, and no other server is wanted.
        for unit in ("systemd-timesyncd.service", "systemd-networkd.service", "systemd-resolved.service"):
            (self.root / "etc/systemd/system" / unit).symlink_to("/dev/null")
        (self.root / "etc/postgresql-common").mkdir(exist_ok=True)
        (self.root / "etc/postgresql-common/createcluster.conf").write_text("create_main_cluster = false\n")

    def install(self, *packages):
        """Before boot: with the network of this machine. Packages are files or names."""
        copies = []
        for package in packages:
            if isinstance(package, Path):
                shutil.copy(package, self.root / "tmp")
                package = f"/tmp/{package.name}"
            copies.append(package)
        for command in ("apt-get update -qq", f"apt-get install -y -q {' '.join(copies)}"):
            run(
                "unshare",
                "--mount",
                "--fork",
                "sh",
                "-ec",
                'mount -t proc proc "$1/proc"; exec chroot "$1" sh -c "$2"',
                "sh",
                self.root,
                f"export DEBIAN_FRONTEND=noninteractive; {command}",
            )

    def boot(self):
        def enter_group():
            for hierarchy in CGROUPS:
                (hierarchy / self.group).mkdir(exist_ok=True)
                (hierarchy / self.group / "cgroup.procs").write_text("0")

        self.child = subprocess.Popen(
            [
                "unshare",
                "--cgroup",
                "--mount",
                "--pid",
                "--ipc",
                "--uts",
                "--net",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                BOOT,
                "boot",
                str(self.root),
            ],
            preexec_fn=enter_group,  # noqa: PLW1509 - no other thread runs
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + BOOT_SECONDS
        while (state := self.run("systemctl", "is-system-running", check=False).stdout.strip()) not in ("running", "degraded"):
            if self.child.poll() is not None:
                raise RuntimeError(f"systemd ended: {self.child.stderr.read().decode()}")
            assert time.monotonic() < deadline, state
            time.sleep(0.5)
        return self

    def first_process(self):
        found = run("pgrep", "-P", self.child.pid, check=False).stdout.split()
        return found[0] if found else "0"

    def run(self, *command, check=True, **options):
        """In the running system."""
        return run(
            "nsenter",
            "-t",
            self.first_process(),
            "-m",
            "-p",
            "-i",
            "-u",
            "-n",
            "-C",
            "-r",
            "-w/",
            *command,
            check=check,
            **options,
        )

    def shell(self, script, check=True):
        return self.run("sh", "-c", script, check=check)

    def stop(self):
        if self.child:
            first = self.first_process()
            if first != "0":
                os.kill(int(first), signal.SIGKILL)  # the whole namespace ends with it
            self.child.wait(30)
            self.child.stderr.close()
            self.child = None
        for hierarchy in CGROUPS:
            groups = sorted((hierarchy / self.group).rglob("*"), key=lambda path: -len(path.parts))
            for group in [*(path for path in groups if path.is_dir()), hierarchy / self.group]:
                for _ in range(50):  # members leave a moment after their end
                    try:
                        group.rmdir()
                        break
                    except FileNotFoundError:
                        break
                    except OSError:
                        time.sleep(0.1)

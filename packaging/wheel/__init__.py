"""The programs of a Tarn server, and the PostgreSQL that it runs, as pip installs them."""

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# Root's repositories, and its copies of programs that lie where the account of PostgreSQL cannot go.
ROOT_DATA = Path("/var/lib/tarn")
ROOT_COPIES = Path("/var/lib/tarn-programs")


def is_barred(path):
    """Whether a directory on the way to `path` is closed to other accounts, as the home of root is."""
    return any(not step.stat().st_mode & stat.S_IXOTH for step in (path, *path.parents))


def reachable(package):
    """The package, or a copy of it, where the account that runs PostgreSQL for root can read it."""
    if os.geteuid() != 0 or not is_barred(package):
        return package
    copy = ROOT_COPIES / (package / "digest").read_text().strip()
    if not copy.exists():
        ROOT_COPIES.mkdir(parents=True, exist_ok=True)
        ROOT_COPIES.chmod(0o755)
        unfinished = Path(tempfile.mkdtemp(dir=ROOT_COPIES, prefix="unfinished-"))
        try:
            made = shutil.copytree(package, unfinished / "copy", ignore=shutil.ignore_patterns("__pycache__"))
            for path in (made, *made.rglob("*")):
                mode = stat.S_IMODE(path.stat().st_mode)
                path.chmod(mode | (mode & 0o500) >> 6)  # what the owner may read, others may
            made.rename(copy)
        except OSError:
            if not copy.exists():  # by another process that was faster
                raise
        finally:
            shutil.rmtree(unfinished)
    return copy


def become(program, package=PACKAGE):
    """Becomes the program: its output, exit status and signals are its own."""
    path = package / "lib" / "tarn" / program
    os.execv(path, [str(path), *sys.argv[1:]])


def tarn():
    become("tarn")


def tarnd():
    become("tarnd", reachable(PACKAGE))


def tarn_server():
    """tarnd; root, whose working directory PostgreSQL often cannot enter, has its data in a directory of the system."""
    if os.geteuid() == 0 and not any(word.startswith("--config") for word in sys.argv):
        os.environ.setdefault("TARN_DATA", str(ROOT_DATA))
    tarnd()

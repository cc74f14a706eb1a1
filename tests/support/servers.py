"""Real servers for end-to-end tests and the demo: tarnd and versitygw, each a process with a directory of its own."""

import atexit
import contextlib
import functools
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

START_SECONDS = 60
STOP_SECONDS = 40
POLL_SECONDS = 0.02
SERVER_PORTS = range(20_000, 32_000)
# Of servers that tests kill: the next one waits until the leases of the dead one have expired. 30 s unless set.
LEASE_SECONDS = 6
SHORT_LEASE = {"TARN_LEASE_SECONDS": LEASE_SECONDS}
ROOT = Path(__file__).resolve().parents[2]
POSTGRES_PROGRAMS = Path("/usr/lib/postgresql/15/bin")
MEMORY = Path("/dev/shm")
MEMORY_BYTES_MIN = 8 << 30


def program(name):
    """build/bin/NAME, or below TARN_BIN."""
    return str(Path(os.environ.get("TARN_BIN", ROOT / "build" / "bin")) / name)


def scratch_directory(name, on_disk=False):
    """A new directory that the system user "postgres" can reach; temporary ones are closed to others by default.

    In memory where there is plenty: on a disk, tests mostly wait for fsync. They kill processes, never the machine.
    """
    place = MEMORY if not on_disk and memory_is_plenty() else "/var/tmp"
    path = Path(tempfile.mkdtemp(prefix=f"tarn-{name}-", dir=place))
    path.chmod(0o755)
    return path


def memory_is_plenty():
    """Also for libraries that tests compile and load, which a container's /dev/shm may refuse."""
    if not MEMORY.is_dir():
        return False
    room = os.statvfs(MEMORY)
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = min(room.f_bavail * room.f_frsize, int(lines["MemAvailable"].split()[0]) * 1024)
    return free >= MEMORY_BYTES_MIN and not room.f_flag & os.ST_NOEXEC


def clean_environment(extra):
    """Without the caller's TARN_ and LAKECTL_ settings, so that a test sees only what it sets."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TARN_", "LAKECTL_"))}
    kept.update({k: str(v) for k, v in extra.items()})
    return kept


def free_port():
    """Below those that the system gives to connections, so that none of them takes it before the server listens."""
    for port in random.sample(SERVER_PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("a hundred ports tried and none is free")


class Process:
    """A child with its output in a file; killed with its pid, never by name."""

    def __init__(self, command, log, environment):
        self.command = command
        self.log = Path(log)
        with open(self.log, "ab") as out:
            self.child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )
        self.pid = self.child.pid

    def alive(self):
        return self.child.poll() is None

    def tail(self, lines=30):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def wait_until(self, ready, what):
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if not self.alive():
                raise RuntimeError(f"{what} ended with {self.child.returncode} before it was ready:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} was not ready in {START_SECONDS} s:\n{self.tail()}")
            time.sleep(POLL_SECONDS)

    def stop(self, how=signal.SIGTERM):
        """Sends the signal and returns the exit status; kills when that takes too long, and says so."""
        if self.alive():
            self.child.send_signal(how)
        try:
            return self.child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise RuntimeError(f"{self.command[0]} did not stop in {STOP_SECONDS} s:\n{self.tail()}") from None


class Tarnd:
    """A tarnd with its data under `directory`; start() may be called again after stop() and finds the same data.

    `listen` is kept over restarts, so clients go on with the same URL.
    """

    access_key = "AKIATARNE2EADMIN0001"
    secret_key = "tarn-e2e-secret-key-with/slash+plus=0001"

    def __init__(self, directory, environment=None, arguments=(), listen="127.0.0.1:0", program=None):
        self.program = program
        self.directory = Path(directory)
        self.data_dir = self.directory / "data"
        self.import_root = self.directory / "import"
        self.import_root.mkdir(parents=True, exist_ok=True)
        self.ready_file = self.directory / "ready"
        self.environment = clean_environment(
            {
                "TARN_ADMIN_ACCESS_KEY_ID": self.access_key,
                "TARN_ADMIN_SECRET_ACCESS_KEY": self.secret_key,
                "TARN_STORE_LOCAL_IMPORT_ROOTS": self.import_root,
                "TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1",
                **(environment or {}),
            }
        )
        self.arguments = list(arguments)
        self.listen = listen
        self.url = None
        self.process = None

    @property
    def objects_dir(self):
        return self.data_dir / "objects"

    def copy_data_of(self, data_dir):
        """Begins with a copy of a stopped server's data; owners are kept, for PostgreSQL wants its own."""
        subprocess.run(["cp", "-a", str(data_dir), str(self.data_dir)], check=True)
        return self

    def start(self):
        self.ready_file.unlink(missing_ok=True)
        command = [
            self.program or program("tarnd"),
            "--listen",
            self.listen,
            "--data",
            str(self.data_dir),
            "--ready-file",
            str(self.ready_file),
            *self.arguments,
        ]
        self.process = Process(command, self.directory / "tarnd.log", self.environment)
        self.process.wait_until(self.ready_file.exists, "tarnd")
        self.url = self.ready_file.read_text().strip()
        self.listen = self.url.removeprefix("http://")
        return self

    def stop(self):
        """Ends it as an operator would, and demands a clean end."""
        status = self.process.stop()
        if status != 0:
            raise RuntimeError(f"tarnd ended with {status} on SIGTERM:\n{self.process.tail()}")

    def kill(self):
        self.process.stop(signal.SIGKILL)

    def kill_postgres(self):
        """kill -9 of the embedded PostgreSQL's postmaster."""
        os.kill(self.postmaster(), signal.SIGKILL)

    def postmaster(self):
        return int(next(self.data_dir.glob("pg/*/postmaster.pid")).read_text().splitlines()[0])

    def settle(self):
        """A server that changed rights itself knows them at once."""

    def pids(self):
        return [self.process.pid]

    def alive(self):
        return self.process.alive()

    def stored(self):
        """Objects of repositories in the local store, as {relative path: size}."""
        return files_below(self.objects_dir)


class Tarnds:
    """Several tarnds over one database and one local store; `url` hands request after request to each in turn."""

    access_key = Tarnd.access_key
    secret_key = Tarnd.secret_key

    def __init__(self, directory, count, environment=None):
        self.directory = Path(directory)
        self.objects_dir = self.directory / "objects"
        self.import_root = self.directory / "import"
        self.import_root.mkdir(parents=True, exist_ok=True)
        self.database = Postgres(self.directory / "postgres")
        shared = {
            "TARN_STORE_LOCAL_ROOT": self.objects_dir,
            "TARN_STORE_LOCAL_IMPORT_ROOTS": self.import_root,
            "TARN_AUTH_MASTER_KEY": "a5" * 32,
            **(environment or {}),
        }
        self.each = [
            Tarnd(self.directory / f"tarnd-{number}", environment=shared, arguments=["--database", self.database.url()])
            for number in range(1, count + 1)
        ]
        self.turns = None
        self.url = None

    def start(self):
        self.database.start()
        ready = self.directory / "ready"
        addresses = [server.start().listen for server in self.each]
        command = [sys.executable, str(ROOT / "tests/support/round_robin.py"), str(ready), *addresses]
        self.turns = Process(command, self.directory / "turns.log", dict(os.environ))
        self.turns.wait_until(lambda: ready.exists() and ready.read_text(), "round_robin.py")
        self.url = f"http://{ready.read_text()}"
        return self

    def stop(self):
        self.turns.stop()
        for server in self.each:
            server.stop()
        self.database.stop()

    def pids(self):
        return [pid for server in self.each for pid in server.pids()]

    def settle(self):
        """A server hears of rights that another has changed within a second."""
        time.sleep(1)

    def alive(self):
        return all(server.alive() for server in self.each)

    def stored(self):
        return files_below(self.objects_dir)


class Versitygw:
    """A real S3 server over a directory; a bucket is a directory below it."""

    access_key = "VGWTESTKEY0000000001"
    secret_key = "versitygw-secret-0001"
    region = "us-east-1"

    def __init__(self, directory):
        self.directory = Path(directory)
        self.buckets = self.directory / "buckets"
        self.buckets.mkdir(parents=True, exist_ok=True)
        self.process = None
        self.url = None

    def start(self):
        cache = os.environ.get("TARN_CACHE", str(Path.home() / ".cache" / "tarn"))
        binary = os.environ.get("VERSITYGW", f"{cache}/bin/versitygw")
        address = f"127.0.0.1:{free_port()}"
        command = [
            binary,
            "--access",
            self.access_key,
            "--secret",
            self.secret_key,
            "--region",
            self.region,
            "--port",
            address,
            "--quiet",
            "--keep-alive",
            "posix",
            str(self.buckets),
        ]
        self.process = Process(command, self.directory / "versitygw.log", dict(os.environ))
        self.url = f"http://{address}"
        self.process.wait_until(lambda: accepts(address), "versitygw")
        return self

    def stop(self):
        # It would wait for idle connections, and holds nothing that could be lost.
        self.process.stop(signal.SIGKILL)

    def tarnd_environment(self):
        return s3_store_of(self)

    def stored(self, bucket):
        return files_below(self.buckets / bucket)


class Minio:
    """A real S3 server of another make; `binary` is its program, which tests/e2e/clients/minio.go.txt pins."""

    access_key = "MINIOTESTKEY00000001"
    secret_key = "minio-test-secret-0001"
    region = "us-east-1"

    def __init__(self, directory, binary):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.binary = str(binary)
        self.process = None
        self.url = None

    def start(self):
        address, console = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        environment = clean_environment(
            {
                "HOME": self.directory,
                "MINIO_ROOT_USER": self.access_key,
                "MINIO_ROOT_PASSWORD": self.secret_key,
                "MINIO_UPDATE": "off",
                "MINIO_BROWSER": "off",
            }
        )
        command = [
            self.binary,
            "server",
            "--quiet",
            "--address",
            address,
            "--console-address",
            console,
            str(self.directory / "drive"),
        ]
        self.process = Process(command, self.directory / "minio.log", environment)
        self.url = f"http://{address}"
        self.process.wait_until(lambda: answers(f"{self.url}/minio/health/ready"), "minio")
        return self

    def stop(self):
        self.process.stop()

    def tarnd_environment(self):
        return s3_store_of(self)


class Moto:
    """AWS services without AWS, all at one address; it keeps what it is told in memory and checks no signature."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.process = None
        self.url = None

    def start(self):
        port = free_port()
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        self.process = Process(command, self.directory / "moto.log", dict(os.environ))
        self.url = f"http://127.0.0.1:{port}"
        self.process.wait_until(lambda: accepts(f"127.0.0.1:{port}"), "moto")
        return self

    def stop(self):
        self.process.stop(signal.SIGKILL)


def s3_store_of(server):
    """The settings of a tarnd that keeps its objects there."""
    return {
        "TARN_STORE_S3_ENDPOINT": server.url,
        "TARN_STORE_S3_REGION": server.region,
        "TARN_STORE_S3_ACCESS_KEY_ID": server.access_key,
        "TARN_STORE_S3_SECRET_ACCESS_KEY": server.secret_key,
    }


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def accepts(address):
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 1).close()
        return True
    except OSError:
        return False


def files_below(directory):
    """{relative path: size} of the regular files; bookkeeping of the servers (.sgwtmp, .tarn, records of owners) left out."""
    found = {}
    for folder, folders, names in os.walk(directory):
        folders[:] = [
            name for name in folders if not name.startswith(".") and not f"{folder}/{name}".endswith("/_tarn/collector")
        ]
        for name in names:
            path = Path(folder) / name
            if not name.startswith("."):
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    found[str(path.relative_to(directory))] = path.stat().st_size
    return found


class Postgres:
    """A PostgreSQL cluster of its own, for servers that share a database. Runs as the user "postgres" under root."""

    fsync = "off"  # measurements want it on

    def __init__(self, directory):
        self.directory = Path(directory)
        self.port = free_port()
        self.process = None

    def url(self, database="tarn"):
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self):
        self.make_directory()
        subprocess.run(["cp", "-a", str(self.template()), str(self.directory / "data")], check=True)
        self.launch()
        return self

    def make_directory(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o777)

    @staticmethod
    @functools.cache
    def template():
        """A stopped cluster with an empty database "tarn", of which copies begin in a tenth of the time."""
        directory = scratch_directory("cluster")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        made = Postgres(directory)
        made.make_directory()
        data = made.directory / "data"
        make_cluster(data)
        made.launch()
        create_database(made.port)
        made.stop()
        return data

    def launch(self):
        """Over the data that are there: the first start, or the one after crash().

        Without fsync: tests kill processes, and what a process has written outlives it.
        """
        data = self.directory / "data"
        command = as_postgres(
            [
                POSTGRES_PROGRAMS / "postgres",
                "-D",
                data,
                "-p",
                self.port,
                "-k",
                self.directory,
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                f"fsync={self.fsync}",
            ]
        )
        self.process = Process(command, self.directory / "postgres.log", dict(os.environ))
        self.process.wait_until(lambda: accepts(f"127.0.0.1:{self.port}") and self.answers(), "PostgreSQL")

    def crash(self):
        """Ends it at once, as a failing machine would; launch() recovers it from its log."""
        self.process.stop(signal.SIGQUIT)

    def answers(self):
        ready = [POSTGRES_PROGRAMS / "pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port]
        return subprocess.run([str(word) for word in ready], check=False).returncode == 0

    def ask(self, statement):
        """The rows of its answer, columns with commas between them."""
        command = [str(POSTGRES_PROGRAMS / "psql"), "-X", "-A", "-t", "-q", "-F", ",", "-d", self.url(), "-c", statement]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    def stop(self):
        # setpriv execs, so the pid is PostgreSQL's own; SIGINT is its fast shutdown.
        self.process.stop(signal.SIGINT)


def make_cluster(data):
    run_as_postgres(
        [
            POSTGRES_PROGRAMS / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
        ]
    )


def create_database(port):
    run_as_postgres([POSTGRES_PROGRAMS / "createdb", "-h", "127.0.0.1", "-p", port, "-U", "postgres", "tarn"])


def as_postgres(command):
    words = [str(word) for word in command]
    if os.geteuid() != 0:
        return words
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]


def run_as_postgres(command):
    subprocess.run(as_postgres(command), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/")

"""Fixtures: servers for the whole session, and a fresh repository for each test."""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import client_coverage
import clients
import command
import lakefs
import left_to_ci
import openapi
import primary_pair
import python_gc
import sdk as sdk_clients
import servers
from hook_receiver import receiver  # noqa: F401
from long_tests import LONG
from python_package import installed, package, package_settings  # noqa: F401
from users import auth, make_user  # noqa: F401

openapi.check_all_answers()
client_coverage.watch()

# Neither our shell's settings nor a developer's home directory may steer the clients.
for name in list(os.environ):
    if name.startswith(("AWS_", "LAKECTL_", "LAKEFS_")) or name in ("TARN_ENDPOINT", "TARN_ACCESS_KEY", "TARN_CONFIG"):
        del os.environ[name]
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"


def pytest_addoption(parser):
    parser.addoption("--write-coverage", action="store_true", help="write the generated pages of docs/ from this run")
    parser.addoption("--write-matrix", action="store_true", help="write the table of S3 clients from this run")
    parser.addoption("--clients", choices=["light", "heavy", "all"], default="light", help="which of clients/ run")
    parser.addoption("--servers", type=int, default=1, help="how many servers take turns; only tests that use them run")


# By the time that they take. Long files begin first: one that begins last leaves the other processes idle.
LONGEST_FILES = [
    f"test_{name}.py"
    for name in (
        "matrix",
        "store_cache",
        "lost_writes",
        "collection_kill",
        "promotion_wait",
        "backup",
        "collection_clock",
        "in_doubt",
        "promotion_kill",
        "process",
        "revocation_clock",
        "collection_races",
        "promotion_recipes",
        "hooks",
        "promotion_approvals",
        "at_once",
        "garbage_collection",
        "bad_input",
        "promotion",
        "bad_bodies",
        "store_owner",
        "clock_apart",
        "checks",
        "verify",
        "webhooks",
        "the_bar",
        "kill",
        "every_route",
        "store_faults",
        "notebook",
        "who_measured",
        "approvals",
        "full_disk",
        "s3_multipart_life",
        "nobody_stops_the_better_one",
        "what_was_judged",
        "permissions",
        "ci_recipes",
        "collection_full_disk",
        "collection_stores",
        "read_leases",
        "path_log",
        "cli",
        "s3_buckets",
        "s3_conformance",
        "histories",
        "oracle",
        "s3_versions",
        "lua_exports",
        "examples",
        "python_package",
        "imports",
        "readiness",
        "dogs_flow",
        "race",
        "archive",
        "dev_run",
        "operating",
        "branch_cleanup",
        "requests_and_names",
        "s3_faults",
    )
]


def is_counted(item):
    """Whether client-coverage.md counts the calls of this test."""
    return item.path.name.startswith("test_sdk_")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """The table is compared last, and only when every test that it counts runs."""
    left_to_ci.leave(items)
    if config.option.servers > 1:
        items[:] = [item for item in items if "tarn" in item.fixturenames]
    place = {name: number for number, name in enumerate(LONGEST_FILES)}
    items.sort(key=lambda item: -1 if is_counted(item) else place.get(item.path.name, len(place)))
    last = [item for item in items if item.path.name == "test_client_coverage.py"]
    items[:] = [item for item in items if item not in last] + last
    files = {item.path.name for item in items if is_counted(item)}
    every = {path.name for path in Path(__file__).parent.glob("sdk/test_sdk_*.py")}
    chosen = config.option.keyword or config.option.markexpr or any("::" in argument for argument in config.args)
    if chosen or files != every:
        items[:] = [item for item in items if "this_run" not in item.name]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With -n, a file's tests stay together; those that client-coverage.md counts are one file here."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            counted = Path(file).name.startswith(("test_sdk_", "test_client_coverage"))
            return "counted" if counted else file

    config.option.loadscopereorder = False  # it would put files of few tests last, however long they take
    return Files(config, log)


def pytest_collection_finish():
    python_gc.spare_modules()
    # For examples and recipes, which run where they are. Set any earlier, each process of each run would compile all tests.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


@pytest.fixture(autouse=True)
def counted_calls(request):
    client_coverage.recording = is_counted(request.node)
    yield
    client_coverage.recording = False


def scratch(name, on_disk=False):
    directory = servers.scratch_directory(name, on_disk)
    yield directory
    if os.environ.get("TARN_TEST_KEEP") == "1":
        print(f"\nkept {directory}", file=sys.stderr)
    else:
        # Some tests leave 10^5 files, which take minutes to delete under load; the next tests need not wait.
        removals.append(subprocess.Popen(["nice", "-n", "19", "rm", "-rf", str(directory)]))


removals = []


def pytest_sessionfinish():
    for removal in removals:
        removal.wait()


@pytest.fixture(scope="session")
def session_scratch():
    yield from scratch("e2e")


@pytest.fixture(scope="session")
def made_pair(session_scratch):
    return primary_pair.Pair(session_scratch / "made-pair").make()


@pytest.fixture
def pair(made_pair, session_scratch):
    """A primary and its synchronous standby."""
    pair = primary_pair.Pair(session_scratch / f"pair-{time.monotonic_ns()}").start(made_pair)
    yield pair
    pair.stop()


@pytest.fixture(scope="session")
def disk_scratch():
    """For gigabytes, and for extended attributes, which users have in memory only since Linux 6.6."""
    yield from scratch("disk", on_disk=True)


@pytest.fixture
def scratch_dir():
    """For tests that start servers of their own."""
    yield from scratch("e2e")


@pytest.fixture(scope="session")
def initialised_data(session_scratch):
    """The data directory of a stopped, empty server: a copy of it starts in a fraction of the time."""
    server = servers.Tarnd(session_scratch / "template").start()
    server.stop()
    return server.data_dir


@pytest.fixture(scope="session")
def tarn(session_scratch, initialised_data, pytestconfig):
    """A tarnd as it comes: embedded PostgreSQL, objects in a local directory. With --servers N, N that take turns."""
    count = pytestconfig.getoption("--servers")
    place = session_scratch / "tarnd"
    server = servers.Tarnd(place).copy_data_of(initialised_data) if count == 1 else servers.Tarnds(place, count)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def versitygw(disk_scratch):
    """A real S3 server."""
    server = servers.Versitygw(disk_scratch / "versitygw").start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def tarn_s3(session_scratch, initialised_data, versitygw):
    """A tarnd whose objects live in versitygw, in the bucket "lake"."""
    clients.boto3_client(versitygw).create_bucket(Bucket="lake")
    server = servers.Tarnd(session_scratch / "tarnd-s3", environment=versitygw.tarnd_environment())
    server.copy_data_of(initialised_data).start()
    yield server
    server.stop()


@pytest.fixture
def two_tarnds(scratch_dir):
    """Two tarnds that share a database, objects and the master key."""
    database = servers.Postgres(scratch_dir / "postgres").start()
    shared = {"TARN_STORE_LOCAL_ROOT": scratch_dir / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32}
    both = [
        servers.Tarnd(scratch_dir / f"tarnd-{n}", arguments=["--database", database.url()], environment=shared) for n in (1, 2)
    ]
    try:
        yield [server.start() for server in both]
        for server in both:
            server.stop()
    finally:
        database.stop()


@pytest.fixture(scope="module")
def database(request, session_scratch):
    """A PostgreSQL of the file's own, for servers that are killed."""
    made = servers.Postgres(session_scratch / f"{request.module.__name__}-postgres").start()
    yield made
    made.stop()


@pytest.fixture
def start_tarnd(scratch_dir, database):
    """Starts servers over `database`, each with a fault point if it is named; those that still live are stopped."""
    made = []

    def start(fault=None):
        environment = {
            "TARN_STORE_LOCAL_ROOT": database.directory / "objects",
            "TARN_AUTH_MASTER_KEY": "a5" * 32,
            **servers.SHORT_LEASE,
        }
        if fault:
            environment["TARN_FAULT_POINT"] = fault
        server = servers.Tarnd(
            scratch_dir / f"tarnd-{len(made)}", arguments=["--database", database.url()], environment=environment
        )
        made.append(server)
        return server.start()

    yield start
    for server in made:
        if server.process is not None and server.alive():
            server.stop()


@pytest.fixture
def name(request):
    """A repository name that no other test uses, with the test's own in it."""
    plain = "".join(c if c.isalnum() else "-" for c in request.node.name.lower())
    return f"{plain[:40].strip('-')}-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def client(tarn):
    return clients.lakefs_client(tarn)


@pytest.fixture
def repo(client, name):
    return lakefs.repository(name, client=client).create(storage_namespace=f"local://{name}")


@pytest.fixture
def cli(tarn, repo, tmp_path):
    """The command, with a home directory of its own; short names mean `repo`."""
    return command.Cli(tarn, tmp_path / "home", repo.id)


@pytest.fixture
def s3(tarn):
    return clients.boto3_client(tarn)


@pytest.fixture
def sdk(tarn):
    return sdk_clients.Sdk(tarn)


@pytest.fixture
def upload(sdk, repo, tmp_path):
    """Uploads with lakefs-sdk, which wants the bytes in a file; returns its answer."""

    def upload(path, data="data", branch="main", **options):
        file = tmp_path / "content"
        file.write_bytes(data.encode())
        return sdk.objects.upload_object(repo.id, branch, path, content=str(file), **options)

    return upload


@pytest.fixture
def rest(tarn):
    return clients.Rest(tarn)


@pytest.fixture
def any_paths(rest, repo):
    """Lets REST store paths in `repo` that a disk would have under another path."""
    assert rest("PUT", f"/repositories/{repo.id}/settings/paths", json={"paths": "any"}).status_code == 204


@pytest.fixture
def long_tests():
    return LONG

"""PgBouncer in front of the database works or is refused, with what to set in the message. Debian's 1.18 keeps no
prepared statements in transaction mode; PGBOUNCER is one that does."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
import servers

DEBIANS = "/usr/sbin/pgbouncer"
CACHE = os.environ.get("TARN_CACHE", os.path.expanduser("~/.cache/tarn"))
KEEPS_STATEMENTS = os.environ.get("PGBOUNCER", f"{CACHE}/bin/pgbouncer-trixie")

pytestmark = pytest.mark.skipif(not shutil.which(DEBIANS), reason="pgbouncer is not installed")

CONFIGURATION = """
[databases]
tarn = host=127.0.0.1 port={database} dbname=tarn
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
logfile = {directory}/pgbouncer.log
{more}
"""
IGNORED = "ignore_startup_parameters = options"
ROLE = ("statement_timeout = '60s'", "plan_cache_mode = force_generic_plan", "jit = off")


@pytest.fixture
def database(session_scratch):
    database = servers.Postgres(session_scratch / f"bounced-{time.monotonic_ns()}").start()
    yield database
    database.stop()


@pytest.fixture
def bouncer(database, session_scratch):
    """Starts one and returns the URL of the database behind it."""
    started = []

    def start(mode, more, role=ROLE, program=DEBIANS):
        database.ask("ALTER ROLE postgres RESET ALL")
        for setting in role:
            database.ask(f"ALTER ROLE postgres SET {setting}")
        directory = session_scratch / f"bouncer-{time.monotonic_ns()}"
        directory.mkdir()
        directory.chmod(0o777)
        port = servers.free_port()
        file = directory / "pgbouncer.ini"
        # auth_type = any logs everybody in as the user of the line in [databases].
        text = CONFIGURATION.format(database=database.port, port=port, mode=mode, directory=directory, more=more)
        file.write_text(text.replace("dbname=tarn", "dbname=tarn user=postgres"))
        process = servers.Process(servers.as_postgres([program, file]), directory / "out.log", dict(os.environ))
        process.wait_until(lambda: servers.accepts(f"127.0.0.1:{port}"), "PgBouncer")
        started.append(process)
        return f"postgresql://postgres@127.0.0.1:{port}/tarn"

    yield start
    for process in started:
        process.stop()


def tarnd(session_scratch, url):
    return servers.Tarnd(session_scratch / f"bounced-{time.monotonic_ns()}", arguments=["--database", url])


@pytest.mark.parametrize(
    "mode, more, role, said",
    [
        ("transaction", "", ROLE, "ignore_startup_parameters = options"),
        ("transaction", IGNORED, (), "statement_timeout"),
        ("transaction", IGNORED, ROLE, "max_prepared_statements"),
    ],
)
def test_a_pooler_that_loses_something_is_refused(bouncer, session_scratch, mode, more, role, said):
    server = tarnd(session_scratch, bouncer(mode, more, role))
    with pytest.raises(RuntimeError, match="before it was ready") as refused:
        server.start()
    assert said in str(refused.value)


class Client:
    """REST of one server."""

    def __init__(self, server):
        self.server, self.auth = server, (server.access_key, server.secret_key)

    def must(self, method, path, status, **more):
        answer = requests.request(method, f"{self.server.url}/api/v1/repositories{path}", auth=self.auth, timeout=60, **more)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.json() if is_json else None

    def put(self, branch, key):
        self.must(
            "POST",
            f"/lake/branches/{branch}/objects",
            201,
            params={"path": key},
            data=key.encode(),
            headers={"Content-Type": "application/octet-stream"},
        )

    def commit(self, branch):
        return self.must("POST", f"/lake/branches/{branch}/commits", 201, json={"message": f"on {branch}"})["id"]

    def keys(self, ref):
        found = self.must("GET", f"/lake/refs/{ref}/objects/ls", 200, params={"amount": 1000})["results"]
        return [item["path"] for item in found]


def works(clients, branches, objects):
    """Users of several servers write to branches of their own at once, commit, and merge into main."""
    clients[0].must("POST", "", 201, json={"name": "lake", "storage_namespace": "local://lake"})

    def user(number):
        client, branch = clients[number % len(clients)], f"b{number}"
        client.must("POST", "/lake/branches", 201, json={"name": branch, "source": "main"})
        for key in range(objects):
            client.put(branch, f"{branch}/{key:02}")
        client.must("DELETE", f"/lake/branches/{branch}/objects", 204, params={"path": f"{branch}/00"})
        return client.commit(branch)

    with ThreadPoolExecutor(branches) as pool:
        commits = list(pool.map(user, range(branches)))
    for number, commit in enumerate(commits):
        merged = clients[-1 - number % len(clients)].must("POST", f"/lake/refs/b{number}/merge/main", 200, json={})
        clients[0].must("POST", "/lake/tags", 201, json={"id": f"v{number}", "ref": merged["reference"]})
        assert clients[0].keys(commit) == [f"b{number}/{key:02}" for key in range(1, objects)]
    every = [f"b{number}/{key:02}" for number in range(branches) for key in range(1, objects)]
    for client in clients:
        assert client.keys("main") == every
        log = client.must("GET", "/lake/refs/main/commits", 200, params={"amount": 100})["results"]
        assert len(log) == 2 * branches + 1


def test_a_pooler_with_sessions_works(bouncer, session_scratch):
    server = tarnd(session_scratch, bouncer("session", IGNORED)).start()
    try:
        works([Client(server)], branches=2, objects=10)
    finally:
        server.stop()


@pytest.mark.skipif(not shutil.which(KEEPS_STATEMENTS), reason="PGBOUNCER names no PgBouncer of 1.21 or newer")
def test_a_pooler_that_keeps_prepared_statements_works(bouncer, session_scratch):
    """Few sessions for many connections, so that statements run on other sessions than those that prepared them."""
    url = bouncer("transaction", f"{IGNORED}\nmax_prepared_statements = 200\ndefault_pool_size = 4", program=KEEPS_STATEMENTS)
    objects = session_scratch / "bounced-objects"
    both = [
        servers.Tarnd(
            session_scratch / f"bounced-{time.monotonic_ns()}",
            arguments=["--database", url],
            environment={"TARN_STORE_LOCAL_ROOT": objects, "TARN_AUTH_MASTER_KEY": "a5" * 32},
        )
        for _ in range(2)
    ]
    try:
        for server in both:
            server.start()
        works([Client(server) for server in both], branches=6, objects=20)
    finally:
        for server in both:
            server.stop()

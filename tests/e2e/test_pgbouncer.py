"""PgBouncer in front of the database works or is refused, with what to set in the message. Debian's 1.18 keeps no
prepared statements in transaction mode."""

import os
import shutil
import time

import pytest
import requests
import servers

pytestmark = pytest.mark.skipif(not shutil.which("pgbouncer", path="/usr/sbin"), reason="pgbouncer is not installed")

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


@pytest.fixture(scope="module")
def database(session_scratch):
    database = servers.Postgres(session_scratch / "bounced").start()
    yield database
    database.stop()


@pytest.fixture
def bouncer(database, session_scratch):
    """Starts one and returns the URL of the database behind it."""
    started = []

    def start(mode, more, role=ROLE):
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
        process = servers.Process(servers.as_postgres(["/usr/sbin/pgbouncer", file]), directory / "out.log", dict(os.environ))
        process.wait_until(lambda: servers.accepts(f"127.0.0.1:{port}"), "PgBouncer")
        started.append(process)
        return f"postgresql://postgres@127.0.0.1:{port}/tarn"

    yield start
    for process in started:
        process.stop()


def tarnd(session_scratch, url):
    return servers.Tarnd(session_scratch / f"bounced-{time.monotonic_ns()}", arguments=["--database", url])


@pytest.mark.parametrize(("mode", "more", "role", "said"), [
    ("transaction", "", ROLE, "ignore_startup_parameters = options"),
    ("transaction", IGNORED, (), "statement_timeout"),
    ("transaction", IGNORED, ROLE, "max_prepared_statements"),
])
def test_a_pooler_that_loses_something_is_refused(bouncer, session_scratch, mode, more, role, said):
    server = tarnd(session_scratch, bouncer(mode, more, role))
    with pytest.raises(RuntimeError, match="before it was ready") as refused:
        server.start()
    assert said in str(refused.value)


def test_a_pooler_with_sessions_works(bouncer, session_scratch):
    server = tarnd(session_scratch, bouncer("session", IGNORED)).start()
    try:
        auth = (server.access_key, server.secret_key)
        made = requests.post(f"{server.url}/api/v1/repositories", auth=auth, timeout=30,
                             json={"name": "lake", "storage_namespace": "local://lake"})
        assert made.status_code == 201, made.text
        for number in range(20):
            answer = requests.post(f"{server.url}/api/v1/repositories/lake/branches/main/objects", auth=auth, timeout=30,
                                   params={"path": f"k{number}"}, data=b"x",
                                   headers={"Content-Type": "application/octet-stream"})
            assert answer.status_code == 201, answer.text
    finally:
        server.stop()

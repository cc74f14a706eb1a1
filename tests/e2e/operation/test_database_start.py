"""A server that is started before its database is ready."""

import os
import subprocess

import servers

BINARIES = "/usr/lib/postgresql/15/bin"


def test_it_waits_for_a_database_that_recovers(scratch_dir):
    database = servers.Postgres(scratch_dir / "postgres")
    database.start()
    database.stop()
    # A standby without hot_standby refuses connections, as a recovering server does, until it is promoted.
    data = database.directory / "data"
    servers.run_as_postgres(["touch", data / "standby.signal"])
    command = servers.as_postgres(
        [
            f"{BINARIES}/postgres",
            "-D",
            data,
            "-p",
            database.port,
            "-k",
            database.directory,
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "hot_standby=off",
        ]
    )
    database.process = servers.Process(command, database.directory / "postgres.log", dict(os.environ))
    database.process.wait_until(lambda: refuses(database), "PostgreSQL in recovery")

    server = servers.Tarnd(
        scratch_dir / "tarnd",
        arguments=["--database", database.url()],
        environment={"TARN_STORE_LOCAL_ROOT": scratch_dir / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32},
    )
    command = [
        servers.program("tarnd"),
        "--listen",
        "127.0.0.1:0",
        "--data",
        str(server.data_dir),
        "--ready-file",
        str(server.ready_file),
        *server.arguments,
    ]
    server.process = servers.Process(command, server.directory / "tarnd.log", server.environment)
    server.process.wait_until(lambda: "database_starting" in server.process.log.read_text(), "tarnd waits")
    assert not server.ready_file.exists()

    servers.run_as_postgres([f"{BINARIES}/pg_ctl", "promote", "-D", data])
    server.process.wait_until(server.ready_file.exists, "tarnd")
    assert server.process.stop() == 0
    database.stop()


def refuses(database):
    asked = [f"{BINARIES}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(database.port)]
    return subprocess.run(asked, check=False).returncode == 1

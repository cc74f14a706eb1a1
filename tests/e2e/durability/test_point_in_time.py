"""An external PostgreSQL archived by pgBackRest, recovered to a point in time under a store that went on (docs/backup.md)."""

import os
import shutil
import signal
import subprocess
import time

import clients
import lakefs
import pytest
import servers
from command import Cli
from test_backup import TIMEOUT, WITHOUT_GRACE, admin, body_of, read_everything

pytestmark = pytest.mark.skipif(os.environ.get("TARN_TEST_LONG") != "1", reason="--long, and needs pgbackrest")


class ArchivedPostgres(servers.Postgres):
    """Pushes every finished segment of its log to pgBackRest."""

    def __init__(self, directory):
        super().__init__(directory)
        self.config = self.directory / "pgbackrest.conf"

    def pgbackrest(self, *words):
        command = ["pgbackrest", f"--config={self.config}", "--stanza=tarn", *words]
        ended = subprocess.run(servers.as_postgres(command), capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert ended.returncode == 0, (words, ended.stdout, ended.stderr)

    def start(self):
        super().start()
        self.config.write_text(
            f"[global]\nrepo1-path={self.directory}/repo\nlog-path={self.directory}/log\nlock-path={self.directory}/lock\n"
            "repo1-retention-full=2\nstart-fast=y\n"
            f"[tarn]\npg1-path={self.directory}/data\npg1-port={self.port}\npg1-socket-path={self.directory}\n"
            "pg1-user=postgres\n"
        )
        push = f"pgbackrest --config={self.config} --stanza=tarn archive-push %p"
        self.ask("ALTER SYSTEM SET archive_mode = on")
        self.ask(f"ALTER SYSTEM SET archive_command = '{push}'")
        self.process.stop(signal.SIGINT)
        self.launch()
        self.pgbackrest("stanza-create")
        return self

    def recover_to(self, moment):
        self.pgbackrest("--delta", "--type=time", f"--target={moment}", "--target-action=promote", "restore")
        self.launch()
        deadline = time.monotonic() + TIMEOUT
        while self.ask("SELECT pg_is_in_recovery()") != ["f"]:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.fixture
def database():
    assert shutil.which("pgbackrest"), "install the package pgbackrest"
    directory = servers.scratch_directory("pitr")
    postgres = ArchivedPostgres(directory / "postgres").start()
    yield postgres
    if postgres.process.alive():
        postgres.stop()
    shutil.rmtree(directory, ignore_errors=True)


def test_a_recovery_to_a_point_in_time_finds_all_its_objects(database, name, tmp_path):
    environment = dict(WITHOUT_GRACE, TARN_AUTH_MASTER_KEY="a5" * 32)
    directory = servers.scratch_directory("lake")
    lake = servers.Tarnd(directory, environment=environment, arguments=["--database", database.url()]).start()
    lake.environment["TARN_DATABASE"] = database.url()
    lakefs.repository(name, client=clients.lakefs_client(lake)).create(storage_namespace=f"local://{name}")
    main = lakefs.repository(name, client=clients.lakefs_client(lake)).branch("main")
    cli = Cli(lake, tmp_path / "home", name)
    s3 = clients.boto3_client(lake)

    def put(numbers):
        for number in numbers:
            s3.put_object(Bucket=name, Key=f"main/key-{number}", Body=body_of(f"key-{number}", number))

    put(range(10))
    main.commit("before the backup")
    database.pgbackrest("--type=full", "backup")
    admin(lake, "backup", directory / "backups", "--keep", "1h")
    put(range(5, 20))
    main.commit("after the backup")
    put(range(20, 25))
    [moment] = database.ask("SELECT clock_timestamp()")
    time.sleep(1)
    for number in range(25):
        s3.delete_object(Bucket=name, Key=f"main/key-{number}")
    put(range(30, 40))
    for number in range(30, 40):
        s3.delete_object(Bucket=name, Key=f"main/key-{number}")
    removed = sum(cli.json("gc", "run", "--wait")["removed_objects"] for _ in range(4))
    assert removed == 0, "the hold keeps what was stored since the backup"
    database.ask("SELECT pg_switch_wal()")
    lake.stop()
    database.stop()

    database.recover_to(moment)
    lake.start()
    listed = s3.list_objects_v2(Bucket=name, Prefix="main/")["Contents"]
    assert {item["Key"] for item in listed} == {f"main/key-{number}" for number in range(25)}
    assert read_everything(lake, name) == 25 + 10 + 20
    assert cli.json("verify", f"tarn://{name}", "--objects", "all", "--deep").get("findings", []) == []
    refused = cli.run("gc", "run", "--wait", "-o", "json", status=1)
    assert "belong to another database" in refused.text
    assert cli.json("gc", "run", "--adopt", "--wait")["state"] == "done"
    assert read_everything(lake, name) == 25 + 10 + 20
    lake.stop()
    shutil.rmtree(directory, ignore_errors=True)

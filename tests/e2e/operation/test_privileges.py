"""Privileges that tarnd keeps of the user that starts it."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import clients
import lakefs
import pytest
import servers

ACCOUNT = "nobody"
NET_BIND_SERVICE = 1 << 10
# For the embedded database, which runs as another account: CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID.
OF_ROOT = NET_BIND_SERVICE | 1 << 0 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give privileges up")


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def capabilities(status):
    return int(status["CapEff"], 16) | int(status["CapPrm"], 16) | int(status["CapInh"], 16) | int(status["CapAmb"], 16)


def threads_of(pid):
    return [status_of(f"{pid}/task/{thread.name}") for thread in Path(f"/proc/{pid}/task").iterdir()]


@pytest.fixture
def server(scratch_dir):
    server = servers.Tarnd(scratch_dir, environment={"TARN_RUN_AS": ACCOUNT})
    # For the ready file, which is written by then.
    shutil.chown(server.directory, ACCOUNT)
    yield server
    if server.process and server.process.alive():
        server.stop()


@as_root
def test_root_becomes_the_account_of_run_as(server, name):
    server.start()
    account = pwd.getpwnam(ACCOUNT)
    for status in threads_of(server.process.pid):
        assert set(status["Uid"].split()) == {str(account.pw_uid)} and set(status["Gid"].split()) == {str(account.pw_gid)}
        assert capabilities(status) & ~NET_BIND_SERVICE == 0
        assert status["NoNewPrivs"] == "1"
    postgres = status_of(server.postmaster())
    assert set(postgres["Uid"].split()) == {str(account.pw_uid)} and capabilities(postgres) == 0
    assert server.data_dir.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_uid for path in server.data_dir.rglob("*")} == {account.pw_uid}

    repo = lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=f"local://{name}")
    repo.branch("main").object("a").upload(data=b"bytes", mode="wb")
    server.stop()
    server.start()
    assert repo.branch("main").object("a").reader(mode="rb").read() == b"bytes"


@as_root
def test_a_low_port_can_be_listened_at_without_root(scratch_dir):
    # Free on every machine that tests run on: nothing listens at this address but what is told to.
    server = servers.Tarnd(scratch_dir, environment={"TARN_RUN_AS": ACCOUNT}, listen="127.0.86.1:443")
    shutil.chown(server.directory, ACCOUNT)
    server.start()
    assert server.url == "http://127.0.86.1:443"
    server.stop()


@as_root
def test_the_data_directory_of_another_account_is_refused(server):
    server.data_dir.mkdir()
    with pytest.raises(RuntimeError, match=f"chown -R {ACCOUNT} {server.data_dir}"):
        server.start()


@as_root
def test_an_unknown_account_is_refused(scratch_dir):
    server = servers.Tarnd(scratch_dir, environment={"TARN_RUN_AS": "no-such-account"})
    with pytest.raises(RuntimeError, match='run_as: there is no account "no-such-account"'):
        server.start()
    assert not server.data_dir.exists()


@as_root
def test_root_without_run_as_keeps_what_its_database_needs(scratch_dir):
    server = servers.Tarnd(scratch_dir)
    server.start()
    try:
        for status in threads_of(server.process.pid):
            assert capabilities(status) & ~OF_ROOT == 0 and status["NoNewPrivs"] == "1"
        assert capabilities(status_of(server.postmaster())) == 0
        assert "run_as" in server.process.log.read_text()
    finally:
        server.stop()


@as_root
def test_another_account_cannot_be_taken_without_root(scratch_dir):
    shutil.chown(scratch_dir, ACCOUNT)
    # The checkout may lie where others cannot enter.
    program = shutil.copy(servers.program("tarnd"), scratch_dir / "tarnd")
    ended = subprocess.run(
        [program, "--data", str(scratch_dir / "data")],
        text=True,
        timeout=30,
        env=servers.clean_environment({"TARN_RUN_AS": "daemon"}),
        capture_output=True,
        check=False,
        user=ACCOUNT,
        group=pwd.getpwnam(ACCOUNT).pw_gid,
        extra_groups=[],
    )
    assert ended.returncode != 0 and "only root can become" in ended.stderr, ended.stderr

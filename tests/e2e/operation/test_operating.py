"""tarnd as its operator meets it: checking and reloading settings, lost keys, a taken port, secrets."""

import os
import re
import signal
import subprocess
from pathlib import Path

import clients
import pytest
import servers


def run_tarnd(*arguments, **environment):
    return subprocess.run(
        [servers.program("tarnd"), *arguments],
        env=servers.clean_environment(environment),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def server(scratch_dir, initialised_data):
    """Not started yet; without repositories."""
    server = servers.Tarnd(scratch_dir).copy_data_of(initialised_data)
    yield server
    if server.process and server.process.alive():
        server.stop()


def test_a_taken_port_is_found_before_anything_is_made(server, scratch_dir):
    server.start()
    data = scratch_dir / "other"
    ended = run_tarnd("--listen", server.listen, "--data", str(data))
    assert ended.returncode == 1 and "Address already in use" in ended.stderr
    assert "secret access key" not in ended.stdout and not data.exists()


def test_check_config_lists_every_error_and_hides_secrets(scratch_dir):
    file = scratch_dir / "tarnd.yaml"
    file.write_text("listn: a\nlog:\n  level: loud\nhttp:\n  workers: many\n")
    ended = run_tarnd("--check-config", "--config", str(file), TARN_LISTNE="x", TARN_DB_CONNECTIONS="1")
    assert ended.returncode == 1
    for words in (
        f"{file}:1: unknown key",
        f"{file}:5: http.workers",
        "log.level: must be one of",
        "db.connections: must be",
        "environment variable TARN_LISTNE: unknown",
    ):
        assert words in ended.stderr, ended.stderr
    assert all(line.startswith("tarnd: ") for line in ended.stderr.splitlines())
    secret = scratch_dir / "database"
    secret.write_text("postgresql://tarn:hush@db/tarn\n")
    ended = run_tarnd("--check-config", TARN_DATABASE_FILE=str(secret), TARN_STORE_S3_SECRET_ACCESS_KEY="hush")
    assert ended.returncode == 0 and "hush" not in ended.stdout + ended.stderr
    assert "database: postgresql://tarn:***@db/tarn\n" in ended.stdout


def test_an_unknown_variable_is_a_warning_at_start(server):
    server.environment["TARN_LISTNE"] = "x"
    server.start()
    assert "warn unknown_variable name=TARN_LISTNE" in server.process.log.read_text()


@pytest.fixture
def database(scratch_dir):
    database = servers.Postgres(scratch_dir / "postgres").start()
    yield database
    database.stop()


def test_no_password_stays_in_the_list_of_processes(scratch_dir, database):
    url = database.url() + "?password=hush"
    server = servers.Tarnd(scratch_dir / "tarnd", arguments=["--database", url]).start()
    try:
        shown = Path(f"/proc/{server.process.child.pid}/cmdline").read_text()
        assert "hush" not in shown and "password=xxxx" in shown
        log = server.process.log.read_text()
        assert "password_on_command_line" in log and "hush" not in log
    finally:
        server.stop()


def test_the_database_is_read_from_a_file_and_only_migrated(scratch_dir, database):
    file = scratch_dir / "url"
    file.write_text(database.url() + "\n")
    data = scratch_dir / "data"
    ended = run_tarnd("--migrate-only", "--data", str(data), TARN_DATABASE_FILE=str(file))
    assert ended.returncode == 0 and "schema" in ended.stdout, ended.stderr
    assert database.ask("SELECT count(*) FROM users") == ["0"]
    assert not (data / "admin-credentials").exists()


def test_lost_keys_are_replaced_and_the_others_stay(server):
    server.start()
    assert clients.Rest(server)("DELETE", "/auth/groups/Admins/members/admin").status_code in (204, 409)
    server.stop()
    ended = run_tarnd("--new-admin-key", "--data", str(server.data_dir))
    assert ended.returncode == 0, ended.stderr
    key, secret = (re.search(rf"{name}: +(\S+)", ended.stdout).group(1) for name in ("access key id", "secret access key"))
    kept = server.data_dir / "admin-credentials"
    assert kept.stat().st_mode & 0o777 == 0o600 and secret in kept.read_text()
    server.start()
    old = clients.Rest(server)("GET", "/repositories").status_code
    server.access_key, server.secret_key = key, secret
    assert clients.Rest(server)("GET", "/auth/users").status_code == 200
    assert old == 200


def test_a_hangup_reloads_what_can_be_reloaded(server, scratch_dir):
    file = scratch_dir / "tarnd.yaml"
    file.write_text("log:\n  level: info\n")
    server.arguments = ["--config", str(file)]
    server.start()
    log = server.process.log

    def hang_up(text, event):
        file.write_text(text)
        before = log.read_text().count(event)
        os.kill(server.process.child.pid, signal.SIGHUP)
        server.process.wait_until(lambda: log.read_text().count(event) > before, event)

    hang_up("log:\n  level: debug\ndb:\n  connections: 20\n", "configuration_reloaded changed=log.level")
    assert "restart_needed key=db.connections" in log.read_text()
    hang_up("log:\n  level: loud\n", "error configuration_not_reloaded")
    assert "log.level: must be one of" in log.read_text()
    hang_up("http:\n  trusted_proxies: 127.0.0.1\n", "configuration_reloaded changed=log.level,http.trusted_proxies")
    rest = clients.Rest(server)
    assert rest("GET", "/repositories", headers={"X-Forwarded-For": "192.0.2.7"}).status_code == 200
    assert "address=192.0.2.7" in log.read_text()


def started_alone(directory, *arguments):
    """A tarnd without any configuration but a free port, in a new directory."""
    directory.mkdir()
    return servers.Process(
        [servers.program("tarnd"), *arguments],
        directory / "log",
        servers.clean_environment({"TARN_LISTEN": "127.0.0.1:0", "TARN_DATA": str(directory / "data")}),
    )


def pasted(process, lines):
    """Runs the lines that the server printed, as a person would paste them."""
    process.wait_until(
        lambda: "Paste this" in process.log.read_text() and process.log.read_text().count("\n  ") >= lines, "tarnd"
    )
    text = process.log.read_text().split("another terminal:\n")[1]
    script = "\n".join(line for line in text.splitlines() if line.startswith("  "))
    assert len(script.splitlines()) == lines
    path = f"{os.path.dirname(servers.program('tarn'))}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-ec", script],
        env={**servers.clean_environment({}), "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_server_alone_prints_three_lines_that_work(scratch_dir):
    process = started_alone(scratch_dir / "alone")
    try:
        done = pasted(process, 3)
        assert done.returncode == 0 and "first" in done.stdout, done.stdout + done.stderr
        # Keys and lines are the last that the start prints, below few lines of the log.
        log, said = process.log.read_text().split("Keys of user admin", 1)
        assert log.splitlines()[-1].split()[2] == "serving" and len(log.splitlines()) <= 5, log
        assert log.count("database_schema_created version=") == 1 and "migration_applied" not in log
        said = said[: said.index("  tarn doctor\n")].splitlines()
        assert len(said) == 8 and not any(line.startswith("20") for line in said), said
    finally:
        assert process.stop() == 0


def test_quickstart_has_experiments_to_promote(scratch_dir):
    process = started_alone(scratch_dir / "quick", "quickstart")
    try:
        done = pasted(process, 3)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "exp-2" in done.stdout and done.stdout.endswith("weights of exp-2 after 30 epochs\n")
    finally:
        assert process.stop() == 0
    # Again: the repository is there, as the user left it.
    again = servers.Process(
        [servers.program("tarnd"), "quickstart"],
        scratch_dir / "again.log",
        servers.clean_environment({"TARN_LISTEN": "127.0.0.1:0", "TARN_DATA": str(scratch_dir / "quick" / "data")}),
    )
    try:
        again.wait_until(lambda: "Paste this" in again.log.read_text(), "tarnd")
    finally:
        assert again.stop() == 0

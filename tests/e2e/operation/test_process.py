"""tarnd as a process: starting, stopping, being killed, losing its database, sharing it."""

import os
import signal
import socket
import subprocess
import threading
import time

import clients
import lakefs
import pytest
import requests
import servers


def new_repository(server, name):
    return lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=f"local://{name}")


def run_tarnd(*arguments, **environment):
    """For starts that must fail."""
    return subprocess.run(
        [servers.program("tarnd"), *arguments],
        env=servers.clean_environment(environment),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.fixture
def server(scratch_dir, initialised_data):
    """Not started yet; without repositories."""
    server = servers.Tarnd(scratch_dir).copy_data_of(initialised_data)
    yield server
    if server.process and server.process.alive():
        server.stop()


def test_the_ready_file_names_the_url_and_goes_with_the_server(server):
    server.start()
    assert server.url.startswith("http://127.0.0.1:") and not server.url.endswith(":0")
    assert clients.Rest(server, credentials=False)("GET", "/healthcheck").status_code == 204
    server.stop()
    assert not server.ready_file.exists()


def test_a_second_start_keeps_everything(server, name):
    repo = new_repository(server.start(), name)
    branch = repo.branch("main")
    branch.object("committed").upload(data=b"1", mode="wb")
    commit = branch.commit(message="m").get_commit()
    branch.object("staged").upload(data=b"2", mode="wb")
    server.stop()
    repo = lakefs.repository(name, client=clients.lakefs_client(server.start()))
    assert repo.branch("main").get_commit() == commit
    assert [item.path for item in repo.ref("main").objects()] == ["committed", "staged"]
    assert repo.branch("main").object("staged").reader(mode="rb").read() == b"2"


def test_nothing_acknowledged_is_lost_when_it_is_killed(server, name):
    repo = new_repository(server.start(), name)
    acknowledged = []
    stop = threading.Event()

    def write():
        s3 = clients.boto3_client(server)
        number = 0
        while not stop.is_set():
            try:
                s3.put_object(Bucket=name, Key=f"main/{number:06}", Body=b"%d" % number)
            except Exception:  # the server is gone: this write was not acknowledged
                return
            acknowledged.append(number)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    while len(acknowledged) < 40:
        time.sleep(0.005)
    repo.branch("main").commit(message="in between")
    server.kill()
    stop.set()
    writer.join()
    repo = lakefs.repository(name, client=clients.lakefs_client(server.start()))
    kept = {item.path for item in repo.ref("main").objects()}
    assert {f"{number:06}" for number in acknowledged} <= kept
    last = acknowledged[-1]
    assert repo.ref("main").object(f"{last:06}").reader(mode="rb").read() == b"%d" % last


def test_a_running_upload_is_finished_before_the_end(server, name):
    new_repository(server.start(), name)
    rest = clients.Rest(server)
    begun, go_on = threading.Event(), threading.Event()

    def body():
        yield b"a" * 1000
        begun.set()
        go_on.wait(10)
        yield b"b" * 1000

    answers = []
    upload = threading.Thread(
        target=lambda: answers.append(rest("POST", f"/repositories/{name}/branches/main/objects?path=slow", data=body()))
    )
    upload.start()
    assert begun.wait(10)
    server.process.child.send_signal(signal.SIGTERM)
    time.sleep(0.3)  # long enough for a server that does not wait to be gone
    assert server.process.alive()
    go_on.set()
    upload.join()
    assert [answer.status_code for answer in answers] == [201]
    assert server.process.child.wait(30) == 0
    repo = lakefs.repository(name, client=clients.lakefs_client(server.start()))
    assert repo.ref("main").object("slow").stat().size_bytes == 2000


def test_setup_is_done_already(server):
    rest = clients.Rest(server.start(), credentials=False)
    assert rest("GET", "/setup_lakefs").json()["state"] == "initialized"
    again = rest("POST", "/setup_lakefs", json={"username": "intruder"})
    assert again.status_code == 409
    assert "secret_access_key" not in again.text


def test_keys_are_shown_once_when_none_are_given(scratch_dir):
    server = servers.Tarnd(scratch_dir)
    for name in ("TARN_ADMIN_ACCESS_KEY_ID", "TARN_ADMIN_SECRET_ACCESS_KEY"):
        del server.environment[name]
    server.start()
    server.stop()
    first = server.process.log.read_text()
    words = dict(line.strip().rsplit(None, 1) for line in first.splitlines() if "key" in line and "shown" not in line)
    assert {"access key id:", "secret access key:"} <= set(words)
    kept = server.data_dir / "admin-credentials"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert words["access key id:"] in kept.read_text() and words["secret access key:"] in kept.read_text()
    # Only root's embedded database, which runs as another user, may pass through.
    assert server.data_dir.stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)
    server.start()
    server.access_key, server.secret_key = words["access key id:"], words["secret access key:"]
    assert clients.Rest(server)("GET", "/repositories").status_code == 200
    # Once by itself, once in the lines to paste; not at the second start.
    assert server.process.log.read_text().count(words["secret access key:"]) == 2
    server.stop()


def test_metrics_may_have_an_address_of_their_own(scratch_dir):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = servers.Tarnd(scratch_dir, environment={"TARN_METRICS_LISTEN": address})
    server.start()
    try:
        for path in ("/metrics", "/openapi.json"):
            assert requests.get(server.url + path, timeout=10).status_code == 404
            assert requests.get(f"http://{address}{path}", timeout=10).status_code == 200
        for path in ("/_health", "/_ready"):
            assert requests.get(server.url + path, timeout=10).status_code == 200
            assert requests.get(f"http://{address}{path}", timeout=10).status_code == 200
        for path in ("/", "/logout", "/api/v1/setup_lakefs", "/bucket/key"):
            assert requests.get(f"http://{address}{path}", timeout=10).status_code == 404
    finally:
        server.stop()


def test_secrets_are_not_logged(server, name):
    new_repository(server.start(), name)
    s3 = clients.boto3_client(server)
    url = s3.generate_presigned_url("get_object", Params={"Bucket": name, "Key": "main/x"})
    clients.Rest(server, credentials=False).session.get(url, timeout=10)
    s3.put_object(Bucket=name, Key="main/x", Body=b"x")
    server.stop()
    log = server.process.log.read_text()
    signature = url.rsplit("Signature=", 1)[1].split("&")[0]
    assert server.secret_key not in log and signature not in log


@pytest.mark.parametrize(
    "arguments, environment, words",
    [
        (["--listen", "nonsense"], {}, ["listen"]),
        (["--listen", "127.0.0.1:99999"], {}, ["listen"]),
        (["--no-such-option"], {}, ["--no-such-option"]),
        ([], {"TARN_LOG_LEVEL": "loud"}, ["log.level"]),
        ([], {"TARN_HTTP_WORKERS": "many"}, ["TARN_HTTP_WORKERS"]),
        ([], {"TARN_AUTH_MASTER_KEY": "short"}, ["auth.master_key"]),
        ([], {"TARN_STORE_LOCAL_IMPORT_ROOTS": "relative/dir"}, ["import_roots", "relative/dir"]),
        ([], {"TARN_STORE_LOCAL_IMPORT_ROOTS": "/no/such/dir"}, ["/no/such/dir"]),
        (["--config", "/no/such/file.yaml"], {}, ["/no/such/file.yaml"]),
    ],
)
def test_a_bad_configuration_is_refused_by_name(scratch_dir, arguments, environment, words):
    data = ["--data", str(scratch_dir / "data")]
    ended = run_tarnd(*data, *arguments, **environment)
    assert ended.returncode != 0
    assert all(word in ended.stderr for word in words), ended.stderr
    assert "terminate called" not in ended.stderr


def test_an_unknown_key_of_the_file_is_refused(scratch_dir):
    file = scratch_dir / "tarnd.yaml"
    file.write_text("log:\n  levle: info\n")
    ended = run_tarnd("--config", str(file), "--data", str(scratch_dir / "data"))
    assert ended.returncode != 0 and "levle" in ended.stderr


def test_a_taken_port_is_refused(server):
    server.start()
    ended = run_tarnd("--listen", server.listen, "--data", str(server.directory / "other"))
    assert ended.returncode != 0 and "127.0.0.1" in ended.stderr


def test_two_servers_do_not_share_a_data_directory(server):
    server.start()
    ended = run_tarnd("--listen", "127.0.0.1:0", "--data", str(server.data_dir))
    assert ended.returncode != 0 and str(server.data_dir) in ended.stderr
    assert clients.Rest(server)("GET", "/repositories").status_code == 200


def test_a_killed_database_comes_back(server, name):
    repo = new_repository(server.start(), name)
    repo.branch("main").object("kept").upload(data=b"1", mode="wb")
    rest = clients.Rest(server)
    server.kill_postgres()
    seen = set()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        answer = rest("GET", f"/repositories/{name}/refs/main/objects/stat?path=kept")
        if answer.status_code == 200 and seen:
            break
        seen.add(answer.status_code)
        if answer.status_code != 200:
            assert answer.status_code == 503 and "Retry-After" in answer.headers, answer.text
        time.sleep(0.02)
    assert answer.status_code == 200
    assert repo.branch("main").object("kept").reader(mode="rb").read() == b"1"
    repo.branch("main").commit(message="after the crash")
    server.stop()


@pytest.fixture
def shared_database(scratch_dir):
    database = servers.Postgres(scratch_dir / "postgres").start()
    yield database
    database.stop()


def shared(scratch_dir, number, database, root="objects"):
    """A server on the shared database; all name the same objects and master key."""
    return servers.Tarnd(
        scratch_dir / f"tarnd-{number}",
        arguments=["--database", database.url()],
        environment={
            "TARN_STORE_LOCAL_ROOT": scratch_dir / root,
            "TARN_AUTH_MASTER_KEY": "5a" * 32,
        },
    )


def test_two_servers_share_a_database(scratch_dir, shared_database, name):
    one = shared(scratch_dir, 1, shared_database).start()
    two = shared(scratch_dir, 2, shared_database).start()
    try:
        here = new_repository(one, name)
        there = lakefs.repository(name, client=clients.lakefs_client(two))
        for number in range(20):
            writer, reader = (here, there) if number % 2 else (there, here)
            writer.branch("main").object("file").upload(data=b"%d" % number, mode="wb")
            assert reader.branch("main").object("file").reader(mode="rb").read() == b"%d" % number
            commit = writer.branch("main").commit(message=f"{number}")
            assert reader.branch("main").get_commit().id == commit.id
        one.kill()
        there.branch("main").object("after").upload(data=b"x", mode="wb")
        there.branch("main").commit(message="the other one is dead")
        one.start()
        assert here.branch("main").object("after").exists()
        one.stop()
    finally:
        two.stop()


def test_servers_are_listed_until_they_stop(scratch_dir, shared_database):
    one = shared(scratch_dir, 1, shared_database).start()
    two = shared(scratch_dir, 2, shared_database).start()
    rest = clients.Rest(one)

    def listed():
        answer = rest("GET", "/config/servers")
        assert answer.status_code == 200, answer.text
        return {server["listen"]: server for server in answer.json()["results"]}

    try:
        # Listed before the ready file is written.
        found = listed()
        assert set(found) == {one.listen, two.listen}
        version = rest("GET", "/config/version").json()["tarn_version"]
        for server in found.values():
            assert server["alive"] and server["version"] == version and server["host"] == socket.gethostname()
            assert 0 <= time.time() - server["start_date"] < 120 and server["seen_date"] >= server["start_date"]
        assert found[one.listen]["answering"] and not found[two.listen]["answering"]
        two.stop()
        assert set(listed()) == {one.listen}
        two.start()
        two.kill()
        assert set(listed()) == {one.listen, two.listen}
    finally:
        two.kill()
        one.stop()


def test_a_server_starts_and_stops_while_its_list_is_locked(scratch_dir, shared_database):
    shared(scratch_dir, 1, shared_database).start().stop()
    locked = subprocess.Popen(
        ["/usr/lib/postgresql/15/bin/psql", "-X", "-q", "-d", shared_database.url()], stdin=subprocess.PIPE, text=True
    )
    try:
        locked.stdin.write("BEGIN; LOCK TABLE servers IN ACCESS EXCLUSIVE MODE;\n")
        locked.stdin.flush()
        held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'servers'::regclass AND granted"
        while shared_database.ask(held) != ["1"]:
            assert locked.poll() is None
            time.sleep(0.05)
        server = shared(scratch_dir, 2, shared_database).start()
        rest = clients.Rest(server)
        assert rest("GET", "/config/version").status_code == 200
        assert rest("GET", "/config/servers").status_code == 503
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 15
        log = server.process.log.read_text()
        assert "server_not_announced" in log and "server_not_removed" in log
    finally:
        locked.stdin.close()
        locked.wait()


def test_a_server_on_other_objects_is_refused(scratch_dir, shared_database):
    one = shared(scratch_dir, 1, shared_database).start()
    try:
        stranger = shared(scratch_dir, 2, shared_database, root="elsewhere")
        with pytest.raises(RuntimeError, match="ended with"):
            stranger.start()
    finally:
        one.stop()

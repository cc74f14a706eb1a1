"""Copies of small objects of an S3 store on the server's own disk: later reads ask the store for nothing."""

import time

import clients
import lakefs
import pytest
import requests
import servers
import wrong_store
from command import Cli

SIZE = 300_000
COLLECTIONS_MAX = 6  # until an object that was just stored is older than the floors of both servers


@pytest.fixture
def cached(scratch_dir, initialised_data, versitygw, name):
    clients.boto3_client(versitygw).create_bucket(Bucket=name)
    environment = {**versitygw.tarnd_environment(), "TARN_STORE_CACHE_DIRECTORY": scratch_dir / "copies"}
    server = servers.Tarnd(scratch_dir / "tarnd", environment=environment).copy_data_of(initialised_data).start()
    yield server
    if server.alive():
        server.stop()


def measured(server):
    """The cache's numbers, and how many GETs the store was sent."""
    lines = [line.rsplit(" ", 1) for line in requests.get(f"{server.url}/metrics", timeout=10).text.splitlines()]
    numbers = {line[0]: float(line[1]) for line in lines if len(line) == 2 and not line[0].startswith("#")}
    gets = sum(value for key, value in numbers.items() if key.startswith("tarn_store_seconds_count") and 's3_get"' in key)
    return {
        "gets": gets,
        **{short: numbers.get(f"tarn_store_cache_{short}", 0) for short in ("hits_total", "misses_total", "bytes")},
    }


@pytest.fixture(params=["off", "all"])
def deceived(request, scratch_dir, initialised_data, versitygw, name):
    """A server with copies, the proxy that lies to it, and whether it compares what it reads."""
    clients.boto3_client(versitygw).create_bucket(Bucket=name)
    proxy = wrong_store.WrongStore(versitygw)
    environment = {
        **servers.s3_store_of(proxy),
        "TARN_STORE_CACHE_DIRECTORY": scratch_dir / "copies",
        "TARN_STORE_VERIFY_READS": request.param,
    }
    server = servers.Tarnd(scratch_dir / "tarnd", environment=environment).copy_data_of(initialised_data).start()
    yield server, proxy, request.param == "all"
    server.stop()
    proxy.stop()


@pytest.mark.parametrize("harm", wrong_store.HARMS)
def test_wrong_answers_of_a_store_do_not_last(deceived, versitygw, scratch_dir, name, harm):
    server, proxy, checks = deceived
    rest = clients.Rest(server)
    repo = lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=f"s3://{name}/space")
    s3 = clients.boto3_client(server)
    bodies = {f"k{n}": bytes((n + at) % 251 for at in range(20_000)) for n in range(6)}
    for key, body in bodies.items():
        s3.put_object(Bucket=name, Key=f"main/{key}", Body=body)
    clients.boto3_client(versitygw).put_object(Bucket=name, Key="theirs/i", Body=bodies["k0"])
    repo.branch("main").commit("puts")
    repo.branch("main").import_data("x").prefix(f"s3://{name}/theirs/", destination="in/").run()
    bodies["in/i"] = bodies["k0"]
    objects = f"/repositories/{name}/refs/main/objects"

    def reads():
        """(key, expected, got) of every complete answer to reads of all objects and of a range of each."""
        for key, body in bodies.items():
            for part in (slice(0, len(body)), slice(9_000, 12_000)):
                headers = {} if part.start == 0 else {"Range": f"bytes={part.start}-{part.stop - 1}"}
                try:
                    answer = rest("GET", objects, params={"path": key}, headers=headers)
                except requests.RequestException:
                    continue
                if answer.ok:
                    yield key, body[part], answer.content
                else:
                    assert answer.status_code >= 500, answer.text

    proxy.harm = harm
    wrong = [key for key, expected, got in reads() if expected != got]
    assert proxy.spoiled >= len(bodies)
    if checks:  # imports have no recorded digest
        assert set(wrong) <= {"in/i"}
    proxy.harm = None
    for _ in range(2):
        assert [(key, got == expected) for key, expected, got in reads()] == [(key, True) for key in bodies for _ in range(2)]
        server.stop()
        server.start()
    assert len(copies_below(scratch_dir / "copies")) == len(bodies)
    before = measured(server)["gets"]
    assert all(got == expected for _, expected, got in reads())
    assert measured(server)["gets"] <= before + 2  # a new server asks for the owner of the store: its record and the marker


def test_second_reads_ask_the_store_for_nothing(cached, scratch_dir, name):
    lakefs.repository(name, client=clients.lakefs_client(cached)).create(storage_namespace=f"s3://{name}/space")
    s3 = clients.boto3_client(cached)
    body = bytes(n % 251 for n in range(SIZE))
    s3.put_object(Bucket=name, Key="main/a", Body=body)
    login = (cached.access_key, cached.secret_key)
    url = f"{cached.url}/api/v1/repositories/{name}/refs/main/objects?path=a"

    before = measured(cached)
    assert s3.get_object(Bucket=name, Key="main/a")["Body"].read() == body
    first = measured(cached)
    assert first["gets"] == before["gets"] + 1
    assert first["misses_total"] == 1
    assert first["bytes"] > SIZE

    assert s3.get_object(Bucket=name, Key="main/a")["Body"].read() == body
    assert s3.get_object(Bucket=name, Key="main/a", Range="bytes=1000-1999")["Body"].read() == body[1000:2000]
    assert requests.get(url, auth=login, timeout=10).content == body
    later = measured(cached)
    assert later["gets"] == first["gets"]
    assert (later["hits_total"], later["misses_total"]) == (3, 1)

    # Killed, and with its copy cut: the store has the right bytes, and a copy that is whole is taken over.
    cached.kill()
    [copy] = copies_below(scratch_dir / "copies")
    whole = copy.read_bytes()
    copy.write_bytes(whole[: SIZE // 2])
    copy.with_name(copy.name + ".tmp").write_bytes(whole[:100])
    cached.start()
    assert not copy.with_name(copy.name + ".tmp").exists()
    assert s3.get_object(Bucket=name, Key="main/a")["Body"].read() == body
    assert measured(cached)["misses_total"] == 1
    cached.kill()
    cached.start()
    assert requests.get(url, auth=login, timeout=10).content == body
    assert measured(cached) | {"bytes": 0} == {"gets": 0, "hits_total": 1, "misses_total": 0, "bytes": 0}


def test_copies_of_imported_objects_are_read_while_their_source_is_the_same(cached, versitygw, name):
    source = clients.boto3_client(versitygw)
    source.put_object(Bucket=name, Key="theirs/a", Body=b"first")
    repo = lakefs.repository(name, client=clients.lakefs_client(cached)).create(storage_namespace=f"s3://{name}/space")
    repo.branch("main").import_data("x").prefix(f"s3://{name}/theirs/", destination="in/").run()
    s3 = clients.boto3_client(cached)

    def read():
        return repo.branch("main").object("in/a").reader(mode="rb", pre_sign=False).read()

    before = measured(cached)
    assert [read() for _ in range(2)] == [b"first"] * 2
    assert s3.get_object(Bucket=name, Key="main/in/a", Range="bytes=1-2")["Body"].read() == b"ir"
    after = measured(cached)
    assert after["gets"] == before["gets"] + 1
    assert (after["hits_total"], after["misses_total"]) == (2, 1)

    # The checksums that a GET asks for are those of the source: the copy has none.
    assert s3.get_object(Bucket=name, Key="main/in/a", ChecksumMode="ENABLED")["Body"].read() == b"first"
    assert measured(cached)["hits_total"] == 2

    # An import tells that its source changed, as it does without copies.
    source.put_object(Bucket=name, Key="theirs/a", Body=b"other")
    with pytest.raises(lakefs.exceptions.LakeFSException):
        read()
    source.put_object(Bucket=name, Key="theirs/a", Body=b"first")
    assert read() == b"first"
    source.delete_object(Bucket=name, Key="theirs/a")
    with pytest.raises(lakefs.exceptions.LakeFSException):
        read()


def test_objects_that_clients_sent_to_the_store_are_kept(cached, name):
    """As long as its URL is good the client can destroy the object, but not the copy of what it linked."""
    repo = lakefs.repository(name, client=clients.lakefs_client(cached)).create(storage_namespace=f"s3://{name}/space")
    repo.branch("main").object("a").upload(data=b"bytes", mode="wb", pre_sign=True)
    s3 = clients.boto3_client(cached)
    before = measured(cached)["gets"]
    for _ in range(3):
        assert s3.get_object(Bucket=name, Key="main/a")["Body"].read() == b"bytes"
    after = measured(cached)
    assert (after["gets"] - before, after["hits_total"], after["misses_total"]) == (1, 2, 1)


def copies_below(directory):
    return {path for path in directory.rglob("*") if path.is_file() and len(path.name) == 64}


def test_copies_of_what_another_server_collects_go(scratch_dir, versitygw, name):
    """Also those of a server that is down meanwhile, and of one that misses a collection and its purge."""
    clients.boto3_client(versitygw).create_bucket(Bucket=name)
    database = servers.Postgres(scratch_dir / "postgres").start()
    shared = {
        **versitygw.tarnd_environment(),
        "TARN_AUTH_MASTER_KEY": "a5" * 32,
        "TARN_GC_INTERVAL_HOURS": "0",
        "TARN_GC_GRACE_HOURS": "0",
        "TARN_GC_UNREACHABLE_DAYS": "0",
    }
    both = [
        servers.Tarnd(
            scratch_dir / f"tarnd-{n}",
            arguments=["--database", database.url()],
            environment={**shared, "TARN_STORE_CACHE_DIRECTORY": scratch_dir / f"copies-{n}"},
        ).start()
        for n in (1, 2)
    ]
    copies = [scratch_dir / f"copies-{n}" for n in (1, 2)]
    try:
        lakefs.repository(name, client=clients.lakefs_client(both[0])).create(storage_namespace=f"s3://{name}/space")

        def put(key):
            clients.boto3_client(both[0]).put_object(Bucket=name, Key=f"main/{key}", Body=key.encode() * 100)
            for server in both:
                assert clients.boto3_client(server).get_object(Bucket=name, Key=f"main/{key}")["Body"].read()

        def collect():
            """By either server; both must have looked since the one before."""
            rest, deadline = clients.Rest(both[0]), time.monotonic() + 120
            before = (rest("GET", f"/repositories/{name}/gc/runs?amount=1").json()["results"] or [{"run": 0}])[0]["run"]
            assert rest("POST", f"/repositories/{name}/gc/runs", json={"yes_delete": 100}).status_code == 202
            while True:
                newest = (rest("GET", f"/repositories/{name}/gc/runs?amount=1").json()["results"] or [{"run": 0}])[0]
                if newest["run"] > before and newest["state"] != "running":
                    return newest
                assert time.monotonic() < deadline
                time.sleep(0.1)

        def expect_copies(number, count):
            deadline = time.monotonic() + 10
            while len(copies_below(copies[number])) != count:
                assert time.monotonic() < deadline, copies_below(copies[number])
                time.sleep(0.1)

        def delete(key):
            clients.boto3_client(both[0]).delete_object(Bucket=name, Key=f"main/{key}")

        for key in ("kept", "first", "second"):
            put(key)
        delete("first")
        assert any(collect()["removed_objects"] == 1 for _ in range(COLLECTIONS_MAX))
        expect_copies(0, 2)
        expect_copies(1, 2)
        delete("second")
        both[1].stop()
        assert any(collect()["removed_objects"] == 1 for _ in range(COLLECTIONS_MAX))
        expect_copies(0, 1)
        assert len(copies_below(copies[1])) == 2
        both[1].start()
        expect_copies(1, 1)
        put("third")
        delete("third")
        both[1].stop()
        assert any(collect()["removed_objects"] == 1 for _ in range(COLLECTIONS_MAX))
        collect()  # forgets which it was
        collect()
        both[1].start()
        expect_copies(1, 0)  # nobody can say which were removed
        for server in both:
            server.stop()
    finally:
        database.stop()


def test_a_second_server_is_refused_the_directory(cached, scratch_dir, versitygw):
    environment = {**versitygw.tarnd_environment(), "TARN_STORE_CACHE_DIRECTORY": scratch_dir / "copies"}
    second = servers.Tarnd(scratch_dir / "second", environment=environment)
    with pytest.raises(RuntimeError, match="another tarnd uses it"):
        second.start()
    assert cached.alive()


def test_a_prefix_is_copied_ahead_of_reads(cached, versitygw, name, tmp_path):
    lakefs.repository(name, client=clients.lakefs_client(cached)).create(storage_namespace=f"s3://{name}/space")
    s3 = clients.boto3_client(cached)
    bodies = {f"train/{n:03}": bytes([n % 251]) * (1000 + n) for n in range(250)}
    for path, body in bodies.items():
        s3.put_object(Bucket=name, Key=f"main/{path}", Body=body)
    s3.put_object(Bucket=name, Key="main/train/large", Body=bytes(9 << 20))
    s3.put_object(Bucket=name, Key="main/test/other", Body=b"other")
    clients.boto3_client(versitygw).put_object(Bucket=name, Key="raw/imported", Body=b"imported")
    cli = Cli(cached, tmp_path)
    cli.run("commit", f"tarn://{name}/main", "-m", "objects")
    cli.run("import", f"s3://{name}/raw/", f"tarn://{name}/main/train/raw/")

    warmed = cli.json("cache", "warm", f"tarn://{name}/main/train/")
    assert {key: warmed[key] for key in ("objects", "copied", "present", "left_out", "missing")} == {
        "objects": 252,
        "copied": 251,
        "present": 0,
        "left_out": 1,
        "missing": 0,
    }
    assert warmed["copied_bytes"] == sum(map(len, bodies.values())) + len(b"imported")

    before = measured(cached)
    for path, body in bodies.items():
        assert s3.get_object(Bucket=name, Key=f"main/{path}")["Body"].read() == body
    login = (cached.access_key, cached.secret_key)
    objects = f"{cached.url}/api/v1/repositories/{name}/refs/main/objects"
    assert requests.get(objects, params={"path": "train/raw/imported"}, auth=login, timeout=10).content == b"imported"
    after = measured(cached)
    assert after["gets"] == before["gets"]
    assert after["hits_total"] == before["hits_total"] + 251
    again = cli.json("cache", "warm", f"tarn://{name}/main/train/")
    assert (again["copied"], again["present"], measured(cached)["gets"]) == (0, 251, after["gets"])

    # An imported object whose source was changed, and one whose bytes are gone, are counted; the others are copied.
    clients.boto3_client(versitygw).put_object(Bucket=name, Key="raw/late", Body=b"late")
    cli.run("import", f"s3://{name}/raw/late", f"tarn://{name}/main/late")
    clients.boto3_client(versitygw).put_object(Bucket=name, Key="raw/late", Body=b"changed")
    found = cli.run("cache", "warm", f"tarn://{name}/main/", "-o", "json", status=20)
    assert '"missing": 1' in found.text or '"missing":1' in found.text


def test_who_may_not_read_copies_nothing(cached, name):
    client = clients.lakefs_client(cached)
    lakefs.repository(name, client=client).create(storage_namespace=f"s3://{name}/space")
    clients.boto3_client(cached).put_object(Bucket=name, Key="main/a", Body=b"secret")
    rest = clients.Rest(cached)
    assert rest("POST", "/auth/users", json={"id": "lister"}).status_code == 201
    policy = {
        "id": "lists",
        "statement": [{"effect": "allow", "action": ["fs:ListObjects", "fs:ReadRepository"], "resource": "*"}],
    }
    assert rest("POST", "/auth/policies", json=policy).status_code == 201
    assert rest("PUT", "/auth/users/lister/policies/lists").status_code == 201
    keys = rest("POST", "/auth/users/lister/credentials").json()
    login = (keys["access_key_id"], keys["secret_access_key"])
    refused = requests.post(f"{cached.url}/api/v1/repositories/{name}/refs/main/cache", auth=login, timeout=10)
    assert refused.status_code == 401
    assert measured(cached)["bytes"] == 0


def test_a_server_without_a_cache_says_so(tarn, repo):
    repo.branch("main").object("a").upload(data=b"bytes")
    refused = requests.post(
        f"{tarn.url}/api/v1/repositories/{repo.id}/refs/main/cache", auth=(tarn.access_key, tarn.secret_key), timeout=10
    )
    assert refused.status_code == 412
    assert refused.headers["X-Tarn-Error"] == "no_store_cache"
    assert "store.cache.directory" in refused.json()["message"]

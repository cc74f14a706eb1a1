"""Webhooks as receivers see them, with real servers that are killed, and the command."""

import base64
import hashlib
import hmac
import http.server
import json
import ssl
import subprocess
import threading
import time
import uuid

import pytest
import requests
import servers
from command import Cli

PATIENCE_SECONDS = 60
FAST = {
    "TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1",
    "TARN_WEBHOOKS_RETRY_FIRST": "50ms",
    "TARN_WEBHOOKS_ATTEMPTS_MAX": "3",
    "TARN_WEBHOOKS_TIMEOUT": "2s",
}


class Receiver:
    """Keeps what it is sent; `answer` says with which status each request is answered."""

    def __init__(self, answer=lambda got: 204, certificate=None):
        self.got = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                status = answer(receiver.got)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def ids(self):
        return [headers["webhook-id"] for headers, _ in self.got]

    def types(self):
        return [json.loads(body)["type"] for _, body in self.got]


@pytest.fixture
def receive():
    made = []

    def make(*arguments, **options):
        made.append(Receiver(*arguments, **options))
        return made[-1]

    yield make
    for receiver in made:
        receiver.close()


@pytest.fixture
def server(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd", environment=FAST).copy_data_of(initialised_data).start()
    yield server
    if server.alive():
        server.stop()


def call(server, method, path, status=None, **options):
    answer = requests.request(
        method, f"{server.url}/api/v1{path}", auth=(server.access_key, server.secret_key), timeout=30, **options
    )
    assert status is None or answer.status_code == status, (method, path, answer.status_code, answer.text)
    return answer


def make_repository(server):
    name = f"hooks-{uuid.uuid4().hex[:10]}"
    call(server, "POST", "/repositories", 201, json={"name": name, "storage_namespace": f"local://{name}"})
    return f"/repositories/{name}"


def make_branches(server, repo, count, start=0):
    for number in range(start, start + count):
        call(server, "POST", f"{repo}/branches", 201, json={"name": f"b{number}", "source": "main"})


def wait_for(what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def verify(secret, headers, body):
    """As the library of Standard Webhooks does."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == expected
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 300


def test_a_webhook_from_the_command(server, receive, tmp_path):
    receiver = receive()
    repo = make_repository(server)
    cli = Cli(server, tmp_path / "home", repo.split("/")[-1])
    cli.run("webhook", "set", "deploy", "http://192.168.7.7/", status=1)
    made = cli.json("webhook", "set", "deploy", receiver.url, "--event", "branch.*", "--event", "tag.created")
    assert made["events"] == ["branch.*", "tag.created"] and made["secret"].startswith("whsec_")
    assert cli.json("webhook", "ping", "deploy")["delivered"]
    call(server, "POST", f"{repo}/tags", 201, json={"id": "v1", "ref": "main"})
    make_branches(server, repo, 1)
    wait_for(lambda: len(receiver.got) == 3)
    assert sorted(receiver.types()) == ["branch.created", "ping", "tag.created"]
    for headers, body in receiver.got:
        verify(made["secret"], headers, body)
    told = {json.loads(body)["type"]: json.loads(body)["data"] for _, body in receiver.got}
    assert told["tag.created"]["name"] == "v1" and len(told["tag.created"]["new_commit"]) == 64
    assert told["tag.created"]["repository"] == repo.split("/")[-1]
    wait_for(lambda: len(cli.json("webhook", "deliveries", "deploy", "--state", "delivered")["items"]) == 2)
    assert "secret" not in cli.json("webhook", "show", "deploy")
    assert [item["id"] for item in cli.json("webhook", "ls")["items"]] == ["deploy"]
    cli.run("webhook", "redeliver", "deploy", status=2)
    cli.run("webhook", "redeliver", "deploy", "evt_0", status=4)
    cli.run("webhook", "rm", "deploy")
    cli.run("webhook", "show", "deploy", status=4)
    assert 'tarn_webhook_deliveries_total{outcome="delivered"} 2' in requests.get(f"{server.url}/metrics", timeout=10).text


def test_dead_letters_are_listed_and_sent_again(server, receive, tmp_path):
    broken = threading.Event()
    broken.set()
    receiver = receive(lambda got: 500 if broken.is_set() else 204)
    repo = make_repository(server)
    cli = Cli(server, tmp_path / "home", repo.split("/")[-1])
    cli.run("webhook", "set", "deploy", receiver.url)
    make_branches(server, repo, 2)

    def dead():
        return cli.json("webhook", "deliveries", "deploy", "--state", "dead")["items"]

    wait_for(lambda: len(dead()) == 2)
    assert len(receiver.got) == 6 and len(set(receiver.ids())) == 2
    assert {(item["attempts"], item["last_status"]) for item in dead()} == {(3, 500)}
    broken.clear()
    found = {item["check"]: item for item in cli.json("doctor", status=1)["items"]}["webhooks"]
    assert found["ok"] is False and "deploy: 2 events were given up" in found["found"]
    found = {item["check"]: item for item in cli.json("doctor", "--fix")["items"]}["webhooks"]
    assert found["fixed"] == "deploy: sends 2 events again"
    wait_for(lambda: not dead() and len(receiver.got) == 8)
    assert set(receiver.ids()[6:]) == set(receiver.ids()[:6]), "the ids stay"


def test_every_event_arrives_though_the_server_is_killed(server, receive):
    """kill -9 while deliveries are on their way: each arrives once at least, with its one id."""
    receiver = receive(lambda got: time.sleep(0.02) or 204)
    repo = make_repository(server)
    call(server, "PUT", f"{repo}/webhooks/deploy", 201, json={"url": receiver.url})
    made = 0
    for _ in range(3):
        make_branches(server, repo, 20, made)
        made += 20
        server.kill()
        server.start()
    wait_for(lambda: len(set(receiver.ids())) == made)
    names = {json.loads(body)["data"]["name"] for _, body in receiver.got}
    assert names == {f"b{number}" for number in range(made)}
    by_id = {}
    for headers, body in receiver.got:
        assert by_id.setdefault(headers["webhook-id"], body) == body


def test_two_servers_share_the_work(scratch_dir, receive):
    receiver = receive()
    database = servers.Postgres(scratch_dir / "postgres").start()
    shared = {"TARN_STORE_LOCAL_ROOT": scratch_dir / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32, **FAST}
    both = [
        servers.Tarnd(scratch_dir / f"tarnd-{n}", arguments=["--database", database.url()], environment=shared).start()
        for n in (1, 2)
    ]
    repo = make_repository(both[0])
    call(both[0], "PUT", f"{repo}/webhooks/deploy", 201, json={"url": receiver.url})
    make_branches(both[0], repo, 20)
    both[0].kill()
    make_branches(both[1], repo, 20, 20)
    wait_for(lambda: len(set(receiver.ids())) == 40)
    both[1].stop()
    database.stop()


def test_a_certificate_nobody_signed_is_refused(server, receive, tmp_path):
    pem = tmp_path / "self-signed.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            tmp_path / "key",
            "-out",
            tmp_path / "certificate",
        ],
        check=True,
        capture_output=True,
    )
    pem.write_bytes((tmp_path / "key").read_bytes() + (tmp_path / "certificate").read_bytes())
    receiver = receive(certificate=pem)
    repo = make_repository(server)
    call(server, "PUT", f"{repo}/webhooks/deploy", 201, json={"url": receiver.url})
    pinged = call(server, "POST", f"{repo}/webhooks/deploy:ping", 200).json()
    assert not pinged["delivered"] and "certificate" in pinged["error"]
    assert not receiver.got


def test_mlflow_receivers_get_what_they_know(server, receive):
    receiver = receive()
    repo = make_repository(server)
    secret = call(server, "PUT", f"{repo}/webhooks/registry", 201, json={"url": receiver.url, "format": "mlflow"}).json()[
        "secret"
    ]
    make_branches(server, repo, 1)
    call(server, "POST", f"{repo}/tags", 201, json={"id": "v1", "ref": "main"})
    wait_for(lambda: receiver.got)
    headers, body = receiver.got[0]
    told = json.loads(body)
    assert (told["entity"], told["action"]) == ("model_version", "created")
    assert set(told["data"]) == {"name", "version", "source", "run_id", "tags", "description"}
    signed = f"{headers['X-MLflow-Delivery-Id']}.{headers['X-MLflow-Timestamp']}.".encode() + body
    assert (
        headers["X-MLflow-Signature"]
        == "v1," + base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()
    )


def test_imports_tell_how_they_ended(server, receive):
    receiver = receive()
    repo = make_repository(server)
    call(server, "PUT", f"{repo}/webhooks/deploy", 201, json={"url": receiver.url, "events": ["import.*"]})
    source = server.import_root / "rows"
    source.mkdir()
    for n in range(3):
        (source / str(n)).write_text("row")

    def start(kind, path, destination):
        return call(
            server,
            "POST",
            f"{repo}/branches/main/import",
            202,
            json={
                "paths": [{"type": kind, "path": f"local://{path}", "destination": destination}],
                "commit": {"message": "rows"},
            },
        ).json()["id"]

    done = start("common_prefix", f"{source}/", "raw/")
    wait_for(lambda: receiver.got)
    failed = start("object", source / "absent", "raw/absent")
    wait_for(lambda: len(receiver.got) == 2)
    assert receiver.types() == ["import.completed", "import.failed"]
    told = [json.loads(body)["data"] for _, body in receiver.got]
    assert [(one["id"], one["branch"], one["actor"]) for one in told] == [(done, "main", "admin"), (failed, "main", "admin")]
    assert told[0]["objects"] == 3 and not told[0]["error"] and told[1]["error"]


def test_a_promotion_is_told_signed(server, receive, tmp_path):
    receiver = receive()
    repo = make_repository(server)
    cli = Cli(server, tmp_path / "home", repo.split("/")[-1])
    secret = cli.json("webhook", "set", "registry", receiver.url, "--event", "promotion.*", "--event", "alias.set")["secret"]
    make_branches(server, repo, 2)
    for branch, accuracy in (("b0", "0.9"), ("b1", "0.2")):
        call(
            server,
            "POST",
            f"{repo}/branches/{branch}/commits",
            201,
            json={"message": branch, "allow_empty": True, "metadata": {"metric.accuracy": accuracy}},
        )
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "name: digits\ndestination: main\nalias: champion\nmetrics:\n  - {name: accuracy, goal: max, min: 0.6, primary: true}\n"
    )
    cli.run("policy", "apply", "-f", policy)
    done = cli.json("promote", "b0", "--to", "main", "--wait", "--timeout", "60s")
    assert done["state"] == "promoted", done
    refused = cli.json("promote", "b1", "--to", "main", "--wait", "--timeout", "60s", status=10)
    wait_for(lambda: len(receiver.got) == 5)
    for headers, body in receiver.got:
        verify(secret, headers, body)
    told = {}
    for _, body in receiver.got:
        event = json.loads(body)
        told[event["type"], event["data"].get("promotion_id")] = event["data"]
    assert set(told) == {
        ("promotion.created", done["id"]),
        ("promotion.promoted", done["id"]),
        ("alias.set", done["id"]),
        ("promotion.created", refused["id"]),
        ("promotion.rejected", refused["id"]),
    }
    moved = told["promotion.promoted", done["id"]]
    assert (moved["commit"], moved["winner_commit"], moved["alias"]) == (done["result"], done["winner"]["commit"], "champion")
    assert told["alias.set", done["id"]]["new_commit"] == done["result"]

"""`tarn doctor`: each kind of trouble is found, and what to do about it is said."""

import http.server
import json
import threading
import time
from email.utils import formatdate

import proxies
import pytest
import servers

FIRST = ["server", "clock", "credentials", "version", "permissions", "store"]
CHECKS = [*FIRST, "settings file", "server state", "disk", "master key", "hooks", "webhooks", "policies", "leftovers"]


def examine(cli, *words, status=0, **environment):
    """The findings by check."""
    items = cli.json("doctor", *words, status=status, **environment)["items"]
    return {item["check"]: item for item in items}


def test_nothing_is_wrong(cli, repo):
    found = examine(cli)
    assert list(found) == CHECKS
    assert {name for name, item in found.items() if item["ok"] is not True} == {"store", "settings file"}
    assert found["store"]["ok"] is None and "--write" in found["store"]["found"]
    repo.branch("main").object("a").upload(b"a")
    assert "read tarn://" in examine(cli)["store"]["found"]
    everything = examine(cli, "--write")
    assert {name for name, item in everything.items() if item["ok"] is not True} == {"settings file"}
    assert everything["store writes"]["found"] == "written, read and deleted"
    assert [item["id"] for item in cli.json("branch", "list", "-a")["items"]] == ["main"]
    assert "yes" in cli.run("doctor").text


def test_no_server(cli):
    found = examine(cli, status=9, TARN_ENDPOINT="http://127.0.0.1:9")
    assert list(found) == ["server"]
    assert "start tarnd" in found["server"]["advice"] and "TARN_ENDPOINT" in found["server"]["advice"]


def test_wrong_and_missing_keys(cli):
    found = examine(cli, status=3, TARN_SECRET_KEY="wrong")
    assert list(found) == CHECKS[:3]
    assert found["credentials"]["ok"] is False and "TARN_ACCESS_KEY" in found["credentials"]["advice"]
    found = examine(cli, status=3, TARN_ACCESS_KEY="", TARN_SECRET_KEY="")
    assert "tarn auth login" in found["credentials"]["advice"]


def test_a_repository_that_is_not_there(cli):
    found = examine(cli, "nope", status=4)
    assert found["permissions"]["ok"] is False and "tarn repo list" in found["permissions"]["advice"]


def test_a_user_without_rights(cli, name):
    cli.run("auth", "users", "create", name)
    keys = cli.json("auth", "credentials", "create", name)
    own = {"TARN_ACCESS_KEY": keys["access_key_id"], "TARN_SECRET_KEY": keys["secret_access_key"]}
    found = examine(cli, status=3, **own)
    assert (found["credentials"]["ok"], found["permissions"]["ok"]) == (True, False)
    assert "policy" in found["permissions"]["advice"] and "store" not in found


def test_a_user_with_few_rights_has_nothing_to_mend(cli, repo, name, tmp_path):
    """As the job of docs/ci may be: what it may not look at is no failure."""
    policy = {
        "id": name,
        "statement": [
            {"effect": "allow", "action": ["fs:ListRepositories", "fs:ReadConfig"], "resource": "*"},
            {
                "effect": "allow",
                "action": ["fs:Read*", "fs:List*"],
                "resource": json.dumps([f"arn:lakefs:fs:::repository/{repo.id}", f"arn:lakefs:fs:::repository/{repo.id}/*"]),
            },
        ],
    }
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    cli.run("auth", "users", "create", name)
    cli.run("auth", "policies", "create", name, tmp_path / "policy.json")
    cli.run("auth", "policies", "attach", name, "--user", name)
    keys = cli.json("auth", "credentials", "create", name)
    found = examine(cli, TARN_ACCESS_KEY=keys["access_key_id"], TARN_SECRET_KEY=keys["secret_access_key"])
    for check in ("webhooks", "policies"):
        assert found[check]["ok"] is None and found[check]["found"].startswith("may not be looked at: "), found[check]
    assert [check for check, finding in found.items() if finding["ok"] is False] == []


def test_a_store_that_lost_its_bytes(cli, repo, tarn):
    repo.branch("main").object("a").upload(b"bytes")
    address = repo.ref("main").object("a").stat().physical_address
    (tarn.objects_dir / address.removeprefix("local://")).unlink()
    found = examine(cli, status=1)
    assert found["store"]["ok"] is False and "--check-config" in found["store"]["advice"]


class Odd:
    """A server that answers everything with the same."""

    def __init__(self, status, body, headers=()):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response_only(status)
                for header in [("Content-Length", str(len(body))), *headers]:
                    self.send_header(*header)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.mark.parametrize(
    "status, body, check",
    [(404, b"<html>", "server"), (200, b"<html>", "credentials"), (200, b"[]", "credentials"), (200, b"{}", "credentials")],
)
def test_another_service(cli, status, body, check):
    odd = Odd(status, body)
    found = examine(cli, status=4 if status == 404 else 1, TARN_ENDPOINT=odd.url)
    odd.server.shutdown()
    assert found[check]["ok"] is False and "something else answers there" in found[check]["advice"]


def test_clocks_that_differ(cli):
    user = json.dumps({"user": {"id": "admin"}}).encode()
    odd = Odd(200, user, [("Date", formatdate(1_700_000_000, usegmt=True))])
    found = examine(cli, status=1, TARN_ENDPOINT=odd.url)
    odd.server.shutdown()
    assert found["clock"]["ok"] is False and "NTP" in found["clock"]["advice"]
    assert found["credentials"]["found"].startswith("user admin")


class Scripted:
    """A server that answers each path as told, and other paths with 404."""

    def __init__(self, answers):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.split("?")[0].removeprefix("/api/v1")
                body = answers.get(path, '{"message": "there is none"}').encode()
                self.send_response(200 if path in answers else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def scripted(cli, *words, version="0.1.0", ready="ready\n", metrics="", status=1, more=None):
    """The findings about a server without repositories. `more`: answers by path."""
    config = {"version_config": {"tarn_version": version}, "storage_config": {}}
    nothing = {"pagination": {"has_more": False}, "results": []}
    server = Scripted(
        {
            "/healthcheck": "",
            "/user": json.dumps({"user": {"id": "admin"}}),
            "/config": json.dumps(config),
            "/repositories": json.dumps(nothing),
            "/_ready": ready,
            "/metrics": metrics,
            **{path: json.dumps(answer) for path, answer in (more or {}).items()},
        }
    )
    try:
        words = [word.replace("SERVER", server.url) for word in words]
        return examine(cli, *words, status=status, TARN_ENDPOINT=server.url, TARN_REPO="")
    finally:
        server.server.shutdown()


def test_a_server_of_another_version(cli):
    found = scripted(cli, version="0.9.2")
    assert found["version"]["ok"] is False and "0.9.2" in found["version"]["found"]
    assert scripted(cli, version="0.1.7", status=0)["version"]["ok"] is True


def test_the_state_that_the_server_tells(cli):
    found = scripted(cli, ready="not ready\nstore s3://lake: store_denied\nclock: this server is 9000 ms ahead of the database\n")
    assert found["server state"]["ok"] is False
    assert "store_denied" in found["server state"]["found"] and "9000 ms" in found["server state"]["found"]
    assert found["master key"]["ok"] is True


def test_a_master_key_that_the_next_start_would_miss(cli):
    found = scripted(cli, ready="ready\nmaster key: file_missing\n")
    assert found["master key"]["ok"] is False and "backup" in found["master key"]["advice"]
    assert found["server state"]["ok"] is True


def test_a_disk_that_is_almost_full(cli):
    metrics = "# HELP x\ntarn_store_free_bytes {}\ntarn_database_free_bytes 9e+10\n"
    found = scripted(cli, metrics=metrics.format(5e8))
    assert found["disk"]["ok"] is False and "tarn gc plan" in found["disk"]["advice"]
    assert scripted(cli, metrics=metrics.format(5e9), status=0)["disk"]["ok"] is True


def test_keys_that_others_can_read(cli, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("branch: main\n")
    file.chmod(0o644)
    found = examine(cli, status=1, TARN_CONFIG=str(file))
    assert found["settings file"]["ok"] is False and "chmod 600" in found["settings file"]["advice"]
    found = examine(cli, "--fix", TARN_CONFIG=str(file))
    assert found["settings file"]["fixed"] and file.stat().st_mode & 0o777 == 0o600
    assert examine(cli, TARN_CONFIG=str(file))["settings file"]["fixed"] == ""


def test_an_action_file_that_is_broken(cli, repo):
    repo.branch("main").object("_lakefs_actions/check.yaml").upload(b"name: [")
    found = examine(cli, status=1)
    assert found["hooks"]["ok"] is False and "_lakefs_actions/check.yaml" in found["hooks"]["found"]
    assert "tarn actions validate" in found["hooks"]["advice"]
    cli.run("fs", "rm", f"tarn://{repo.id}/main/_lakefs_actions/check.yaml")
    assert examine(cli)["hooks"]["found"] == "none"


def test_a_policy_that_tells_nobody(cli, repo, tmp_path):
    (tmp_path / "p.yaml").write_text("name: gate\ndestination: main\nafter: {webhook: [deploy]}\n")
    cli.run("policy", "apply", "-f", tmp_path / "p.yaml")
    found = examine(cli, status=1)
    assert found["policies"]["ok"] is False and "deploy" in found["policies"]["found"]
    cli.run("policy", "rm", "gate", "--yes")
    assert examine(cli)["policies"]["found"] == "none"


def test_branches_of_an_interrupted_run(cli, repo):
    cli.run("branch", "create", "tarn-doctor-0123", "--source", "main", "--hidden")
    found = examine(cli, status=1)
    assert found["leftovers"]["ok"] is False
    assert examine(cli, "--fix")["leftovers"]["fixed"] == "deleted 1 of them"
    assert [item["id"] for item in cli.json("branch", "list", "-a")["items"]] == ["main"]


OF_A_TEAM = ["https", "proxy", "operators' pages", "administrators", "servers", "backups"]


def of_a_team(cli, *words, members=2, versions=("0.1.0",), backup=None, status=0):
    """The findings of --server."""
    accounts = [{"id": f"user-{number}"} for number in range(members)]
    listed = [{"version": version, "alive": True} for version in versions] + [{"version": "0.0.9", "alive": False}]
    gauge = '# TYPE tarn_backup_last_success_timestamp_seconds gauge\ntarn_backup_last_success_timestamp_seconds{kind="objects"} '
    found = scripted(
        cli,
        "--server",
        *words,
        status=status,
        metrics="" if backup is None else f"{gauge}{backup}\n",
        more={
            "/auth/groups/Admins/members": {"pagination": {"has_more": False}, "results": accounts},
            "/config/servers": {"results": listed},
        },
    )
    assert list(found) == [*CHECKS, *OF_A_TEAM]
    return found


def test_a_server_for_a_team_has_backups(cli):
    now = time.time()
    assert of_a_team(cli, backup=f"{now - 3600:.0f}")["backups"]["ok"] is True
    assert of_a_team(cli)["backups"]["ok"] is None, "its metrics are elsewhere"
    for age in (now, 27 * 3600):
        found = of_a_team(cli, backup=f"{now - age:.0f}", status=1)["backups"]
        assert found["ok"] is False and "tarn-backup.timer" in found["advice"]
    assert of_a_team(cli, "--metrics", "SERVER/metrics", backup=f"{now:.0f}")["backups"]["ok"] is True
    assert of_a_team(cli, "--metrics", "SERVER/healthcheck", backup=f"{now:.0f}")["backups"]["ok"] is None


def test_a_server_for_a_team_has_two_administrators(cli):
    found = of_a_team(cli, members=1, status=1)["administrators"]
    assert found["ok"] is False and "--group Admins" in found["advice"]
    assert of_a_team(cli)["administrators"]["found"] == "2 administrators"


def test_servers_of_a_team_have_one_version(cli):
    found = of_a_team(cli, versions=("0.1.0", "0.1.1"), status=1)["servers"]
    assert found["ok"] is False and "0.1.0 and 0.1.1" in found["found"]
    assert of_a_team(cli, versions=("0.1.0", "0.1.0"))["servers"]["found"] == "2 servers of 0.1.0"


@pytest.fixture
def behind_a_proxy(scratch_dir, initialised_data):
    """Starts a server with settings behind nginx with TLS, and returns the findings of --server at its address."""
    started = []

    def start(settings, cli):
        place = scratch_dir / str(len(started))
        server = servers.Tarnd(place, environment=settings).copy_data_of(initialised_data).start()
        proxy = proxies.Nginx(place / "nginx", server.url).start()
        started.append((server, proxy))
        url, authority = proxy.reached("tls")
        return examine(
            cli,
            "--server",
            "--metrics",
            f"{server.url}/metrics",
            TARN_ENDPOINT=url,
            TARN_REPO="",
            SSL_CERT_FILE=authority,
            status=1,
        )

    yield start
    for server, proxy in started:
        proxy.stop()
        server.stop()


def test_a_server_for_a_team_knows_its_proxy_and_its_name(cli, behind_a_proxy):
    settings = {"TARN_HTTP_TRUSTED_PROXIES": "127.0.0.1", "TARN_SERVER_EXTERNAL_URL": "https://lake.example.com"}
    found = behind_a_proxy(settings, cli)
    assert found["https"]["ok"] is True and found["proxy"]["found"] == "presigned URLs begin with https://lake.example.com"
    assert found["backups"]["ok"] is False and found["administrators"]["ok"] is False
    assert found["operators' pages"]["found"] == "everybody can read /metrics, /_ready"
    found = behind_a_proxy({**settings, "TARN_HTTP_TRUSTED_PROXIES": ""}, cli)["proxy"]
    assert found["ok"] is False and "http.trusted_proxies" in found["advice"]
    found = behind_a_proxy({**settings, "TARN_SERVER_EXTERNAL_URL": ""}, cli)["proxy"]
    assert found["ok"] is False and "server.external_url" in found["advice"]

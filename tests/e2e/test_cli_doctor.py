"""`tarn doctor`: each kind of trouble is found, and what to do about it is said."""

import http.server
import json
import threading
from email.utils import formatdate

import pytest

CHECKS = ["server", "clock", "credentials", "version", "permissions", "store"]


def examine(cli, *words, status=0, **environment):
    """The findings by check."""
    items = cli.json("doctor", *words, status=status, **environment)["items"]
    return {item["check"]: item for item in items}


def test_nothing_is_wrong(cli, repo):
    found = examine(cli)
    assert list(found) == CHECKS
    assert {name for name, item in found.items() if item["ok"] is not True} == {"store"}
    assert found["store"]["ok"] is None and "--write" in found["store"]["found"]
    repo.branch("main").object("a").upload(b"a")
    assert "read tarn://" in examine(cli)["store"]["found"]
    everything = examine(cli, "--write")
    assert [item["ok"] for item in everything.values()] == [True] * 7
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


@pytest.mark.parametrize("status, body, check", [(404, b"<html>", "server"), (200, b"<html>", "credentials"),
                                                 (200, b"[]", "credentials"), (200, b"{}", "credentials")])
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

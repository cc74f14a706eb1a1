"""Collections lose nothing when the clock of the server, of the database, or of both jumps by an hour or a day."""

import time

import clients
import pytest
import servers
from jumping_clock import JumpingClock
from long_tests import LONG

HOUR, DAY = 3600, 24 * 3600
JUMPS = [HOUR, 0, -HOUR, DAY, -DAY, 0]
WAIT_SECONDS = 90
SETTINGS = {
    "TARN_GC_INTERVAL_HOURS": "0",
    "TARN_GC_GRACE_HOURS": "0",
    "TARN_GC_UNREACHABLE_DAYS": "0",
    "TARN_AUTH_MASTER_KEY": "a5" * 32,
    **servers.SHORT_LEASE,
}


@pytest.fixture(params=["server", "database", "both"] if LONG else ["both"])
def place(request, scratch_dir, monkeypatch):
    """(server, clocks that jump)"""
    clocks = {name: JumpingClock(scratch_dir, name) for name in ("server", "database")}
    database = servers.Postgres(scratch_dir / "postgres")
    with monkeypatch.context() as patch:
        for name, value in clocks["database"].environment().items():
            patch.setenv(name, value)
        database.start()
    server = servers.Tarnd(
        scratch_dir / "tarnd",
        arguments=["--database", database.url()],
        environment={**SETTINGS, "TARN_STORE_LOCAL_ROOT": scratch_dir / "objects", **clocks["server"].environment()},
    )
    server.start()
    server.objects = scratch_dir / "objects"
    yield server, list(clocks.values()) if request.param == "both" else [clocks[request.param]]
    server.stop()
    database.stop()


def must(server, method, path, **options):
    """A server whose registration ran out by the jump refuses for a moment."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        answer = clients.Rest(server)(method, path, **options)
        if answer.status_code not in (409, 423, 500, 503):
            assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
            return answer
        assert time.monotonic() < deadline, (method, path, answer.text)
        time.sleep(0.2)


def collect(server):
    runs = must(server, "GET", "/repositories/lake/gc/runs?amount=1").json()["results"]
    before = runs[0]["run"] if runs else 0
    must(server, "POST", "/repositories/lake/gc/runs", json={"yes_delete": 100})
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        runs = must(server, "GET", "/repositories/lake/gc/runs?amount=1").json()
        newest = (runs["results"] or [{"run": 0}])[0]
        if newest["run"] > before and newest["state"] != "running" and not runs["requested"]:
            return newest
        assert time.monotonic() < deadline, newest
        time.sleep(0.1)


@pytest.mark.timeout(900)
def test_nothing_is_lost_and_what_is_garbage_goes(place):
    server, clocks = place
    must(server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    base, kept, refused = "/repositories/lake", {}, 0

    def put(key, text, branch="main"):
        must(server, "POST", f"{base}/branches/{branch}/objects?path={key}", data=text)
        if branch == "main":
            kept[key] = text

    def check():
        for key, text in kept.items():
            assert must(server, "GET", f"{base}/refs/main/objects?path={key}").text == text, key

    for number, jump in enumerate(JUMPS):
        put(f"staged-{number}", "overwritten")
        put("again", f"first {number}")
        address = must(server, "GET", f"{base}/branches/main/staging/backing?path=linked-{number}&presign=true").json()
        branch = f"exp-{number}"
        must(server, "POST", f"{base}/branches", json={"name": branch, "source": "main"})
        put(f"moved-{number}", f"of a branch {number}", branch)
        collect(server)
        for clock in clocks:
            clock.jump_to(jump)
        time.sleep(0.1)
        put("again", f"second {number}")
        put(f"staged-{number}", f"staged {number}")
        must(server, "POST", f"{base}/branches/{branch}/commits", json={"message": "exp"})
        must(server, "POST", f"{base}/refs/{branch}/merge/main", json={"allow_dirty": True})
        kept[f"moved-{number}"] = f"of a branch {number}"
        must(
            server,
            "POST",
            f"{base}/branches/main/objects/copy?dest_path=copy-{number}",
            json={"src_path": f"moved-{number}", "src_ref": branch},
        )
        kept[f"copy-{number}"] = f"of a branch {number}"
        must(server, "DELETE", f"{base}/branches/{branch}")
        assert collect(server)["state"] == "done"
        body = f"linked {number}".encode()
        if clients.requests.put(address["presigned_url"], data=body, timeout=20).ok:  # it may have expired by the jump
            answer = clients.Rest(server)(
                "PUT",
                f"{base}/branches/main/staging/backing?path=linked-{number}",
                json={"staging": {"physical_address": address["physical_address"]}, "checksum": "", "size_bytes": len(body)},
            )
            if answer.status_code == 200:
                kept[f"linked-{number}"] = body.decode()
            else:
                refused += 1
        check()
        assert collect(server)["state"] == "done"
        check()
    # Bytes whose link was refused stay until the clock has passed the time of their address, which may be a day ahead.
    for _ in range(3):
        collect(server)
    check()
    plan = must(server, "GET", f"{base}/gc/plan").json()
    assert plan["due_objects"] == 0 and plan["waiting_objects"] <= refused, (plan, refused)
    assert plan["stored_objects"] == len([path for path in servers.files_below(server.objects) if path.startswith("lake/data/")])

"""Operations: background requests, the server's figures, storage."""

import http.server
import os
import re
import socket
import threading

import browser
import outcome
import requests
import servers
from browser import eventually
from playwright.sync_api import expect

ENVIRONMENT = {"TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1"}


def test_a_long_request_is_listed_with_its_answer(window, rest):
    rest.repository("long")
    rest.upload("long", "a", "a")
    answer = rest(
        "POST", "/repositories/long/branches/main/commits", json={"message": "slow"}, headers={"Prefer": "respond-async"}
    )
    assert answer.status_code == 202, answer.text
    page = window.go("/admin/operations")
    page.get_by_role("grid", name="Background requests").get_by_text("commit", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("done")
    window.review("operations")


def test_imports_are_listed_as_jobs(window, rest, tarn):
    rest.repository("fed")
    (tarn.import_root / "lake").mkdir()
    (tarn.import_root / "lake" / "a").write_text("a")
    page = window.go("/admin/jobs")
    expect(page.get_by_text("No job has run lately.")).to_be_visible()

    def begin(directory):
        return rest.post(
            "/repositories/fed/branches/main/import",
            {
                "paths": [{"type": "common_prefix", "path": f"local://{tarn.import_root}/{directory}/", "destination": ""}],
                "commit": {"message": "import"},
            },
        )["id"]

    done = begin("lake")
    eventually(page, lambda: rest.get("/repositories/fed/branches/main/import", id=done)["completed"])
    # The list notices new jobs.
    table = page.get_by_role("grid", name="Jobs")
    expect(table.get_by_role("row").nth(1)).to_contain_text("fed / main")
    expect(table.get_by_role("row").nth(1)).to_contain_text("done")
    table.get_by_text("Import", exact=True).click()
    expect(page.get_by_role("dialog", name="Import")).to_contain_text("1 object")
    window.review("jobs")
    # Of other people, those may see them who may list users.
    rest.post("/auth/users", {"id": "feeder"})
    key = rest.post("/auth/users/feeder/credentials", {})
    auth = (key["access_key_id"], key["secret_access_key"])
    assert requests.get(f"{tarn.url}/api/v1/jobs", auth=auth, timeout=60).json()["results"] == []
    assert requests.get(f"{tarn.url}/api/v1/jobs?everyone=true", auth=auth, timeout=60).status_code == 401
    assert [job["user"] for job in rest.get("/jobs", everyone="true")["results"]] == ["admin"]


def test_a_running_import_is_cancelled(window, rest, tarn):
    """It waits for a hook meanwhile."""
    asked, release = threading.Event(), threading.Event()

    class Waits(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked.set()
            release.wait(browser.WAIT_MS / 1000)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Waits)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rest.repository("stopped")
    rest.upload(
        "stopped",
        "_lakefs_actions/a.yaml",
        f"name: waits\non: {{pre-commit: {{branches: [fed]}}}}\nhooks: [{{id: waits, type: webhook, properties: {{url: 'http://127.0.0.1:{server.server_port}/'}}}}]\n",
    )
    rest.commit("stopped")
    rest.branch("stopped", "fed")
    (tarn.import_root / "more").mkdir()
    (tarn.import_root / "more" / "a").write_text("a")
    job = rest.post(
        "/repositories/stopped/branches/fed/import",
        {
            "paths": [{"type": "common_prefix", "path": f"local://{tarn.import_root}/more/", "destination": ""}],
            "commit": {"message": "import"},
        },
    )["id"]
    try:
        assert asked.wait(browser.WAIT_MS / 1000)
        page = window.go("/admin/jobs")
        row = page.get_by_role("grid", name="Jobs").get_by_role("row").filter(has_text="stopped / fed")
        expect(row).to_contain_text("running")
        row.get_by_text("Import", exact=True).click()
        dialog = page.get_by_role("dialog", name="Import")
        window.review("job-running")
        dialog.get_by_role("button", name="Cancel the job").click()
        expect(dialog.get_by_text("cancelled")).to_be_visible()
        expect(dialog.get_by_role("button", name="Cancel the job")).to_have_count(0)
        expect(row).to_contain_text("cancelled")
    finally:
        release.set()
        server.shutdown()
    assert [one["state"] for one in rest.get("/jobs")["results"] if one["id"] == job] == ["cancelled"]
    assert "a" not in rest.paths("stopped", "fed")


def test_the_server_page_shows_health_and_figures(window, rest):
    page = window.go("/admin/server")
    expect(page.get_by_text("ready: database and store answer")).to_be_visible()
    # Two samples make a rate.
    expect(page.get_by_role("img", name="Requests: now")).to_be_visible()
    window.review("server")


def test_servers_over_one_database_are_listed_with_their_versions(request, chromium, session_scratch):
    place = session_scratch / "two-servers"
    pair = servers.Tarnds(place, 2)
    pair.database.start()
    one, two = [server.start() for server in pair.each]
    window = browser.Window(chromium, one, screenshots=request.config.getoption("--screenshots"))
    try:
        page = window.sign_in().go("/admin/server")
        listed = page.get_by_role("region", name="Servers")
        rows = listed.get_by_role("row")
        here, there = rows.filter(has_text=one.listen), rows.filter(has_text=two.listen)
        expect(here).to_contain_text("this one")
        expect(here).to_contain_text("alive")
        expect(here).to_contain_text(socket.gethostname())
        expect(there).to_contain_text("alive")
        expect(there).not_to_contain_text("this one")
        version = outcome.Outcome(one).get("/config/version")["tarn_version"]
        expect(listed).to_contain_text(f"2 servers over this database, all of version {version}")
        # As another version would have announced itself.
        two.kill()
        pair.database.ask(f"UPDATE servers SET version = '0.0.1', seen_at = clock_timestamp() WHERE listen = '{two.listen}'")
        page.reload()
        expect(listed).to_contain_text(f"2 servers over this database, of different versions: 1 of 0.0.1, 1 of {version}")
        window.review("servers")
        page.set_viewport_size(browser.NARROW)
        expect(here.get_by_role("rowheader")).to_contain_text(version)
        expect(listed.get_by_role("columnheader")).to_have_text(["Host", "Last seen", "State"])
        assert listed.evaluate(
            "element => [...element.querySelectorAll('*')].every((inner) => inner.getBoundingClientRect().right <= innerWidth)"
        )
        page.set_viewport_size(browser.WIDE)
        # Nobody waits a minute: its last announcement becomes one of two minutes ago.
        pair.database.ask(f"UPDATE servers SET seen_at = clock_timestamp() - interval '2 minutes' WHERE listen = '{two.listen}'")
        page.reload()
        expect(there).to_contain_text("gone")
        expect(there).to_contain_text("2 min ago")
        expect(here).to_contain_text("alive")
        expect(listed).to_contain_text(f"One server over this database, of version {version}")
        assert not window.unexpected_problems()
        # Of people who may not see them, nobody does, and the page asks for nothing that is refused.
        rest = outcome.Outcome(one)
        rest.post("/auth/users", {"id": "curious"})
        key = rest.post("/auth/users/curious/credentials", {})
        other = browser.Window(chromium, one)
        other.sign_in(key["access_key_id"], key["secret_access_key"])
        asked = []
        other.page.on("request", lambda request: asked.append(request.url))
        expect(other.go("/admin/server").get_by_text("ready: database and store answer")).to_be_visible()
        eventually(other.page, lambda: any("permissions/check" in url for url in asked))
        other.page.wait_for_load_state("networkidle")
        expect(other.page.get_by_role("region", name="Servers")).to_have_count(0)
        assert not [url for url in asked if "/config/servers" in url]
        assert not other.unexpected_problems()
        other.close()
    finally:
        window.close()
        two.kill()
        one.stop()
        pair.database.stop()


def test_the_configuration_is_shown_without_secrets(window, open_window, tarn, rest):
    page = window.go("/admin/configuration")
    settings = page.get_by_role("list", name="Settings")
    expect(settings.get_by_role("listitem").filter(has_text="store.local.import_roots")).to_contain_text(str(tarn.import_root))
    assert tarn.secret_key not in page.content() and tarn.secret_key not in rest("GET", "/config/settings").text
    window.review("configuration")
    page.get_by_label("Only changed ones").check()
    page.get_by_label("Find a setting").fill("import_roots")
    expect(settings.get_by_role("listitem")).to_have_count(1)
    page.wait_for_url("**/admin/configuration?changed=1&q=import_roots")
    page.get_by_label("Find a setting").fill("no such setting")
    expect(page.get_by_text("0 of")).to_be_visible()
    # Of people who may not read it, nobody sees it.
    rest.post("/auth/users", {"id": "curious"})
    key = rest.post("/auth/users/curious/credentials", {})
    other = open_window().sign_in(key["access_key_id"], key["secret_access_key"])
    expect(other.go("/admin/configuration").get_by_role("alert")).to_contain_text("auth:ListUsers")


def test_storage_shows_the_plan_and_commits_are_held(window, rest):
    rest.repository("kept")
    rest.upload("kept", "a", "a" * 1000)
    commit = rest.commit("kept", "first")
    page = window.go("/admin/storage?repository=kept")
    expect(page.get_by_role("region", name="Plan")).to_contain_text("Stored objects")
    page.get_by_role("button", name="Hold a commit…").click()
    page.get_by_label("Ref", exact=True).fill("main")
    page.get_by_label("Reason").fill("the paper")
    page.get_by_role("button", name="Hold", exact=True).click()
    expect(page.get_by_role("region", name="Holds")).to_contain_text("the paper")
    assert [hold["commit_id"] for hold in rest.get("/repositories/kept/gc/holds")["results"]] == [commit["id"]]
    window.review("storage")
    page.get_by_role("button", name="Collect…").click()
    page.get_by_role("button", name="Collect garbage").click()
    expect(page.get_by_text("The collection is requested")).to_be_visible()
    runs = rest.get("/repositories/kept/gc/runs")
    assert runs["requested"] or runs["results"]


def test_a_failed_collection_says_when_it_is_retried(window, tarn, rest):
    rest.repository("failing")
    rest.upload("failing", "a", "a")
    # Each collection asks whose the objects are, and refuses to guess.
    records = tarn.objects_dir / "failing/_tarn/collector"
    owner = records.parent.parent.stat()
    record = records / "nonsense"
    records.mkdir(parents=True, exist_ok=True)
    record.write_bytes(b"")
    record.chmod(0o440)
    for made in (records.parent, records, record):
        os.chown(made, owner.st_uid, owner.st_gid)
    page = window.go("/admin/storage?repository=failing")
    collections = page.get_by_role("region", name="Collections")
    page.get_by_role("button", name="Collect…").click()
    page.get_by_role("button", name="Collect garbage").click()
    eventually(page, lambda: "retry_date" in rest.get("/repositories/failing/gc/runs"))
    runs = rest.get("/repositories/failing/gc/runs")
    assert (runs["results"][0]["state"], runs["retries_left"]) == ("failed", 4)
    coming = page.get_by_role("status").filter(has_text="more retries")
    expect(coming).to_contain_text("is retried in")
    expect(coming).to_contain_text("4 more retries if that fails too")
    expect(collections.get_by_role("listitem")).to_contain_text(runs["results"][0]["error"])
    expect(coming).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$"))
    expect(collections.get_by_role("listitem")).to_contain_text("admin, just now")
    page.get_by_role("button", name="Dismiss").click()
    window.review("storage-retry")
    # A request of its own begins at once; what waits can be cancelled.
    page.get_by_role("button", name="Collect…").click()
    page.get_by_role("button", name="Collect garbage").click()
    expect(collections.get_by_text("run 2")).to_be_visible()
    expect(coming).to_contain_text("4 more retries if that fails too")
    page.get_by_role("button", name="Cancel the request…").click()
    page.get_by_role("button", name="Cancel the request", exact=True).click()
    expect(coming).to_be_hidden()
    runs = rest.get("/repositories/failing/gc/runs")
    assert (runs["requested"], "retry_date" in runs, len(runs["results"])) == (False, False, 2)

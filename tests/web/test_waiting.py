"""A slow server, one that fails or is away, and sessions that end while a page is open: nothing waits for ever, and nothing typed is lost."""

import contextlib
import http.server
import os
import re
import signal
import threading

import browser as browsers
import pytest
import requests
import servers
from browser import eventually
from playwright.sync_api import expect

LISTING = re.compile(r"/api/v1/repositories\?")
READY = re.compile(r"/_ready$")
LACKING = (
    "it lacks writes that were acknowledged (up to 3 commits since 2026-11-29T01:00:00Z): accept the loss: tarn admin accept-loss"
)
# As in web/src/api/client.ts and web/src/ui/states.tsx.
READ_WAIT_MS = 60_000
SLOW_MS = 10_000
# After which the attempts of an upload are over, if the server answers none, as in web/src/objects/upload_queue.ts.
ATTEMPTS_MS = 11_000
# Of the module's server, which a test kills.
ENVIRONMENT = servers.SHORT_LEASE
# Errors that the browser logs of requests to a killed server.
BROKEN = (
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_CONNECTION_ABORTED",
    "ERR_EMPTY_RESPONSE",
    "ERR_SOCKET_NOT_CONNECTED",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
)


@pytest.fixture
def timed(open_window):
    """A window of the test alone, whose clock it puts forward instead of waiting."""
    window = open_window().sign_in()
    window.page.clock.install()
    window.loads = True
    return window


@pytest.fixture
def clock(timed):
    return timed.page.clock


def lost(page):
    """The button of the banner that is there while the server does not answer, or is not ready."""
    return page.get_by_role("status").get_by_role("button", name="Try now")


def uploading(page):
    """The button of a folder whose listing has come."""
    return page.get_by_role("button", name="Upload", exact=True)


def test_a_slow_answer_has_a_placeholder_and_the_page_stays_usable(timed, clock, rest):
    rest.repository("slow")
    page = timed.page
    held = browsers.Held(page, LISTING)
    page.goto("/")
    loading = page.get_by_role("main").get_by_role("status", name="Loading")
    expect(loading).to_be_visible()
    expect(loading).to_have_text("")
    clock.fast_forward(SLOW_MS)
    expect(loading).not_to_have_text("")
    expect(lost(page)).to_be_hidden()
    timed.review("slow")
    page.get_by_role("link", name="Connect").click()
    page.wait_for_url("**/connect")
    page.go_back()
    held.release()
    expect(page.get_by_role("link", name="slow", exact=True)).to_be_visible()
    expect(loading).to_be_hidden()


def test_an_answer_that_never_comes_ends_with_a_message(timed, clock, rest):
    rest.repository("never")
    page = timed.page
    held = browsers.Held(page, LISTING)
    page.goto("/")
    eventually(page, lambda: held.waiting)
    clock.fast_forward(READ_WAIT_MS)
    failed = page.get_by_role("main").get_by_role("alert")
    expect(failed).to_contain_text(f" {READ_WAIT_MS // 1000} s.")
    expect(lost(page)).to_be_hidden()  # it answers others
    timed.review("no-answer")
    page.unroute(LISTING)
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="never", exact=True)).to_be_visible()


def test_a_server_that_hangs_is_noticed_and_comes_back(timed, clock, tarn, rest):
    rest.repository("hanging")
    page = timed.go("/")
    expect(page.get_by_role("link", name="hanging", exact=True)).to_be_visible()
    os.kill(tarn.process.pid, signal.SIGSTOP)
    try:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.get_by_role("searchbox", name="Search repositories").fill("hang")
        eventually(page, lambda: any(LISTING.search(url) for url in asked))
        clock.fast_forward(SLOW_MS)
        eventually(page, lambda: any(READY.search(url) for url in asked))
        clock.fast_forward(SLOW_MS)
        expect(lost(page)).to_be_visible()
    finally:
        os.kill(tarn.process.pid, signal.SIGCONT)
    clock.fast_forward(SLOW_MS)
    expect(lost(page)).to_be_hidden()
    expect(page.get_by_role("link", name="hanging", exact=True)).to_be_visible()


def test_a_failure_has_its_request_id_and_can_be_tried_again(window, rest):
    rest.repository("failing")
    window.expect_problem("500")
    page = window.page
    page.route(
        LISTING,
        lambda route: route.fulfill(
            status=500, json={"message": "the disk is on fire", "code": "internal", "request_id": "REQ-500"}
        ),
    )
    page.goto("/")
    failed = page.get_by_role("main").get_by_role("alert")
    for said in ("the disk is on fire", "internal", "REQ-500"):
        expect(failed).to_contain_text(said)
    expect(failed.get_by_role("paragraph")).to_have_count(3)  # the message, what to do, and both ids
    window.review("failure")
    page.unroute(LISTING)
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="failing", exact=True)).to_be_visible()


def test_a_server_without_its_database_is_said_to_be_and_comes_back(timed, clock, rest):
    rest.repository("unready")
    timed.expect_problem("503")
    page = timed.page
    page.route(
        LISTING,
        lambda route: route.fulfill(status=503, json={"message": "the database does not answer", "request_id": "REQ-503"}),
    )
    page.route(READY, lambda route: route.fulfill(status=503, body=f"not ready\ndatabase: database_went_back\n{LACKING}\n"))
    page.goto("/")
    expect(lost(page)).to_be_visible()
    expect(page.get_by_text(f"database: database_went_back; {LACKING}")).to_be_visible()
    timed.review("unready")
    clock.run_for(SLOW_MS)
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("REQ-503")
    timed.axe()
    page.unroute(LISTING)
    page.unroute(READY)
    clock.fast_forward(2 * SLOW_MS)
    expect(page.get_by_role("link", name="unready", exact=True)).to_be_visible()
    expect(lost(page)).to_be_hidden()


def test_text_is_kept_when_it_cannot_be_saved(window, rest):
    rest.repository("kept")
    window.expect_problem("ERR_FAILED")
    saving = re.compile(r"/branches/main/objects\?path=")
    page = window.go("/r/kept/main/data")
    page.route(saving, lambda route: route.abort())
    uploading(page).click()
    page.get_by_role("menuitem", name=re.compile("New text object")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Path").fill("notes.md")
    dialog.get_by_label("Text").fill("# an hour of work")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert rest.paths("kept") == []
    page.unroute(saving)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert rest.read("kept", "notes.md") == b"# an hour of work"


@contextlib.contextmanager
def slow_uploads(page, bytes_per_second):
    network = page.context.new_cdp_session(page)
    network.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytes_per_second},
    )
    yield
    network.detach()


def test_uploads_go_on_after_the_server_was_killed(window, tarn, rest, tmp_path):
    """When some files have arrived, some are on their way, one of them in parts, and others wait."""
    rest.repository("killed")
    for problem in BROKEN:
        window.expect_problem(problem)
    contents = {f"{number:02}.bin": bytes([number]) * 100_000 for number in range(12)}
    large = bytes(range(256)) * (33 * 4096)
    (tmp_path / "large.bin").write_bytes(large)
    page = window.go("/r/killed/main/data?path=in/")
    expect(uploading(page)).to_be_visible()
    with slow_uploads(page, 400_000):
        files = page.get_by_label("Files to upload")
        files.set_input_files(str(tmp_path / "large.bin"))
        files.set_input_files(
            [{"name": name, "mimeType": "application/octet-stream", "buffer": content} for name, content in contents.items()]
        )
        eventually(page, lambda: rest.paths("killed"))
        tarn.kill()
    uploads = page.get_by_role("region", name="Uploads")
    expect(lost(page)).to_be_visible()
    page.wait_for_timeout(ATTEMPTS_MS)
    expect(uploads.get_by_role("status")).to_contain_text("Uploading")
    expect(uploads.get_by_role("alert")).to_have_count(0)
    tarn.start()
    expect(uploads).to_contain_text(f"{len(contents) + 1} files uploaded", timeout=2 * browsers.WAIT_MS)
    expect(lost(page)).to_be_hidden()
    assert rest.paths("killed") == [f"in/{name}" for name in (*contents, "large.bin")]
    for name, content in {**contents, "large.bin": large}.items():
        assert rest.read("killed", f"in/{name}") == content, name
    expect(page.get_by_text(f"{len(contents) + 1} uncommitted changes on main")).to_be_visible()
    rest.commit("killed")
    added = rest.get("/repositories/killed/refs/main~1/diff/main")["results"]
    assert [(entry["type"], entry["path"]) for entry in added] == [("added", f"in/{name}") for name in (*contents, "large.bin")]


def a_user(rest, name):
    """A user who may do all, and their key."""
    rest.post("/auth/users", {"id": name})
    rest.ask("PUT", f"/auth/groups/Admins/members/{name}")
    return rest.post(f"/auth/users/{name}/credentials", {})


def end_session(window):
    """On the server, while the page keeps its cookie: as when it expires."""
    cookies = window.context.cookies()
    window.expect_problem("401")
    window.context.request.post("/logout", max_redirects=0)
    window.context.add_cookies(cookies)


def login_above(page, key):
    above = page.get_by_role("dialog", name="Sign in to Tarn")
    expect(above).to_be_visible()
    above.get_by_label("Access key id").fill(key["access_key_id"])
    above.get_by_label("Secret access key").fill(key["secret_access_key"])
    page.keyboard.press("Enter")
    return above


def admin_key(tarn):
    return {"access_key_id": tarn.access_key, "secret_access_key": tarn.secret_key}


def test_a_form_outlives_its_session(window, tarn, rest):
    page = window.go("/?q=outlives")
    page.get_by_role("button", name="Create repository").first.click()
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill("outlives-its-session")
    end_session(window)
    page.keyboard.press("Enter")
    above = page.get_by_role("dialog", name="Sign in to Tarn")
    expect(above).to_contain_text("admin")
    expect(above.get_by_label("Access key id")).to_be_focused()
    window.review("session-ended")
    page.keyboard.press("Escape")
    expect(above).to_be_visible()
    login_above(page, {**admin_key(tarn), "secret_access_key": "wrong" * 5})
    expect(above.get_by_role("alert")).to_contain_text("wrong_secret_key")
    login_above(page, admin_key(tarn))
    expect(above).to_be_hidden()
    assert "/?q=outlives" in page.url
    form = page.get_by_role("dialog")
    expect(form.get_by_label("Name", exact=True)).to_have_value("outlives-its-session")
    form.get_by_role("button", name="Create repository").click()
    page.wait_for_url("**/r/outlives-its-session/**")
    assert rest.status("/repositories/outlives-its-session") == 200


def test_an_upload_waits_for_the_login_and_goes_on(window, tarn, rest):
    rest.repository("uploads")
    page = window.go("/r/uploads/main/data")
    expect(uploading(page)).to_be_visible()
    end_session(window)
    page.get_by_label("Files to upload").set_input_files(
        [{"name": f"{name}.txt", "mimeType": "text/plain", "buffer": name.encode()} for name in ("one", "two")]
    )
    above = login_above(page, admin_key(tarn))
    expect(above).to_be_hidden()
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("2 files uploaded")
    assert rest.paths("uploads") == ["one.txt", "two.txt"]


def test_a_revoked_key_leads_to_the_login_and_the_page_stays(open_window, rest):
    key = a_user(rest, "revoked")
    window = open_window().sign_in(key["access_key_id"], key["secret_access_key"])
    page = window.go("/?q=nothing-like-it")
    expect(page.get_by_role("button", name="Account of revoked")).to_be_visible()
    window.expect_problem("401")
    other = rest.post("/auth/users/revoked/credentials", {})
    rest.ask("DELETE", f"/auth/users/revoked/credentials/{key['access_key_id']}")
    # The page asks for running operations every 5 s, so it notices by itself.
    above = login_above(page, key)
    expect(above.get_by_role("alert")).to_contain_text("unknown_access_key")
    login_above(page, other)
    expect(above).to_be_hidden()
    assert page.url.endswith("/?q=nothing-like-it")


def test_another_user_gets_a_page_of_their_own(window, rest):
    key = a_user(rest, "somebody-else")
    page = window.go("/")
    page.get_by_role("button", name="Create repository").first.click()
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill("of-the-first-one")
    end_session(window)
    page.keyboard.press("Enter")
    login_above(page, key)
    expect(page.get_by_role("button", name="Account of somebody-else")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_label("Name", exact=True)).to_have_value("")


def test_a_login_in_another_tab_is_one_of_this_page_too(window, rest):
    rest.repository("two-tabs")
    page = window.go("/")
    expect(page.get_by_role("link", name="two-tabs", exact=True)).to_be_visible()
    end_session(window)
    page.get_by_role("searchbox", name="Search repositories").fill("two")
    above = page.get_by_role("dialog", name="Sign in to Tarn")
    expect(above).to_be_visible()
    window.sign_in()
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(above).to_be_hidden()
    expect(page.get_by_role("link", name="two-tabs", exact=True)).to_be_visible()


@contextlib.contextmanager
def listening(answer):
    """The address of an HTTP server here; `answer` gets its handler for each request."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def gateway(tarn):
    """Single sign-on for the administrator: signs in at the server, hands the session on as a cookie of this host, and leads back."""

    def sign_on(handler):
        answer = requests.post(f"{tarn.url}/api/v1/auth/login", json=admin_key(tarn), timeout=30)
        handler.send_response(302)
        handler.send_header("Set-Cookie", answer.headers["Set-Cookie"])
        handler.send_header("Location", f"{tarn.url}/")
        handler.end_headers()

    with listening(sign_on) as url:
        yield url


def a_form_whose_session_ended(window, name):
    """The page with what was typed, and the login above it."""
    page = window.go("/")
    page.get_by_role("button", name="Create repository").first.click()
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill(name)
    end_session(window)
    page.keyboard.press("Enter")
    above = page.get_by_role("dialog", name="Sign in to Tarn")
    expect(above).to_be_visible()
    return page, above


def goes_on_with_its_form(page, above, rest, name):
    page.bring_to_front()
    page.evaluate(
        "window.dispatchEvent(new Event('focus'))"
    )  # which Chromium tells no page under Playwright: to each it says that it has it
    expect(above).to_be_hidden()
    form = page.get_by_role("dialog")
    expect(form.get_by_label("Name", exact=True)).to_have_value(name)
    form.get_by_role("button", name="Create repository").click()
    page.wait_for_url(f"**/r/{name}/**")
    assert rest.status(f"/repositories/{name}") == 200


def test_a_form_goes_on_after_a_login_in_another_tab(window, tarn, rest):
    page, above = a_form_whose_session_ended(window, "of-two-tabs")
    other = window.context.new_page()
    other.goto("/")
    expect(other.get_by_role("heading", name="Sign in to Tarn")).to_be_visible()
    key = admin_key(tarn)
    other.get_by_label("Access key id").fill(key["access_key_id"])
    other.get_by_label("Secret access key").fill(key["secret_access_key"])
    other.keyboard.press("Enter")
    expect(other.get_by_role("heading", name="Repositories")).to_be_visible()
    goes_on_with_its_form(page, above, rest, "of-two-tabs")


def test_a_form_goes_on_after_single_sign_on_in_another_tab(window, tarn, rest, gateway):
    window.expect_problem(gateway)
    settings = re.compile(r"/api/v1/setup_lakefs$")

    def announce(route):
        """As a server that has single sign-on does; Tarn has none yet."""
        state = route.fetch().json()
        state["login_config"].update(login_url=gateway, login_url_method="redirect")
        route.fulfill(json=state)

    window.page.route(settings, announce)
    page, above = a_form_whose_session_ended(window, "of-single-sign-on")
    window.axe()
    with window.context.expect_page() as opened:
        above.get_by_role("link", name="Single sign-on in another tab").click()
    expect(opened.value.get_by_role("heading", name="Repositories")).to_be_visible()
    assert opened.value.evaluate("window.opener") is None
    goes_on_with_its_form(page, above, rest, "of-single-sign-on")


class HeldHook:
    """A webhook that answers once it is released: what runs it waits so long."""

    def __init__(self):
        self.called, self.released = threading.Event(), threading.Event()

    def answer(self, handler):
        handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.called.set()
        self.released.wait(browsers.WAIT_MS / 1000)
        handler.send_response(200)
        handler.send_header("Content-Length", "0")
        handler.end_headers()


@pytest.fixture
def hook():
    made = HeldHook()
    with listening(made.answer) as made.url:
        yield made
        made.released.set()


@pytest.mark.parametrize("ends", ["after", "before"])
def test_an_import_is_followed_again_after_the_login(window, tarn, rest, hook, ends):
    """It ends after the login, or before, when nobody could see it."""
    name = f"ends-{ends}"
    rest.repository(name)
    rest.upload(
        name,
        "_lakefs_actions/held.yaml",
        f"""name: held
on:
  pre-commit:
hooks:
  - id: waits
    type: webhook
    properties: {{url: "{hook.url}", timeout: 1m}}
""",
    )
    hook.released.set()
    rest.commit(name, "hooks")
    hook.called.clear()
    hook.released.clear()
    source = tarn.import_root / name
    source.mkdir()
    for number in range(5):
        (source / f"{number}.txt").write_text(str(number))
    page = window.go(f"/r/{name}/main/data")
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_role("menuitem", name="Import…").click()
    dialog = page.get_by_role("dialog", name=f"Import into {name} at main")
    dialog.get_by_label("Source", exact=True).fill(f"local://{source}/")
    dialog.get_by_label("Destination prefix").fill("raw/")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_role("button", name="Import", exact=True).click()
    eventually(page, hook.called.is_set)
    expect(dialog).to_contain_text("5 objects so far")
    end_session(window)
    expect(page.get_by_role("dialog", name="Sign in to Tarn")).to_be_visible()
    if ends == "before":
        hook.released.set()
        eventually(page, lambda: rest.paths(name, prefix="raw/"))
    above = login_above(page, admin_key(tarn))
    expect(above).to_be_hidden()
    if ends == "after":
        expect(dialog).to_contain_text("5 objects so far")
        expect(dialog.get_by_role("alert")).to_have_count(0)
        hook.released.set()
    expect(dialog).to_contain_text("Imported 5 objects in commit")
    dialog.get_by_role("button", name="Show the data").click()
    page.wait_for_url("**/data?path=raw/")
    assert rest.paths(name, prefix="raw/") == [f"raw/{number}.txt" for number in range(5)]
    log = [commit["message"] for commit in rest.get(f"/repositories/{name}/refs/main/commits")["results"]]
    assert log == [f"Import local://{source}/", "hooks", "Repository created"]

"""Hooks and webhooks: runs with their steps and output, a dry run, running again, deliveries, redelivery and ping."""

import http.server
import threading
from concurrent.futures import ThreadPoolExecutor

import browser as browsers
import pytest
from playwright.sync_api import expect

ENVIRONMENT = {"TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1"}
REPO = "hooked"
SLOW = """name: slow
on:
  pre-merge:
hooks:
  - id: quick
    type: lua
    properties: {script: print("begun")}
  - id: waits
    type: webhook
    properties: {url: "%s"}
"""
ACTION = """name: checks
on:
  pre-commit:
    branches: ["*"]
hooks:
  - id: says
    type: lua
    properties:
      script: |
        print("checked <b>" .. action.branch_id .. "</b>")
        if action.branch_id == "bad" then error("refused by the rule") end
  - id: later
    type: lua
    properties: {script: print("later")}
"""


class Receiver:
    """Answers webhooks with `status` and keeps their ids; `begin` of an attempt is called before its answer."""

    def __init__(self):
        self.status, self.begin = 200, lambda attempt: None
        self.ids = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.ids.append(self.headers.get("webhook-id"))
                receiver.begin(len(receiver.ids))
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.server.shutdown()


@pytest.fixture(scope="module")
def hooked(tarn):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository(REPO)
    rest.upload(REPO, "_lakefs_actions/checks.yaml", ACTION)
    rest.commit(REPO)
    rest.branch(REPO, "bad")
    rest.upload(REPO, "a", branch="bad")
    assert rest("POST", f"/repositories/{REPO}/branches/bad/commits", json={"message": "m"}).status_code == 412


def runs(rest):
    return rest.get(f"/repositories/{REPO}/actions/runs")["results"]


def test_a_run_shows_its_steps_and_output(window, rest, hooked):
    page = window.go(f"/r/{REPO}/-/automation")
    table = page.get_by_role("grid", name="Runs of hooks")
    expect(table.get_by_role("row").nth(1)).to_contain_text("failed")
    window.review("automation-runs")
    table.get_by_role("row").filter(has_text="bad").get_by_role("link", name="pre-commit").click()
    output = page.get_by_label("Output")
    # As text: nothing of it is markup.
    expect(output).to_contain_text("checked <b>bad</b>")
    expect(output).to_contain_text("refused by the rule")
    expect(page.get_by_role("list", name="Steps").get_by_role("button", name="skipped checks / later")).to_be_visible()
    window.review("automation-run")
    # A check of a request leads to its output.
    rest.branch(REPO, "good")
    rest.upload(REPO, "a", branch="good")
    rest.commit(REPO, branch="good")
    request = rest.post(
        f"/repositories/{REPO}/pulls",
        {"title": "good", "description": "It is **checked**.", "source_branch": "good", "destination_branch": "main"},
    )["id"]
    window.go(f"/r/{REPO}/-/requests/{request}")
    checks = page.get_by_role("region", name="Checks")
    expect(checks.get_by_role("listitem")).to_contain_text("completed")
    expect(page.get_by_role("region", name="Description").locator("strong")).to_have_text("checked")
    checks.get_by_role("link", name="pre-commit").click()
    expect(output).to_contain_text("checked <b>good</b>")


def test_hooks_are_run_again_after_a_dry_run(window, rest, hooked):
    before = len(runs(rest))
    page = window.go(f"/r/{REPO}/-/automation")
    page.get_by_role("button", name="Run hooks…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog.get_by_role("status")).to_contain_text("2 hooks would run.")
    expect(dialog).to_contain_text("_lakefs_actions/checks.yaml at main")
    assert len(runs(rest)) == before
    window.axe()
    dialog.get_by_role("button", name="Run the hooks of pre-commit").click()
    page.wait_for_url("**/-/automation/runs/*")
    expect(page.get_by_label("Output")).to_contain_text("checked <b>main</b>")
    assert len(runs(rest)) == before + 1 and runs(rest)[0]["status"] == "completed"


def test_a_running_hook_is_reached_and_its_output_grows(window, rest, tarn, receiver):
    repository = "waits"
    rest.repository(repository)
    rest.upload(repository, "_lakefs_actions/slow.yaml", SLOW % receiver.url)
    rest.commit(repository)
    rest.branch(repository, "dev")
    rest.upload(repository, "a", branch="dev")
    rest.commit(repository, branch="dev")
    first, second = threading.Event(), threading.Event()

    def begin(attempt):
        (first if attempt == 1 else second).wait(browsers.WAIT_MS / 1000)
        receiver.status = 503 if attempt == 1 else 200

    receiver.begin = begin
    with ThreadPoolExecutor(1) as pool:
        try:
            page = window.go(f"/r/{repository}/-/automation")
            expect(page.get_by_text("None has run yet.")).to_be_visible()
            merge = pool.submit(rest, "POST", f"/repositories/{repository}/refs/dev/merge/main", json={})
            # The list notices a run that begins.
            row = page.get_by_role("grid", name="Runs of hooks").get_by_role("row").nth(1)
            expect(row).to_contain_text("running")
            row.get_by_role("link", name="pre-merge").click()
            steps, output = page.get_by_role("list", name="Steps"), page.get_by_label("Output")
            expect(steps.get_by_role("button", name="running slow / waits")).to_be_visible()
            expect(steps.get_by_role("button", name="completed slow / quick")).to_be_visible()
            expect(output).to_contain_text("> POST")
            expect(output).not_to_contain_text("< 503")
            window.review("automation-running")
            first.set()
            expect(output).to_contain_text("< 503")
            expect(steps.get_by_role("button", name="running slow / waits")).to_be_visible()
            second.set()
            assert merge.result().ok
        finally:
            first.set()
            second.set()
    expect(steps.get_by_role("button", name="completed slow / waits")).to_be_visible()
    # The step that was followed stays, with the rest of its output.
    expect(output).to_contain_text("< 200")
    expect(page.locator(".page-head").get_by_text("completed")).to_be_visible()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/actions/runs/" in request.url else None)
    page.wait_for_timeout(3000)
    assert asked == [], "what has ended is not asked for again"


def test_a_run_by_hand_is_watched_while_it_runs(window, rest, tarn, receiver):
    repository = "by-hand"
    rest.repository(repository)
    rest.upload(repository, "_lakefs_actions/slow.yaml", SLOW % receiver.url)
    rest.commit(repository)
    release = threading.Event()
    receiver.begin = lambda attempt: release.wait(browsers.WAIT_MS / 1000)
    try:
        page = window.go(f"/r/{repository}/-/automation")
        page.get_by_role("button", name="Run hooks…").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Event", exact=True).select_option("pre-merge")
        dialog.get_by_label("Branch of the event").fill("main")
        dialog.get_by_role("button", name="Run the hooks of pre-merge").click()
        page.wait_for_url("**/-/automation/runs/*")
        expect(page.get_by_role("list", name="Steps").get_by_role("button", name="running slow / waits")).to_be_visible()
    finally:
        release.set()
    expect(page.locator(".page-head").get_by_text("completed")).to_be_visible()


def test_a_webhook_is_made_pinged_and_told_again(window, rest, hooked, receiver):
    page = window.go(f"/r/{REPO}/-/automation?view=webhooks")
    expect(page.get_by_text("There is none yet.")).to_be_visible()
    window.review("webhooks-empty")
    page.get_by_role("button", name="New webhook").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("deploy")
    dialog.get_by_label("Address").fill(receiver.url)
    dialog.get_by_label("Add an event").select_option("branch.created")
    expect(dialog.get_by_label("Events")).to_have_value("branch.created")
    dialog.get_by_role("button", name="Make webhook").click()
    expect(page.get_by_role("dialog", name="Secret of deploy")).to_contain_text("whsec_")
    page.get_by_role("button", name="Close").click()
    made = rest.get(f"/repositories/{REPO}/webhooks/deploy")
    assert (made["url"], made["events"]) == (receiver.url, ["branch.created"])
    page.get_by_role("link", name="deploy").click()
    page.get_by_role("button", name="Ping").click()
    expect(page.get_by_text("The receiver answered 200")).to_be_visible()
    receiver.status = 500
    page.get_by_role("button", name="Ping").click()
    expect(page.get_by_text("The ping failed")).to_be_visible()
    receiver.status = 200
    rest.branch(REPO, "told")
    told = browsers.eventually(
        page,
        lambda: [
            one for one in rest.get(f"/repositories/{REPO}/webhooks/deploy/deliveries")["results"] if one["state"] == "delivered"
        ],
    )
    # The list notices new deliveries.
    expect(page.get_by_role("button", name=f"Redeliver {told[0]['id']}")).to_be_visible()
    window.review("webhook")
    sent = receiver.ids.count(told[0]["id"])
    page.get_by_role("button", name=f"Redeliver {told[0]['id']}").click()
    expect(page.get_by_text("It will be sent again")).to_be_visible()
    browsers.eventually(page, lambda: receiver.ids.count(told[0]["id"]) > sent)
    # The list follows a delivery that is under way.
    expect(page.get_by_role("grid", name="Deliveries").get_by_role("row").nth(1)).to_contain_text("delivered")

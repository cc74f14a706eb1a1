"""Hooks and webhooks: runs with their steps and output, a dry run, running again, deliveries, redelivery and ping."""

import http.server
import threading

import pytest
from playwright.sync_api import expect

import browser as browsers

REPO = "hooked"
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
    """Answers webhooks with `status` and keeps their ids."""

    def __init__(self):
        self.status = 200
        self.ids = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.ids.append(self.headers.get("webhook-id"))
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
    request = rest.post(f"/repositories/{REPO}/pulls", {"title": "good", "description": "It is **checked**.", "source_branch": "good", "destination_branch": "main"})["id"]
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
    told = browsers.eventually(page, lambda: [one for one in rest.get(f"/repositories/{REPO}/webhooks/deploy/deliveries")["results"] if one["state"] == "delivered"])
    page.reload()
    expect(page.get_by_role("heading", name="Deliveries")).to_be_visible()
    window.review("webhook")
    sent = receiver.ids.count(told[0]["id"])
    page.get_by_role("button", name=f"Redeliver {told[0]['id']}").click()
    expect(page.get_by_text("It will be sent again")).to_be_visible()
    browsers.eventually(page, lambda: receiver.ids.count(told[0]["id"]) > sent)
    # The list follows a delivery that is under way.
    expect(page.get_by_role("grid", name="Deliveries").get_by_role("row").nth(1)).to_contain_text("delivered")

"""Somebody whose policies permit reading data alone: no page asks for what they refuse, and what is missing is named."""

import pytest
from playwright.sync_api import expect

GATE = "destination: main\nalias: champion\nmetrics:\n  - {name: accuracy, goal: max, primary: true}\n"


@pytest.fixture(scope="module")
def reader(tarn):
    """A key of the reader, and a repository with something of each kind to ask for."""
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("read")
    rest.upload("read", "README.md", "# Read", content_type="text/markdown")
    rest.commit("read", "first")
    rest.branch("read", "exp-1")
    rest.upload("read", "model.txt", "model", branch="exp-1")
    rest.commit("read", "train", branch="exp-1")
    rest.upload("read", "staged.txt", "staged")
    rest.post("/repositories/read/tags", {"id": "v1", "ref": "main"})
    rest.post("/repositories/read/aliases/champion:set", {"to": "main"})
    rest.record("read", "exp-1", "cnn", metrics={"accuracy": 0.5})
    rest.ask("PUT", "/repositories/read/settings/branch_protection", json=[{"pattern": "main", "blocked_actions": ["delete"]}])
    rest.ask("PUT", "/repositories/read/policies/gate", data=GATE, headers={"Content-Type": "application/yaml"})
    rest.ask("PUT", "/repositories/read/webhooks/told", json={"url": "http://127.0.0.1:9/"})
    rest.post("/auth/users", {"id": "reader"})
    rest.ask("PUT", "/auth/users/reader/policies/FSReadAll")
    return rest.post("/auth/users/reader/credentials", {})


# Texts of each page, among them the permissions that it names as missing.
PAGES = {
    "/": ["read"],
    "/r/read/main/data?object=README.md": ["README.md"],
    "/r/read/main/changes": ["staged.txt"],
    "/r/read/main/history": ["first"],
    "/r/read/-/compare/main/exp-1": ["model.txt"],
    "/r/read/-/branches": ["exp-1", "accuracy 0.5"],
    "/r/read/-/branches?kind=tag": ["v1"],
    "/r/read/-/branches?kind=alias": ["champion"],
    "/r/read/-/branches?kind=stale": ["No branch is stale"],
    "/r/read/-/requests": ["pr:ListPullRequests"],
    "/r/read/-/requests/{request}": ["pr:ReadPullRequest"],
    "/r/read/-/runs": ["0.5"],
    "/r/read/-/promotions": ["branches:GetGatePolicy"],
    "/r/read/-/automation": ["ci:ReadAction"],
    "/r/read/-/automation?view=webhooks": ["ci:ReadWebhook"],
    "/r/read/-/settings": ["local://read"],
    "/r/read/-/settings?section=protection": ["branches:GetBranchProtectionRules"],
    "/r/read/-/settings?section=branches": ["retention:GetGarbageCollectionRules"],
    "/r/read/-/settings?section=metrics": ["metrics/**"],
    "/r/read/-/settings?section=retention": ["retention:GetGarbageCollectionRules"],
    "/r/read/-/settings?section=quotas": ["retention:GetQuotas"],
    "/r/read/-/settings?section=deletion": ["Delete repository"],
    "/admin/users": ["auth:ListUsers"],
    "/admin/operations": ["No request has taken long."],
    "/admin/server": ["ready: database and store answer"],
    "/admin/configuration": ["auth:ListUsers"],
    "/admin/storage?repository=read": ["retention:GetGarbageCollectionRules", "main"],
    "/admin/deleted": ["No deleted repository"],
}


def test_no_page_asks_for_what_the_policies_refuse(window, rest, reader):
    request = rest.post("/repositories/read/pulls", {"title": "Train", "source_branch": "exp-1", "destination_branch": "main"})[
        "id"
    ]
    window.sign_in(reader["access_key_id"], reader["secret_access_key"])
    page = window.go("/")
    refused = []
    page.on(
        "response",
        lambda answer: refused.append((page.url, answer.request.method, answer.url)) if answer.status in (401, 403) else None,
    )
    asked = set()
    page.on("request", lambda request: asked.add(request))
    page.on("requestfinished", lambda request: asked.discard(request))
    page.on("requestfailed", lambda request: asked.discard(request))
    for address, texts in PAGES.items():
        window.walk(address.format(request=request))
        for text in texts:
            expect(page.get_by_role("main")).to_contain_text(text)
        page.wait_for_timeout(50)  # for requests that follow what was shown
        while asked:
            page.wait_for_timeout(20)
    assert not refused, refused


def test_a_refusal_ends_when_the_policies_change(window, rest, reader):
    window.sign_in(reader["access_key_id"], reader["secret_access_key"])
    page = window.go("/r/read/-/settings?section=quotas")
    failed = page.get_by_role("main").get_by_role("alert")
    expect(failed).to_contain_text("Your policies do not permit retention:GetQuotas on repository/read.")
    expect(failed).to_contain_text("Ask an administrator for the permission that the message names.")
    window.axe()
    rest.post(
        "/auth/policies",
        {"id": "ReadsQuotas", "statement": [{"effect": "allow", "action": ["retention:GetQuotas"], "resource": "*"}]},
    )
    rest.ask("PUT", "/auth/users/reader/policies/ReadsQuotas")
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("None: what is stored here is not limited.")).to_be_visible()


def test_pages_about_users_are_offered_to_those_who_may_list_them(window, rest, reader):
    page = window.go("/")
    menu = page.get_by_role("navigation", name="Main")
    expect(menu.get_by_role("link", name="Access")).to_be_visible()
    window.sign_in(reader["access_key_id"], reader["secret_access_key"])
    page = window.load("/")
    expect(menu.get_by_role("link", name="Connect")).to_be_visible()
    expect(menu.get_by_role("link", name="Access")).to_have_count(0)
    page.get_by_role("button", name="Account of reader").click()
    expect(page.get_by_role("menuitem", name="Connect a client")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Users and keys")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or jump to").fill("polic")
    expect(page.get_by_role("option", name="Policies")).to_have_count(0)

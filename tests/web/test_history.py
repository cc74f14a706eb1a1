"""History: the log, its filters, commits, and what is made of them."""

import pytest
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def prepared(tarn):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("past")
    for number in range(3):
        rest.upload("past", f"data/{number}.txt", str(number))
        rest.commit("past", f"number {number}", run=str(number))
    rest.branch("past", "side")
    rest.upload("past", "side.txt", "side", branch="side")
    rest.commit("past", "on the side", branch="side")
    rest.upload("past", "main.txt", "main")
    rest.commit("past", "on main")
    rest.post("/repositories/past/refs/side/merge/main", {"message": "merge the side"})
    return rest


def messages(rest, branch="main"):
    return [commit["message"] for commit in rest.get(f"/repositories/past/refs/{branch}/commits", amount=100)["results"]]


def test_the_log_is_filtered_and_leads_to_commits(window, prepared):
    page = window.go("/r/past/main/history")
    log = page.get_by_role("grid", name="Commits")
    expect(log.get_by_role("row")).to_have_count(1 + len(messages(prepared)))
    window.review("history")
    page.get_by_role("button", name="Filter").click()
    expect(log.get_by_role("row").filter(has_text="Repository created")).to_contain_text("the server")
    expect(log).not_to_contain_text(".lakefs.")
    page.get_by_label("Metadata").fill("run=1")
    expect(log.get_by_role("row")).to_have_count(2)
    page.wait_for_url("**/history?metadata=run%3D1")
    page.get_by_label("Metadata").fill("")
    page.get_by_label("Path").fill("data/")
    expect(log.get_by_role("row")).to_have_count(4)
    log.get_by_role("link", name="number 2").click()
    expect(page.get_by_role("heading", name="number 2")).to_be_visible()
    expect(page.get_by_role("grid", name="Changes").get_by_text("data/2.txt")).to_be_visible()
    window.review("commit")
    page.go_back()
    expect(log.get_by_role("row")).to_have_count(4)


def test_metadata_of_the_server_is_folded(window, prepared):
    merge = prepared.get("/repositories/past/refs/main/commits", amount=1)["results"][0]
    assert ".lakefs.merge.strategy" in merge["metadata"]
    page = window.go(f"/r/past/-/commits/{merge['id']}")
    expect(page.get_by_text(".lakefs.merge.strategy").first).to_be_hidden()
    page.get_by_text("of the server").click()
    expect(page.get_by_text(".lakefs.merge.strategy").first).to_be_visible()


def test_a_commit_is_reverted_and_a_branch_made_from_it(window, prepared):
    commit = next(
        item
        for item in prepared.get("/repositories/past/refs/main/commits", amount=100)["results"]
        if item["message"] == "number 1"
    )
    page = window.go(f"/r/past/-/commits/{commit['id']}")
    page.get_by_role("button", name="Actions", exact=True).click()
    page.get_by_role("menuitem", name="Branch from here…").click()
    page.get_by_label("Name").fill("from-one")
    page.get_by_role("button", name="Create branch").click()
    expect(page.get_by_text("Created branch from-one")).to_be_visible()
    assert prepared.get("/repositories/past/branches/from-one")["commit_id"] == commit["id"]

    page.get_by_role("button", name="Actions", exact=True).click()
    page.get_by_role("menuitem", name="Revert…").click()
    page.get_by_role("button", name="Revert on main").click()
    expect(page.get_by_text("Reverted on main")).to_be_visible()
    assert "data/1.txt" not in prepared.paths("past")


def test_who_changed_what_last(window, prepared):
    page = window.go("/r/past/main/history?view=blame")
    rows = page.get_by_role("grid", name="Last changes")
    expect(rows.get_by_role("row").filter(has_text="main.txt")).to_contain_text("on main")
    window.review("blame")
    rows.get_by_role("link", name="data/").click()
    expect(rows.get_by_role("row").filter(has_text="2.txt")).to_contain_text("number 2")

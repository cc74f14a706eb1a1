"""Branches, tags, aliases and pull requests."""

import re

import pytest
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def prepared(tarn):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("refs")
    rest.upload("refs", "a.txt", "a")
    rest.commit("refs", "first")
    for name in ("one", "two", "three"):
        rest.branch("refs", name)
        rest.upload("refs", f"{name}.txt", name, branch=name)
        rest.commit("refs", f"of {name}", branch=name)
    rest.upload("refs", "b.txt", "b")
    rest.commit("refs", "second")
    return rest


def names(rest, kind="branches"):
    return [ref["id"] for ref in rest.get(f"/repositories/refs/{kind}")["results"]]


def test_branches_are_made_compared_and_deleted(window, prepared):
    for accuracy in (0.5, 0.75):
        prepared.record("refs", "one", "cnn", metrics={"accuracy": accuracy})
    prepared.ask("PUT", "/repositories/refs/settings/branch_protection", json=[{"pattern": "three"}])
    page = window.go("/r/refs/-/branches")
    grid = page.get_by_role("grid", name="Branches")
    expect(grid.get_by_role("row").filter(has_text="one")).to_contain_text("1 ahead, 1 behind")
    expect(grid.get_by_role("row").filter(has_text="one").get_by_role("link", name="accuracy 0.75")).to_be_visible()
    expect(grid.get_by_role("row").filter(has_text="three")).to_contain_text("protected")
    window.review("branches")
    prepared.ask("PUT", "/repositories/refs/settings/branch_protection", json=[])
    page.get_by_role("button", name="Create branch").click()
    page.get_by_label("Name").fill("made")
    page.get_by_label("Expires").fill("72h")
    page.get_by_role("dialog").get_by_role("button", name="Create branch").click()
    expect(grid.get_by_role("link", name="made")).to_be_visible()
    assert prepared.get("/repositories/refs/branches/made")["expires"]
    for name in ("two", "three"):
        grid.get_by_label(f"Select {name}").check()
    page.get_by_role("button", name="Delete 2…").click()
    expect(page.get_by_text("Garbage collection can then free")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(grid.get_by_role("link", name="two")).to_be_hidden()
    assert sorted(names(prepared)) == ["made", "main", "one"]


def test_a_branch_that_moved_since_it_was_shown_is_kept(window, prepared):
    window.expect_problem("412")
    for name in ("left", "moved"):
        prepared.branch("refs", name)
    page = window.go("/r/refs/-/branches")
    grid = page.get_by_role("grid", name="Branches")
    for name in ("left", "moved"):
        grid.get_by_label(f"Select {name}").check()
    page.get_by_role("button", name="Delete 2…").click()
    dialog = page.get_by_role("dialog", name="Delete 2 refs?")
    expect(dialog).to_contain_text("Deletes 2 branches with their uncommitted changes.")
    # The user was told of uncommitted changes, not of commits.
    prepared.upload("refs", "staged.txt", "s", branch="left")
    prepared.upload("refs", "late.txt", "late", branch="moved")
    prepared.commit("refs", "late", branch="moved")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text("Deleted 1 branch and kept moved: its head has moved.")
    assert "moved" in names(prepared) and "left" not in names(prepared)
    assert prepared.read("refs", "late.txt", "moved") == b"late"
    prepared.ask("DELETE", "/repositories/refs/branches/moved")


def test_a_branch_is_rebased_and_gets_another_name(window, prepared):
    prepared.branch("refs", "base", source="main~1")
    prepared.branch("refs", "old", source="main~1")
    for branch in ("base", "old"):
        prepared.upload("refs", f"{branch}.txt", branch, branch=branch)
        prepared.commit("refs", f"on {branch}", branch=branch)
    page = window.go("/r/refs/-/branches")
    page.get_by_role("button", name="Actions of old").click()
    page.get_by_role("menuitem", name="Rebase…").click()
    page.get_by_label("Onto").fill("base")
    page.get_by_role("dialog").get_by_role("button", name="Rebase").click()
    expect(page.get_by_text("old: 1 commit made again on base")).to_be_visible()
    assert prepared.read("refs", "base.txt", "old") == b"base"
    page.get_by_role("button", name="Actions of old").click()
    page.get_by_role("menuitem", name="Rename…").click()
    page.get_by_label("New name").fill("new")
    window.review("branch-rename")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("grid", name="Branches").get_by_role("link", name="new", exact=True)).to_be_visible()
    assert "new" in names(prepared) and "old" not in names(prepared)
    for name in ("new", "base"):
        prepared.ask("DELETE", f"/repositories/refs/branches/{name}")


def test_an_alias_is_moved_and_its_history_says_why(window, prepared):
    page = window.go("/r/refs/-/branches?kind=alias")
    for source, reason in (("main~1", "the first"), ("main", "better")):
        page.get_by_role("button", name="Set alias").click()
        page.get_by_label("Name").fill("champion")
        page.get_by_label("At", exact=True).fill(source)
        page.get_by_label("Reason").fill(reason)
        page.get_by_role("dialog").get_by_role("button", name="Set alias").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
    assert prepared.get("/repositories/refs/aliases/champion")["version"] == 2
    page.get_by_role("button", name="Actions of @champion").click()
    page.get_by_role("menuitem", name="History of the alias…").click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("dialog")).to_contain_text("better")


@pytest.fixture
def reviewer(open_window, prepared):
    """A window of another administrator."""
    prepared.post("/auth/users", {"id": "bob"})
    prepared.ask("PUT", "/auth/groups/Admins/members/bob")
    key = prepared.ask("POST", "/auth/users/bob/credentials")
    return open_window().sign_in(key["access_key_id"], key["secret_access_key"])


def test_a_request_is_opened_approved_and_merged(window, prepared, reviewer):
    prepared.ask(
        "PUT", "/repositories/refs/settings/branch_protection", json=[{"pattern": "main", "blocked_actions": [], "approvals": 1}]
    )
    page = window.go("/r/refs/-/compare/main/one")
    page.get_by_role("link", name="Open a request").click()
    page.get_by_label("Title").fill("Merge one")
    page.get_by_label("Description").fill("<b>not bold</b>")
    page.get_by_role("dialog").get_by_role("button", name="Open request").click()
    expect(page.get_by_role("heading", name="Merge one")).to_be_visible()
    expect(page.get_by_text("<b>not bold</b>")).to_be_visible()
    expect(page.get_by_text("0 of 1 that main requires")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Approve"))).to_have_accessible_description(
        "The author of a request cannot approve it: somebody else must"
    )
    expect(page.get_by_text("You opened the request, so somebody else must approve it.")).to_be_visible()
    merge = page.get_by_role("button", name="Merge into main…")
    expect(merge).not_to_have_class(re.compile("primary"))
    window.review("request")
    request = prepared.get("/repositories/refs/pulls", status="open")["results"][0]

    # Not before somebody else has approved.
    window.expect_problem("403")
    page.get_by_role("button", name="Merge into main…").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("approval")
    assert prepared.get(f"/repositories/refs/pulls/{request['id']}")["status"] == "open"
    page.get_by_role("button", name="Cancel").click()

    other = reviewer.go(f"/r/refs/-/requests/{request['id']}")
    other.get_by_role("button", name="Approve").click()
    expect(other.get_by_text("1 of 1 that main requires")).to_be_visible()
    expect(other.get_by_role("button", name="Merge into main…")).to_have_class(re.compile("primary"))
    expect(other.get_by_text("You opened the request")).to_be_hidden()
    approvals = prepared.get(f"/repositories/refs/pulls/{request['id']}/approvals")["results"]
    assert [(approval["user"], approval["valid"]) for approval in approvals] == [("bob", True)]

    page.get_by_role("button", name="Merge into main…").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("Merged one into main")).to_be_visible()
    assert prepared.get(f"/repositories/refs/pulls/{request['id']}")["status"] == "merged"
    assert "one.txt" in prepared.paths("refs")
    window.go("/r/refs/-/requests?status=all")
    expect(page.get_by_role("grid", name="Pull requests").get_by_text("merged")).to_be_visible()
    window.review("requests")


def test_the_list_follows_requests_of_others(window, rest):
    rest.repository("followed")
    rest.branch("followed", "dev")
    page = window.go("/r/followed/-/requests")
    expect(page.get_by_text("No request is open.")).to_be_visible()
    request = rest.post(
        "/repositories/followed/pulls", {"title": "of another", "source_branch": "dev", "destination_branch": "main"}
    )["id"]
    expect(page.get_by_role("link", name="of another")).to_be_visible()
    rest.ask("PATCH", f"/repositories/followed/pulls/{request}", json={"status": "closed"})
    expect(page.get_by_text("No request is open.")).to_be_visible()


def test_conflicts_of_a_request_are_settled_by_hand(window, rest):
    rest.repository("disputed")
    for path in ("a.txt", "b.txt", "gone.txt", "data/1", "data/2"):
        rest.upload("disputed", path, "base")
    rest.commit("disputed", "base")
    rest.branch("disputed", "dev")
    for branch in ("main", "dev"):
        for path in ("a.txt", "b.txt", "data/1", "data/2"):
            rest.upload("disputed", path, branch, branch=branch)
    rest.upload("disputed", "gone.txt", "main", branch="main")
    rest.ask("DELETE", "/repositories/disputed/branches/dev/objects", params={"path": "gone.txt"})
    rest.upload("disputed", "new.txt", "dev", branch="dev")
    for branch in ("main", "dev"):
        rest.commit("disputed", f"on {branch}", branch=branch)
    request = rest.post(
        "/repositories/disputed/pulls", {"title": "disputed", "source_branch": "dev", "destination_branch": "main"}
    )["id"]
    page = window.go(f"/r/disputed/-/requests/{request}")
    expect(page.get_by_role("region", name="Changes")).to_contain_text("5 conflicts")
    page.get_by_role("button", name="Merge into main…").click()
    dialog = page.get_by_role("dialog")
    merge = dialog.get_by_role("button", name="Merge into main")
    expect(merge).to_have_accessible_description("5 conflicts to settle first: by path, by pattern or by strategy")
    dialog.get_by_label("Take of a.txt").select_option("take dev")
    dialog.get_by_label("Take of b.txt").select_option("keep main")
    dialog.get_by_label("Take of gone.txt").select_option("removed, as in dev")
    expect(merge).to_have_accessible_description("2 conflicts to settle first: by path, by pattern or by strategy")
    window.review("request-conflicts")
    # A pattern that settles only one of them: the server refuses, and the dialog stays as it is.
    window.expect_problem("409")
    dialog.get_by_role("button", name="Settle by pattern").click()
    dialog.get_by_role("textbox", name="Pattern 1").fill("data/1")
    merge.click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    expect(dialog.get_by_label("Take of a.txt")).to_have_value("source")
    dialog.get_by_role("textbox", name="Pattern 1").fill("data/*")
    merge.click()
    expect(page.get_by_text("Merged dev into main")).to_be_visible()
    expect(page.get_by_text("merged", exact=True).first).to_be_visible()
    assert rest.paths("disputed") == ["a.txt", "b.txt", "data/1", "data/2", "new.txt"]
    assert [rest.read("disputed", path) for path in ("a.txt", "b.txt", "data/1", "data/2")] == [b"dev", b"main", b"dev", b"dev"]

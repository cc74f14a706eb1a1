"""The page of a pull request: reviews, comments and what happens to the branch."""

import pytest
from playwright.sync_api import expect

HOSTILE = "<img src=x onerror=\"document.title='owned'\"> [here](javascript:document.title='owned') **bold**"


@pytest.fixture(scope="module")
def prepared(tarn):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("talk")
    rest.upload("talk", "labels.csv", "image,label\na,cat\n")
    rest.commit("talk", "first")
    rest.branch("talk", "dev")
    rest.upload("talk", "labels.csv", "image,label\na,lynx\n", branch="dev")
    rest.commit("talk", "relabel", branch="dev")
    rest.ask(
        "PUT", "/repositories/talk/settings/branch_protection", json=[{"pattern": "main", "blocked_actions": [], "approvals": 1}]
    )
    rest.post("/auth/users", {"id": "rita"})
    rest.ask("PUT", "/auth/groups/Admins/members/rita")
    rest.post("/repositories/talk/pulls", {"title": "Relabel", "source_branch": "dev", "destination_branch": "main"})
    return rest


@pytest.fixture
def reviewer(open_window, prepared):
    key = prepared.ask("POST", "/auth/users/rita/credentials")
    return open_window().sign_in(key["access_key_id"], key["secret_access_key"])


def test_a_request_is_discussed_reviewed_and_its_branch_deleted(window, prepared, reviewer):
    page = window.go("/r/talk/-/requests")
    expect(page.get_by_role("grid", name="Pull requests")).to_contain_text("#1")
    page = window.go("/r/talk/-/requests/1")
    expect(page.get_by_role("heading", level=1)).to_have_text("#1 Relabel")
    page.get_by_role("button", name="Ask for reviews…").click()
    page.get_by_label("Users").fill("rita")
    page.get_by_role("button", name="Ask them").click()
    expect(page.get_by_role("region", name="Reviews")).to_contain_text("rita was asked by")
    expect(page.get_by_role("button", name="Request changes…")).to_have_accessible_description(
        "The author of a request cannot request changes of it"
    )

    other = reviewer.go("/r/talk/-/requests/1?tab=changes&object=labels.csv")
    other.get_by_role("button", name="Comment…").click()
    dialog = other.get_by_role("dialog")
    dialog.get_by_label("Comment", exact=True).fill(HOSTILE)
    dialog.get_by_label("Number").fill("0")
    expect(dialog.get_by_role("button", name="Comment", exact=True)).to_have_accessible_description(
        "The number of a line or row is 1 or more"
    )
    dialog.get_by_label("Number").fill("2")
    dialog.get_by_role("button", name="Comment", exact=True).click()
    expect(other.get_by_role("button", name="1 thread")).to_be_visible()

    page = window.go("/r/talk/-/requests/1")
    thread = page.get_by_role("listitem", name="Thread 1")
    expect(thread).to_contain_text("labels.csv, line 2")
    expect(thread).to_contain_text("<img src=x onerror=")
    expect(thread.locator("strong", has_text="bold")).to_be_visible()
    expect(thread.get_by_role("link", name="here")).to_have_count(0)
    expect(thread.locator("img")).to_have_count(0)
    assert page.title() != "owned"
    expect(thread.get_by_role("button", name="Edit")).to_have_count(0)
    thread.get_by_role("button", name="Answer…").click()
    thread.get_by_label("Answer").fill("A lynx it is")
    thread.get_by_role("button", name="Answer", exact=True).click()
    expect(thread.get_by_role("article", name="Comment 2")).to_contain_text("A lynx it is")
    thread.get_by_role("article", name="Comment 2").get_by_role("button", name="Edit").click()
    thread.get_by_label("Text").fill("A lynx, surely")
    thread.get_by_role("button", name="Save").click()
    expect(thread.get_by_role("article", name="Comment 2")).to_contain_text("surely")

    other = reviewer.go("/r/talk/-/requests/1")
    other.get_by_role("button", name="Request changes…").click()
    other.get_by_label("What must change").fill("Add a test")
    other.get_by_role("dialog").get_by_role("button", name="Request changes").click()
    expect(other.get_by_role("region", name="Reviews")).to_contain_text("rita must approve or withdraw")
    expect(other.get_by_role("region", name="Conversation")).to_contain_text("Add a test")
    window.go("/r/talk/-/requests/1")
    expect(page.get_by_role("button", name="Merge into main…")).not_to_have_class("primary")
    window.review("request-discussed")

    prepared.upload("talk", "test.txt", "t", branch="dev")
    prepared.commit("talk", "add a test", branch="dev")
    page = window.go("/r/talk/-/requests/1")
    expect(thread.get_by_text("outdated")).to_be_visible()
    thread.get_by_role("button", name="Resolve").click()
    expect(thread).to_contain_text("resolved")
    expect(thread.get_by_role("article")).to_have_count(0)
    thread.get_by_role("button", name="Show 2 comments").click()
    expect(thread.get_by_role("article")).to_have_count(2)

    other = reviewer.go("/r/talk/-/requests/1")
    other.get_by_role("button", name="Approve").click()
    expect(other.get_by_role("region", name="Reviews")).to_contain_text("1 of 1 that main requires")

    # Uncommitted changes keep the branch; then it can go.
    prepared.upload("talk", "staged.txt", "s", branch="dev")
    page = window.go("/r/talk/-/requests/1")
    page.get_by_role("button", name="Merge into main…").click()
    page.get_by_role("dialog").get_by_label("Squash").check()
    page.get_by_role("dialog").get_by_label("Delete dev afterwards").check()
    page.get_by_role("dialog").get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("dev stays:")).to_be_visible()
    prepared.ask("PUT", "/repositories/talk/branches/dev", json={"type": "reset"})
    page.get_by_role("button", name="Delete dev…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete branch").click()
    expect(page.get_by_role("button", name="Delete dev…")).to_have_count(0)
    assert [branch["id"] for branch in prepared.get("/repositories/talk/branches")["results"]] == ["main"]
    assert len(prepared.get("/repositories/talk/refs/main/commits")["results"][0]["parents"]) == 1

"""Operations: long requests, the server's figures, storage."""

from playwright.sync_api import expect


def test_a_long_request_is_listed_with_its_answer(window, rest):
    rest.repository("long")
    rest.upload("long", "a", "a")
    answer = rest("POST", "/repositories/long/branches/main/commits", json={"message": "slow"}, headers={"Prefer": "respond-async"})
    assert answer.status_code == 202, answer.text
    page = window.go("/admin/operations")
    page.get_by_role("grid", name="Long requests").get_by_text("commit", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("done")
    window.review("operations")


def test_the_server_page_shows_health_and_figures(window, rest):
    page = window.go("/admin/server")
    expect(page.get_by_text("ready: database and store answer")).to_be_visible()
    # Two samples make a rate.
    expect(page.get_by_role("img", name="Requests: now")).to_be_visible()
    window.review("server")


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

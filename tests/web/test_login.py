"""Login, logout, sessions that end, and a server that is away."""

from playwright.sync_api import expect


def test_a_link_survives_the_login(open_window, tarn, rest):
    rest.repository("linked")
    window = open_window()
    window.expect_problem("401")
    page = window.go("/r/linked/main/data?path=images/2/")
    expect(page.get_by_role("heading", name="Sign in to Tarn")).to_be_visible()
    window.review("login")
    page.get_by_label("Access key id").fill(tarn.access_key)
    page.get_by_label("Secret access key").fill("wrong" * 5)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("wrong_secret_key")
    page.get_by_label("Secret access key").fill(tarn.secret_key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/linked/main/data?path=images/2/")


def test_a_link_to_another_host_is_not_followed(open_window, tarn):
    window = open_window()
    window.expect_problem("401")
    page = window.go("/login?next=//evil.example/x")
    page.get_by_label("Access key id").fill(tarn.access_key)
    page.get_by_label("Secret access key").fill(tarn.secret_key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()


def test_signing_out_ends_the_session_everywhere(window, tarn):
    page = window.go("/")
    other = window.context.new_page()
    other.goto("/")
    expect(other.get_by_role("heading", name="Repositories")).to_be_visible()
    page.get_by_role("button", name="Account of").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Tarn")).to_be_visible()
    window.expect_problem("401")
    assert window.context.request.get("/api/v1/user").status == 401
    # The other tab notices with its next request, which it makes by itself: what runs is asked every 5 s.
    expect(other.get_by_role("heading", name="Sign in to Tarn")).to_be_visible()


def test_a_lost_server_is_noticed_and_comes_back(window, tarn, rest):
    for end in (
        "ERR_CONNECTION_REFUSED",
        "ERR_CONNECTION_RESET",
        "ERR_EMPTY_RESPONSE",
    ):  # the last two of a request that was on its way
        window.expect_problem(end)
    page = window.go("/")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    tarn.stop()
    page.get_by_role("searchbox", name="Search repositories").fill("back")
    lost = page.get_by_role("status").get_by_role("button", name="Try now")
    expect(lost).to_be_visible()
    tarn.start()
    rest.repository("back-again")
    expect(page.get_by_role("link", name="back-again")).to_be_visible()
    expect(lost).to_be_hidden()

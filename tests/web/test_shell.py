"""The frame of all pages: palette, keys, theme, old addresses, a user's session across tabs."""

import re

import browser as browsers
import pytest
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def digits(tarn):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("digits")
    for number in range(1500):
        rest.branch("digits", f"exp-{number:04d}")
    return "digits"


def test_pages_of_tests_are_as_new_without_being_loaded_again(window, rest):
    """Of the tests themselves: Window.go() knows how React keeps what is on the page."""
    page = window.go("/")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    page.evaluate("window.loadedOnce = true")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    rest.repository("later")  # not among the answers that the page has
    window.go("/")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    expect(page.get_by_role("link", name="later", exact=True)).to_be_visible()
    assert page.evaluate("window.loadedOnce"), "the page was loaded again"


def test_the_palette_goes_to_pages_refs_and_repositories(window, digits):
    page = window.go("/r/digits/main/data")
    expect(page.get_by_role("button", name="Ref: main")).to_be_visible()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search or jump to")
    expect(field).to_be_focused()
    expect(page.get_by_role("option", name=re.compile("^History"))).to_be_visible()
    window.review("palette")
    field.fill("exp-1499")
    expect(page.get_by_role("option", name="exp-1499", exact=True)).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/digits/exp-1499/data")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    # A page behind a tab.
    page.keyboard.press("Control+k")
    field.fill("health")
    page.get_by_role("option", name="Server: health and figures").click()
    page.wait_for_url("**/admin/server")


def test_a_ref_is_found_among_thousands(window, digits):
    page = window.go("/r/digits/main/data")
    page.get_by_role("button", name="Ref: main").click()
    expect(page.get_by_role("combobox", name="Ref")).to_be_focused()
    page.get_by_role("combobox", name="Ref").fill("1234")
    expect(page.get_by_role("option")).to_have_count(2)  # the branch, and the text as an expression
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/digits/exp-1234/data")
    page.get_by_role("button", name="Ref: exp-1234").click()
    expect(page.get_by_text("Recent")).to_be_visible()


BRANCHES = re.compile(r"/repositories/digits/branches\?(?!.*prefix=[^&])")


def picker_that_loads(window):
    """The page, and the field of its ref picker, whose refs are held back."""
    page = window.go("/r/digits/main/data")
    expect(page.get_by_text("There are no objects here yet.")).to_be_visible()
    refs = browsers.Held(page, BRANCHES)
    page.get_by_role("button", name="Ref: main").click()
    return page, page.get_by_role("combobox", name="Ref"), refs


def test_enter_waits_for_the_refs_that_the_text_names(window, digits):
    page, field, refs = picker_that_loads(window)
    field.fill("1234")
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    expect(field).to_be_focused()  # not taken as an expression
    refs.release()
    page.wait_for_url("**/r/digits/exp-1234/data")


def test_typing_on_takes_an_early_enter_back(window, digits):
    page, field, refs = picker_that_loads(window)
    field.fill("12")
    page.keyboard.press("Enter")
    page.keyboard.type("34")
    refs.release()
    expect(page.get_by_role("option", name="exp-1234")).to_be_visible()
    page.wait_for_timeout(200)
    expect(field).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/digits/exp-1234/data")


def test_enter_in_the_palette_waits_for_the_repositories_of_the_text(window, digits):
    page = window.go("/")
    expect(page.get_by_role("link", name="digits")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name="digits")).to_be_visible()
    found = browsers.Held(page, re.compile(r"/repositories\?.*search=s"))
    page.keyboard.type("s")  # also in the names of pages of the server
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    expect(page.get_by_role("combobox", name="Search or jump to")).to_be_focused()
    found.release()
    page.wait_for_url("**/r/digits/main/data")


def test_keys_lead_everywhere(window, digits):
    page = window.go("/r/digits/main/data")
    expect(page.get_by_role("button", name="Ref: main")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url("**/r/digits/main/history")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search repositories")).to_be_focused()
    page.keyboard.type("g h ?")  # text in a field is no shortcut
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("searchbox", name="Search repositories").fill("")
    page.get_by_role("grid", name="Repositories").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    window.review("keyboard-help")


def test_the_theme_is_kept(window, digits):
    page = window.go("/")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitem", name="Dark").click()
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.reload()
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    assert page.evaluate(background) == dark
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitem", name="Light").click()
    assert page.evaluate(background) != dark


@pytest.mark.parametrize(
    "old, new",
    [
        ("/repositories", "/"),
        ("/repositories/digits/objects?ref=exp-0001&path=a/", "/r/digits/exp-0001/data?path=a/"),
        ("/repositories/digits/commits/abc", "/r/digits/-/commits/abc"),
        ("/repositories/digits/compare?ref=main&compare=exp-0002", "/r/digits/-/compare/main/exp-0002"),
        ("/repositories/digits", "/r/digits/main/data"),
        ("/r/digits", "/r/digits/main/data"),
        ("/r/digits/exp-0001", "/r/digits/exp-0001/data"),
    ],
)
def test_addresses_of_lakefs_and_short_ones_lead_to_the_page(window, digits, old, new):
    window.expect_problem("404")
    page = window.load(old)
    page.wait_for_url(f"**{new}")


def test_unknown_addresses_say_so(window, digits):
    page = window.load("/r/digits/main/nothing/here")
    expect(page.get_by_text("There is no page at this address.")).to_be_visible()
    window.axe()
    window.expect_problem("404")
    window.expect_problem("not found")
    window.go("/r/no-such-repository/main/data")
    expect(page.get_by_role("alert")).to_contain_text("It may have been deleted or renamed.")
    window.axe()


@pytest.mark.parametrize(
    "address, heading",
    [
        ("runs/not an id", "Run not an id"),
        ("automation/runs/not an id", "Run of hooks not an id"),
        ("commits/not an id", "Commit not an id"),
        ("promotions/not an id", "Promotion not an id"),
        ("gates/unknown", "Gate unknown"),
        ("requests/unknown", "Pull request unknown"),
    ],
)
def test_pages_of_what_is_not_there_have_headings(window, digits, address, heading):
    window.expect_problem("40")
    page = window.go(f"/r/digits/-/{address}")
    expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible()
    expect(page.get_by_role("alert")).to_be_visible()
    window.axe()


def test_the_reason_of_a_refused_action_is_read_and_shown(window, rest, digits):
    page = window.go("/r/digits/main~0/data")
    upload = page.get_by_role("button", name="Upload").first
    expect(upload).to_have_attribute("aria-disabled", "true")
    reason = re.compile("^Only branches")
    expect(upload).to_have_accessible_description(reason)
    expect(page.get_by_role("tooltip")).to_be_hidden()
    for _ in range(40):  # the keyboard reaches it, and then it shows why
        page.keyboard.press("Tab")
        if upload.evaluate("button => button === document.activeElement"):
            break
    expect(page.get_by_role("tooltip")).to_have_text(reason)
    expect(upload).to_have_accessible_description(reason)
    page.keyboard.press("Enter")
    expect(page.get_by_role("menu")).to_be_hidden()
    window.axe()


def test_a_refused_item_of_a_menu_is_reached_and_says_why(window, rest, digits):
    page = window.go("/r/digits/-/branches?q=main")
    page.get_by_role("button", name="Actions of main").click()
    item = page.get_by_role("menuitem", name=re.compile("^Delete…"))
    expect(item).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("End")
    expect(item).to_be_focused()
    expect(item).to_have_accessible_name(re.compile("The default branch cannot be deleted"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Delete main?")).to_be_hidden()
    expect(item).to_be_visible()
    window.axe()


def test_items_that_the_policies_refuse_name_the_permission(window, rest, digits):
    rest.post("/auth/users", {"id": "reader"})
    rest.ask("PUT", "/auth/users/reader/policies/FSReadAll")
    key = rest.post("/auth/users/reader/credentials", {})
    window.sign_in(key["access_key_id"], key["secret_access_key"])
    page = window.page
    for address, row, refused in (
        ("/r/digits/-/branches?q=exp-0007", "exp-0007", ("Delete…", "fs:DeleteBranch")),
        ("/", "digits", ("Delete…", "fs:DeleteRepository")),
    ):
        window.go(address)
        page.get_by_role("button", name=f"Actions of {row}").click()
        item = page.get_by_role("menuitem", name=re.compile(f"^{refused[0]}"))
        expect(item).to_have_attribute("aria-disabled", "true")
        expect(item).to_have_accessible_name(re.compile(f"do not permit {refused[1]}"))
        page.keyboard.press("Escape")

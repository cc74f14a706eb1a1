"""Other people's bytes and names run nothing and reach no other host: the browser's own log says so."""

import urllib.parse

import hostile
import pytest
from playwright.sync_api import expect

# Logged by the browser when it refuses to play or decode.
EXPECTED = ["ERR_", "Failed to load resource: the server responded with a status of 404"]


def look(window, page, repository, path):
    page.goto(f"/r/{repository}/main/data?object={urllib.parse.quote(path)}")
    expect(page.get_by_role("complementary", name="Details").get_by_role("heading", name="History of this path")).to_be_visible()
    page.wait_for_timeout(700)


def not_owned(page):
    assert page.evaluate("window.owned") is None, "a script of an object ran"
    assert page.evaluate("({}).owned") is None, "an object changed the prototype"


@pytest.fixture(scope="module")
def hostile_repository(tarn):
    import outcome
    rest = outcome.Outcome(tarn)
    rest.repository("hostile")
    for path, (data, content_type) in hostile.FILES.items():
        rest.upload("hostile", path, data, content_type=content_type)
    rest.commit("hostile", "<script>window.owned=true</script>", **{"<b>key</b>": "<img src=x onerror=window.owned=true>"})
    return "hostile"


@pytest.mark.parametrize("path", list(hostile.FILES))
def test_nothing_runs_when_it_is_shown(window, hostile_repository, path):
    for text in EXPECTED:
        window.expect_problem(text)
    page = window.page
    look(window, page, hostile_repository, path)
    not_owned(page)
    rendered = page.get_by_role("button", name="Show rendered")
    if rendered.count() and rendered.is_visible():
        # The policy of the page holds even where the file is only parsed, and the browser logs what it refuses.
        window.expect_problem("violates the following Content Security Policy directive")
        rendered.click()
        page.wait_for_timeout(500)
        frame = page.frame_locator("iframe")
        expect(frame.get_by_text("Visible text")).to_be_visible()
        assert page.locator("iframe").get_attribute("sandbox") == ""
        assert "evil.example" not in page.locator("iframe").get_attribute("srcdoc")
    else:
        source = page.get_by_role("button", name="Show source")
        if source.count() and source.is_visible():
            source.click()
            page.wait_for_timeout(300)
    not_owned(page)
    window.axe()


def test_links_of_markdown_stay_harmless(window, hostile_repository):
    for text in EXPECTED:
        window.expect_problem(text)
    page = window.page
    look(window, page, hostile_repository, "README.md")
    expect(page.get_by_role("heading", name="Visible heading")).to_be_visible()
    addresses = page.eval_on_selector_all("aside a", "links => links.map(link => link.getAttribute('href'))")
    assert not [address for address in addresses if address.lower().startswith(("javascript:", "data:", "vbscript:"))], addresses


def test_names_of_every_kind_are_listed_as_text(window, hostile_repository):
    page = window.go(f"/r/{hostile_repository}/main/data")
    for path in hostile.FILES:
        expect(page.get_by_role("grid", name="Objects")).to_contain_text(path[-12:].replace("\u202e", "[U+202E]"))
    not_owned(page)
    window.review("hostile-names")


def test_a_raw_download_runs_nothing_either(window, tarn, hostile_repository):
    for path in ("page.html", "drawing.svg", "page.xhtml", "lie.png"):
        answer = window.context.request.get(f"/api/v1/repositories/hostile/refs/main/objects?path={path}")
        assert answer.headers["content-security-policy"].find("sandbox") >= 0
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-disposition"].startswith("attachment")


def test_the_page_cannot_be_framed_and_runs_no_inline_script(window):
    page = window.go("/")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    window.expect_problem("Content Security Policy")
    blocked = page.evaluate("""async () => {
        const seen = [];
        document.addEventListener('securitypolicyviolation', event => seen.push(event.effectiveDirective));
        const script = document.createElement('script');
        script.textContent = 'window.owned = true';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src="https://evil.example/x.png"><b onclick="window.owned=true" id="pressed">x</b>');
        document.getElementById('pressed').click();
        await fetch('https://evil.example/').catch(() => undefined);
        await new Promise(resolve => setTimeout(resolve, 300));
        return seen;
    }""")
    assert {"script-src-elem", "script-src-attr", "img-src", "connect-src"} <= set(blocked), blocked
    not_owned(page)
    headers = window.context.request.get("/").headers
    assert headers["x-frame-options"] == "DENY" and "frame-ancestors 'none'" in headers["content-security-policy"]

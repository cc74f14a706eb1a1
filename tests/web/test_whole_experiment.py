"""A whole experiment in the browser, by somebody who never saw the command line; and one with the keyboard alone.

The first is recorded: build/results/web-experiment.zip, shown by `playwright show-trace`; with a film of the page in long runs, for
it takes a quarter of the processor time of the test.
"""

import re

import browser as browsers
from long_tests import LONG
from playwright.sync_api import expect

TRACE = browsers.ROOT / "build/results/web-experiment.zip"
ACCURACY = {"exp-1": 0.91, "exp-2": 0.97, "exp-3": 0.42}


def file(name, content, kind="application/octet-stream"):
    return {"name": name, "mimeType": kind, "buffer": content.encode()}


def upload(page, repository, branch, folder, *files):
    page.goto(f"/r/{repository}/{branch}/data?path={folder}")
    expect(page.get_by_role("button", name="Upload").first).to_be_visible()
    page.get_by_label("Files to upload").set_input_files(list(files))
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("uploaded")


def commit(page, message):
    page.get_by_role("button", name="Commit…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill(message)
    dialog.get_by_role("button", name="Commit", exact=True).click()
    expect(dialog).to_be_hidden()


def promote(page, branch, reason):
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Promotion").click()
    page.get_by_role("link", name="models").first.click()
    page.get_by_role("button", name=f"Promote {branch} to main as @champion").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Method").select_option("replace-paths")
    dialog.get_by_label("Paths").fill("artifacts/**")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=f"Promote {branch} to main as @champion").click()
    page.wait_for_url("**/-/promotions/*")
    expect(page.get_by_text("promoted", exact=True).first).to_be_visible()


def test_from_an_empty_server_to_a_champion_and_back(open_window, rest, tarn):
    window = open_window().sign_in()  # a recording leaves its scripts behind, which sandboxed frames of other tests refuse
    source = tarn.import_root / "digits"
    for number in range(40):
        (source / str(number % 4)).mkdir(parents=True, exist_ok=True)
        (source / str(number % 4) / f"{number:04}.txt").write_text(f"digit {number}")
    window.context.tracing.start(screenshots=LONG, snapshots=True, title="A whole experiment")
    try:
        whole_experiment(window, rest, source)
    finally:
        TRACE.parent.mkdir(parents=True, exist_ok=True)
        window.context.tracing.stop(path=TRACE)
    assert TRACE.stat().st_size > 100_000


def whole_experiment(window, rest, source):
    page = window.go("/")

    # A repository, and the data set by reference.
    page.get_by_role("button", name="Create the first repository").click()
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill("digits")
    page.get_by_role("dialog").get_by_role("button", name="Create repository").click()
    page.wait_for_url("**/r/digits/main/data")
    page.get_by_role("button", name="Upload").first.click()
    page.get_by_role("menuitem", name="Import…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Source", exact=True).fill(f"local://{source}/")
    dialog.get_by_label("Destination prefix").fill("raw/")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog).to_contain_text("40 objects")
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog).to_contain_text("Imported 40 objects")
    dialog.get_by_role("button", name="Show the data").click()
    page.wait_for_url("**/data?path=raw/")
    assert len(rest.paths("digits", prefix="raw/")) == 40

    # Two people work on branches: one on the description, by a request.
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Branches").click()
    for branch in ("describe", *ACCURACY):
        page.get_by_role("button", name="Create branch").first.click()
        page.get_by_role("dialog").get_by_label("Name").fill(branch)
        page.get_by_role("dialog").get_by_role("button", name="Create branch").click()
        expect(page.get_by_role("grid", name="Branches").get_by_role("link", name=branch, exact=True)).to_be_visible()
    upload(page, "digits", "describe", "", file("README.md", "# Digits\n\nEight by eight.", "text/markdown"))
    commit(page, "Describe the data")
    page.goto("/r/digits/-/compare/main/describe")
    expect(page.get_by_text("README.md").first).to_be_visible()
    page.get_by_role("link", name="Open a request").click()
    page.get_by_label("Title").fill("Describe the data")
    page.get_by_role("dialog").get_by_role("button", name="Open request").click()
    page.get_by_role("button", name="Merge into main…").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("Merged describe into main")).to_be_visible()
    assert "README.md" in rest.paths("digits")

    # Three trained models, committed, and what was measured of them.
    for branch, accuracy in ACCURACY.items():
        upload(page, "digits", branch, "artifacts/", file("model.txt", f"model of {branch}", "text/plain"))
        commit(page, f"Train {branch}")
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Runs").click()
        page.get_by_role("button", name="Record a run…").click()
        dialog = page.get_by_role("dialog", name="Record a run")
        dialog.get_by_role("button", name="Branch that was measured: main").click()
        page.get_by_role("combobox", name="Branch that was measured").fill(branch)
        page.keyboard.press("Enter")
        dialog.get_by_label("Experiment").fill("cnn")
        metrics = dialog.get_by_role("group", name="Metrics")
        metrics.get_by_label("Key 1").fill("accuracy")
        metrics.get_by_label("Value 1").fill("high")
        expect(dialog.get_by_role("button", name="Record run")).to_have_accessible_description("accuracy needs a number")
        metrics.get_by_label("Value 1").fill(str(accuracy))
        parameters = dialog.get_by_role("group", name="Parameters")
        parameters.get_by_label("Key 1").fill("optimizer")
        parameters.get_by_label("Value 1").fill("adam" if branch == "exp-2" else "sgd")
        if branch == "exp-1":
            window.review("runs-record")
        dialog.get_by_role("button", name="Record run").click()
        expect(dialog).to_be_hidden()
        expect(page.get_by_role("grid", name="Runs")).to_contain_text(branch)
    recorded = {
        run["branch"]: {metric["name"]: metric["value"] for metric in run["metrics"]}["accuracy"]
        for run in rest.get("/repositories/digits/runs", experiment="cnn")["results"]
    }
    assert recorded == ACCURACY

    # The runs beside each other, then the data of one against main.
    for branch in ("exp-1", "exp-2"):
        page.get_by_role("grid", name="Runs").get_by_role("row").filter(has_text=branch).get_by_role("checkbox").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("0.97").first).to_be_visible()
    page.goto("/r/digits/-/compare/main/exp-2")
    expect(page.get_by_text("artifacts/").first).to_be_visible()

    # A gate decides who may become the champion.
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Promotion").click()
    page.get_by_role("button", name="Write the first gate").click()
    page.get_by_label("Name", exact=True).fill("models")
    page.get_by_label("Approvals", exact=True).fill("0")
    page.get_by_label("accuracy at least").fill("0.9")
    page.get_by_label("Required", exact=True).fill("artifacts/**")
    verdicts = page.get_by_role("region", name="Who would pass")
    expect(verdicts.get_by_role("status")).to_contain_text("2 would pass, 1 would fail")
    page.get_by_role("button", name="Protect main").click()
    page.wait_for_url("**/-/gates/models")
    expect(page.get_by_role("button", name="Promote exp-3 to main as @champion")).to_have_accessible_description(
        re.compile("^exp-3 fails: accuracy is 0.42")
    )
    assert rest.get("/repositories/digits/policies/models")["version"] == 1

    # exp-1 first, then the better one; the better one turns out to be worse in use, and is taken back.
    promote(page, "exp-1", "the first champion")
    first = rest.get("/repositories/digits/aliases/champion")["commit_id"]
    assert rest.read("digits", "artifacts/model.txt", "@champion") == b"model of exp-1"
    promote(page, "exp-2", "better by 0.06")
    assert rest.read("digits", "artifacts/model.txt", "@champion") == b"model of exp-2"
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Promotion").click()
    page.get_by_role("link", name="@champion").first.click()
    page.get_by_role("button", name="Roll back…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("slower in use")
    dialog.get_by_role("button", name="Roll back main").click()
    page.wait_for_url("**/-/promotions/*")
    page.goto("/r/digits/-/aliases/champion")
    expect(page.get_by_role("listitem").filter(has_text="slower in use")).to_be_visible()

    assert rest.get("/repositories/digits/aliases/champion")["commit_id"] == first
    assert (
        rest.read("digits", "artifacts/model.txt") == rest.read("digits", "artifacts/model.txt", "@champion") == b"model of exp-1"
    )
    assert rest.get("/repositories/digits/aliases/champion/history")["results"][0]["reason"] == "slower in use"
    assert len(rest.paths("digits", prefix="raw/")) == 40 and "README.md" in rest.paths("digits")


class Keyboard:
    """Only keys: no pointer, and no focus that keys did not move."""

    TABS_MAX = 120

    def __init__(self, page):
        self.page = page

    def reach(self, target):
        expect(target).to_be_visible()
        for _ in range(self.TABS_MAX):
            if target.evaluate("element => element === document.activeElement"):
                return self
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{self.TABS_MAX} times Tab do not lead to {target}")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def type(self, text):
        self.page.keyboard.type(text)
        return self


def upload_by_keyboard(page, keys, choosers, *files):
    keys.reach(page.get_by_role("button", name="Upload", exact=True).first).press("Enter")
    expect(page.get_by_role("menuitem", name="Files…")).to_be_focused()
    keys.press("Enter")
    choosers.next().set_files(list(files))
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("uploaded")


def commit_by_keyboard(page, keys, message):
    keys.reach(page.get_by_role("button", name="Commit…")).press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Message")).to_be_focused()
    keys.type(message).reach(dialog.get_by_role("button", name="Commit", exact=True)).press("Enter")
    expect(dialog).to_be_hidden()


def test_with_the_keyboard_alone(window, rest):
    choosers = browsers.FileChoosers(window.page)
    page = window.go("/")
    keys = Keyboard(page)
    keys.reach(page.get_by_role("button", name="Create repository")).press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Name", exact=True)).to_be_focused()
    keys.type("keys").press("Enter")
    page.wait_for_url("**/r/keys/main/data")
    upload_by_keyboard(page, keys, choosers, file("train.csv", "a,b\n1,2\n", "text/csv"))
    commit_by_keyboard(page, keys, "The data")
    assert rest.paths("keys") == ["train.csv"]

    # Branches, one to merge and one to promote.
    keys.press("g", "b")
    page.wait_for_url("**/-/branches")
    for branch in ("describe", "exp-1"):
        keys.reach(page.get_by_role("button", name="Create branch").first).press("Enter")
        expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
        keys.type(branch).press("Enter")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(page.get_by_role("grid", name="Branches").get_by_role("link", name=branch, exact=True)).to_be_visible()
    for branch, name in (("describe", "README.md"), ("exp-1", "model.txt")):
        keys.reach(page.get_by_role("button", name="Search or jump to")).press("Enter")
        expect(page.get_by_role("combobox", name="Search or jump to")).to_be_focused()
        keys.type(branch)
        expect(page.get_by_role("option", name=branch, exact=True)).to_be_visible()
        keys.press("ArrowDown", "Enter")
        page.wait_for_url(f"**/r/keys/{branch}/data")
        upload_by_keyboard(page, keys, choosers, file(name, f"of {branch}", "text/plain"))
        commit_by_keyboard(page, keys, f"Add {name}")

    # Compared and merged.
    keys.press("g", "b")
    keys.reach(page.get_by_role("button", name="Actions of describe")).press("Enter")
    expect(page.get_by_role("menu")).to_be_visible()
    keys.type("Compare").press("Enter")
    page.wait_for_url("**/-/compare/main/describe")
    expect(page.get_by_text("README.md").first).to_be_visible()
    keys.reach(page.get_by_role("button", name="Merge into main…")).press("Enter")
    dialog = page.get_by_role("dialog")
    keys.reach(dialog.get_by_role("button", name="Merge into main")).press("Enter")
    expect(dialog).to_be_hidden()
    assert rest.paths("keys") == ["README.md", "train.csv"]

    # Measured and promoted; the gate is somebody else's work.
    keys.press("g", "x")
    keys.reach(page.get_by_role("button", name="Record a run…")).press("Enter")
    dialog = page.get_by_role("dialog", name="Record a run")
    keys.reach(dialog.get_by_role("button", name="Branch that was measured: main")).press("Enter")
    expect(page.get_by_role("combobox", name="Branch that was measured")).to_be_focused()
    keys.type("exp-1").press("Enter")
    expect(dialog.get_by_role("button", name="Branch that was measured: exp-1")).to_be_visible()
    metrics = dialog.get_by_role("group", name="Metrics")
    keys.reach(metrics.get_by_label("Key 1")).type("accuracy").reach(metrics.get_by_label("Value 1")).type("0.9")
    keys.reach(dialog.get_by_role("button", name="Record run")).press("Enter")
    expect(dialog).to_be_hidden()
    rest.ask(
        "PUT",
        "/repositories/keys/policies/models",
        headers={"Content-Type": "application/yaml"},
        data='destination: main\nalias: champion\ncandidates: "exp-*"\nmetrics: [{name: accuracy, goal: max, min: 0.5, primary: true}]\n',
    )
    keys.press("g", "m")
    keys.reach(page.get_by_role("link", name="models").first).press("Enter")
    page.wait_for_url("**/-/gates/models")
    keys.reach(page.get_by_role("button", name="Promote exp-1 to main as @champion")).press("Enter")
    dialog = page.get_by_role("dialog")
    keys.reach(dialog.get_by_role("button", name="Promote exp-1 to main as @champion")).press("Enter")
    page.wait_for_url("**/-/promotions/*")
    expect(page.get_by_text("promoted", exact=True).first).to_be_visible()
    assert rest.read("keys", "model.txt", "@champion") == b"of exp-1"

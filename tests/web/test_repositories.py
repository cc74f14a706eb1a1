"""Repositories: created, found, imported into and deleted with the keyboard and the mouse, checked over REST."""

import re

from playwright.sync_api import expect


def test_the_first_repository(window, rest):
    page = window.go("/")
    expect(page.get_by_text("There is none yet that you may see.")).to_be_visible()
    window.review("repositories-empty")
    page.get_by_role("button", name="Create the first repository").click()
    dialog = page.get_by_role("dialog", name="Create repository")
    dialog.get_by_label("Name", exact=True).fill("Digits!")
    expect(dialog.get_by_text("Lower-case letters, digits and hyphens")).to_be_visible()
    expect(dialog.get_by_role("button", name="Create repository")).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Name", exact=True).fill("digits")
    window.review("repositories-create")
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/digits/main/data")
    expect(page.get_by_text("There are no objects here yet.")).to_be_visible()
    made = rest.get("/repositories/digits")
    assert (made["storage_namespace"], made["default_branch"]) == ("local://digits", "main")


def test_a_name_that_is_taken_is_refused_and_the_input_stays(window, rest):
    rest.repository("taken")
    window.expect_problem("409")
    page = window.go("/?create=1")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("taken")
    dialog.get_by_label("Storage namespace").fill("local://another")
    page.keyboard.press("Enter")
    alert = dialog.get_by_role("alert")
    expect(alert).to_contain_text("already_exists")
    expect(alert).to_contain_text("request")
    expect(dialog.get_by_label("Storage namespace")).to_have_value("local://another")
    window.axe()


def test_many_are_listed_found_and_opened_by_the_keyboard(window, rest):
    for number in range(60):
        rest.repository(f"lake-{number:02d}")
    longest = "n" * 62 + "z"
    rest.repository(longest)
    rest.upload("lake-07", "a.bin", b"x" * 1234)
    page = window.go("/")
    expect(page.get_by_role("link", name="lake-07", exact=True)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="lake-07")).to_contain_text("1.2 KB")
    window.review("repositories")
    search = page.get_by_role("searchbox", name="Search repositories")
    search.fill("nnn")
    expect(page.get_by_role("link", name=longest)).to_be_visible()
    expect(page.get_by_role("link", name="lake-07", exact=True)).to_be_hidden()
    page.wait_for_url("**/?q=nnn")
    window.review("repositories-long-name")
    search.fill("lake-4")
    expect(page.get_by_role("row")).to_have_count(11)
    table = page.get_by_role("grid", name="Repositories")
    table.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/r/lake-41/main/data")
    page.go_back()
    expect(search).to_have_value("lake-4")
    rest.post("/repositories/lake-23/metadata", {"metadata": {"owner": "vision", "stage": "owner=none"}})
    search.fill("owner=vis")
    expect(page.get_by_role("link", name="lake-23", exact=True)).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(2)
    page.wait_for_url("**/?q=owner%3Dvis")
    found = {
        text: [repository["id"] for repository in rest.get("/repositories", search=text)["results"]]
        for text in ("owner=vision", "vision", "vision=stage", "stage=")
    }
    assert found == {"owner=vision": ["lake-23"], "vision": [], "vision=stage": [], "stage=": ["lake-23"]}
    search.fill("owner=nobody")
    expect(page.get_by_text('No repository has "owner=nobody" in its metadata.')).to_be_visible()
    search.fill("no such name")
    expect(page.get_by_text('No repository has "no such name" in its name.')).to_be_visible()


def test_deleting_wants_the_name_and_says_what_is_lost(window, rest):
    rest.repository("doomed")
    rest.upload("doomed", "a.bin", b"x" * 2000)
    rest.branch("doomed", "side")
    page = window.go("/?q=doomed")
    page.get_by_role("button", name="Actions of doomed").click()
    window.axe()
    page.get_by_role("menuitem", name="Delete…").click()
    dialog = page.get_by_role("dialog", name="Delete doomed?")
    expect(dialog).to_contain_text("Deletes 2 branches, 0 tags and 0 aliases")
    expect(dialog).to_contain_text("1 object of 2.0 KB")
    window.review("repositories-delete")
    dialog.get_by_label("to confirm").fill("doome")
    page.keyboard.press("Enter")
    assert rest.status("/repositories/doomed") == 200
    dialog.get_by_label("to confirm").fill("doomed")
    dialog.get_by_role("button", name="Delete repository").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("link", name="doomed")).to_be_hidden()
    assert rest.status("/repositories/doomed") == 404


def test_the_import_wizard_shows_what_will_come_and_what_came(window, rest, tarn):
    rest.repository("imported")
    source = tarn.import_root / "set"
    for name, size in {"images/1.png": 100, "images/2.png": 200, "labels.csv": 30}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(b"x" * size)
    page = window.go("/?q=imported")
    page.get_by_role("button", name="Actions of imported").click()
    page.get_by_role("menuitem", name="Import data…").click()
    dialog = page.get_by_role("dialog", name="Import into imported at main")
    dialog.get_by_label("Source", exact=True).fill(f"local://{source}/")
    dialog.get_by_label("Destination prefix").fill("raw/")
    window.review("import-source")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("3 objects, 330 B. Nothing has been imported yet.")
    expect(dialog.get_by_role("gridcell", name="raw/images/2.png")).to_be_visible()
    window.review("import-preview")
    assert rest.paths("imported") == []
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog).to_contain_text("Imported 3 objects in commit")
    window.review("import-result")
    assert rest.paths("imported") == ["raw/images/1.png", "raw/images/2.png", "raw/labels.csv"]
    dialog.get_by_role("button", name="Show the data").click()
    page.wait_for_url("**/data?path=raw/")
    expect(page.get_by_role("link", name="labels.csv")).to_be_visible()


def test_an_import_that_removes_objects_asks_first(window, rest, tarn):
    rest.repository("replaced")
    for path in ("raw/a", "raw/b", "raw/c", "other"):
        rest.upload("replaced", path, b"old")
    rest.commit("replaced", "before")
    source = tarn.import_root / "fewer"
    source.mkdir()
    for name in ("a", "new"):
        (source / name).write_bytes(b"bytes of the source")
    page = window.go("/?q=replaced")
    page.get_by_role("button", name="Actions of replaced").click()
    page.get_by_role("menuitem", name="Import data…").click()
    dialog = page.get_by_role("dialog", name="Import into replaced at main")
    dialog.get_by_label("Source", exact=True).fill(f"local://{source}/")
    dialog.get_by_label("Destination prefix").fill("raw/")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("At the destination: 3 objects. 2 will be removed, 1 changed, and 1 added.")
    window.review("import-removes")
    expect(dialog.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    rows = [row.inner_text().split() for row in dialog.get_by_role("row").all()[1:]]
    assert [row[:2] for row in rows] == [["raw/b", "removed"], ["raw/c", "removed"], ["raw/a", "changed"], ["raw/new", "added"]]
    dialog.get_by_label("to remove 2 objects").fill("3")
    expect(dialog.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    assert rest.paths("replaced", prefix="raw/") == ["raw/a", "raw/b", "raw/c"]
    dialog.get_by_label("to remove 2 objects").fill("2")
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog).to_contain_text("2 objects of before removed")
    assert rest.paths("replaced") == ["other", "raw/a", "raw/new"]


def test_what_an_import_may_mean_besides_is_said(window, rest, tarn):
    rest.repository("meant")
    source = tarn.import_root / "meant"
    source.mkdir()
    (source / "set").mkdir()
    for name in ("set/a", "set2", "one", "one.txt"):
        (source / name).write_bytes(b"x")
    page = window.go("/?q=meant")
    page.get_by_role("button", name="Actions of meant").click()
    page.get_by_role("menuitem", name="Import data…").click()
    dialog = page.get_by_role("dialog", name="Import into meant at main")
    at = dialog.get_by_label("Destination prefix")
    preview = dialog.get_by_role("button", name="Preview")
    dialog.get_by_label("Source", exact=True).fill(f"local://{source}/set")
    for destination in ("/x/", "../x/", "x//y/", "x\\y/"):
        at.fill(destination)
        expect(at).to_have_accessible_description(re.compile("segment"))
        expect(preview).to_be_disabled()
    window.review("import-refused")
    at.fill("x/")
    preview.click()
    expect(dialog.get_by_role("alert")).to_contain_text(f"also matches local://{source}/set2")
    dialog.get_by_role("button", name="Back").click()
    dialog.get_by_label("Source", exact=True).fill(f"local://{source}/one")
    preview.click()
    expect(dialog.get_by_role("alert").first).to_contain_text("is the name of an object")
    window.review("import-meant")


def test_a_source_that_cannot_be_read_says_why(window, rest, tarn):
    rest.repository("unreadable")
    window.expect_problem("40")
    page = window.go("/?q=unreadable")
    page.get_by_role("button", name="Actions of unreadable").click()
    page.get_by_role("menuitem", name="Import data…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Source", exact=True).fill("local:///etc/")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("request")
    expect(dialog.get_by_label("Source", exact=True)).to_have_value("local:///etc/")


def test_a_user_without_rights_is_told_why(window, rest, tarn):
    rest.repository("visible")
    rest.post("/auth/users", {"id": "reader"})
    rest.post(
        "/auth/policies",
        {"id": "OnlyList", "statement": [{"effect": "allow", "action": ["fs:ListRepositories"], "resource": "*"}]},
    )
    assert rest("PUT", "/auth/users/reader/policies/OnlyList").status_code == 201
    key = rest.post("/auth/users/reader/credentials", {})
    window.sign_in(key["access_key_id"], key["secret_access_key"])
    window.expect_problem("401")
    window.expect_problem("insufficient permissions")
    page = window.go("/")
    refused = page.get_by_role("button", name="Create repository")
    expect(refused).to_have_attribute("aria-disabled", "true")
    expect(refused).to_have_accessible_description(re.compile("fs:CreateRepository"))
    window.go("/r/visible/main/data")
    expect(page.get_by_role("alert")).to_contain_text("insufficient_permissions")
    window.review("not-permitted")

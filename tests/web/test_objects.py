"""Objects: the tree, uploads, downloads, moves, metadata and search."""

import io
import re
import zipfile
from collections import Counter

import browser as browsers
from playwright.sync_api import expect


def fill(rest, name, count=12):
    rest.repository(name)
    for number in range(count):
        rest.upload(
            name, f"images/{number % 3}/{number:04d}.png", b"x" * (number + 1), content_type="image/png", label=str(number % 3)
        )
    rest.upload(name, "README.md", "# Digits\n\nEight by eight pixels.", content_type="text/markdown")
    rest.commit(name, "first")


def test_the_tree_is_walked_and_the_address_keeps_the_place(window, rest):
    fill(rest, "tree")
    rest.upload("tree", "deep/" + "n" * 200 + "-end.bin", b"x")
    rest.commit("tree", "deep")
    page = window.go("/r/tree")
    page.wait_for_url("**/r/tree/main/data")
    page.get_by_role("link", name="images/").click()
    page.get_by_role("link", name="1/").click()
    page.wait_for_url("**/r/tree/main/data?path=images/1/")
    expect(page.get_by_role("link", name="0004.png")).to_be_visible()
    window.review("objects")
    page.get_by_role("link", name="0004.png").click()
    panel = page.get_by_role("complementary", name="Details")
    expect(panel).to_contain_text("label")
    expect(panel).to_contain_text("first")
    page.wait_for_url("**path=images/1/&object=images/1/0004.png")
    page.go_back()
    expect(panel).to_be_hidden()
    page.get_by_role("navigation", name="Folder").get_by_role("link", name="tree").click()
    page.get_by_role("link", name="deep/").click()
    expect(page.get_by_role("row").filter(has_text="-end.bin")).to_be_visible()
    window.review("objects-long-name")


def test_any_ref_is_shown_and_only_branches_can_be_changed(window, rest):
    fill(rest, "refs")
    for number in range(30):
        rest.branch("refs", f"exp-{number}")
    rest.post("/repositories/refs/tags", {"id": "v1", "ref": "main"})
    rest.upload("refs", "later.txt", "later")
    page = window.go("/r/refs/main/data")
    expect(page.get_by_role("link", name="later.txt")).to_be_visible()
    page.get_by_role("button", name="Ref: main").click()
    expect(page.get_by_role("option", name="exp-0")).to_be_visible()
    window.review("ref-picker")
    page.get_by_role("combobox", name="Ref").fill("v1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/refs/v1/data")
    expect(page.get_by_role("link", name="later.txt")).to_be_hidden()
    expect(page.get_by_role("button", name="Upload").first).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Ref: v1").click()
    page.get_by_role("combobox", name="Ref").fill("main~1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/refs/main~1/data")
    expect(page.get_by_text("There are no objects here yet.")).to_be_visible()
    window.review("objects-empty")


def test_files_are_uploaded_committed_and_seen(window, rest, tmp_path):
    rest.repository("uploads")
    page = window.go("/r/uploads/main/data?path=in/")
    expect(page.get_by_text("There is nothing in this folder.")).to_be_visible()
    big = bytes(range(256)) * (40 * 4096)  # 40 MiB goes in parts
    (tmp_path / "big.bin").write_bytes(big)
    page.get_by_label("Files to upload").set_input_files([{"name": "a b#?.txt", "mimeType": "text/plain", "buffer": b"hello"}])
    page.get_by_label("Files to upload").set_input_files(str(tmp_path / "big.bin"))
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("2 files uploaded", timeout=60_000)
    assert rest.paths("uploads") == ["in/a b#?.txt", "in/big.bin"]
    assert rest.read("uploads", "in/big.bin") == big
    expect(page.get_by_role("link", name="big.bin")).to_be_visible()
    expect(page.get_by_text("2 uncommitted changes on main")).to_be_visible()
    window.review("objects-uploaded")
    page.get_by_role("button", name="Commit…").click()
    dialog = page.get_by_role("dialog", name="Commit to main")
    dialog.get_by_label("Message").fill("two files")
    dialog.get_by_label("Key 1").fill("source")
    dialog.get_by_label("Value 1").fill("camera")
    window.review("commit-dialog")
    dialog.get_by_label("Message").press("Control+Enter")
    expect(page.get_by_text("2 uncommitted changes on main")).to_be_hidden()
    page.get_by_role("link", name="big.bin").click()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Details")).to_be_hidden()
    head = rest.get("/repositories/uploads/refs/main/commits", amount=1)["results"][0]
    assert (head["message"], head["metadata"]) == ("two files", {"source": "camera"})


def test_small_files_take_a_request_each_and_the_page_few(window, rest):
    rest.repository("small-files")
    page = window.go("/r/small-files/main/data")
    expect(page.get_by_text("There are no objects here yet.")).to_be_visible()
    asked = Counter()
    page.on("request", lambda request: asked.update([request.method]))
    names = [f"{number:03d}.txt" for number in range(200)]
    page.get_by_label("Files to upload").set_input_files(
        [{"name": name, "mimeType": "text/plain", "buffer": name.encode()} for name in names]
    )
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("200 files uploaded")
    expect(page.get_by_text("200 uncommitted changes on main")).to_be_visible()
    assert rest.paths("small-files") == names
    # The list is loaded again after 1, 3, 7, ... seconds and at the end, however long a busy machine takes.
    assert asked["POST"] == 200 and asked["GET"] < len(names), asked


def test_the_upload_menu_keeps_its_focus_and_its_keys_while_answers_arrive(window, rest):
    rest.repository("early")
    choosers = browsers.FileChoosers(window.page)
    held = [
        browsers.Held(window.page, re.compile(pattern))
        for pattern in (r"/auth/permissions/check", r"/repositories/early/branches\?")
    ]
    page = window.go("/r/early/main/data")
    upload = page.get_by_role("button", name="Upload", exact=True)
    upload.focus()
    page.keyboard.press("Enter")
    item = page.get_by_role("menuitem", name="Files…")
    expect(item).to_be_focused()
    page.evaluate("window.menuItem = document.activeElement")
    for answers in held:
        answers.release()
    expect(page.get_by_role("button", name="Upload files", include_hidden=True)).to_be_attached()  # drawn from the answers
    expect(item).to_be_focused()
    assert page.evaluate("window.menuItem === document.activeElement"), "the menu was built again"
    page.keyboard.press("Enter")
    choosers.next().set_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}])
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("1 file uploaded")
    assert rest.paths("early") == ["a.txt"]


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def test_the_readme_of_a_folder_is_shown_below_it(window, rest):
    rest.repository("told")
    rest.upload("told", "set/notes/more.md", "# More")
    rest.upload("told", "set/pixel.png", PIXEL)
    rest.upload("told", "large/README.md", "x" * 300_000)
    rest.upload(
        "told", "set/README.md", "# Of main\n\n<script>window.owned = true</script>\n\n[more](notes/more.md) ![dot](pixel.png)"
    )
    rest.commit("told", "first")
    rest.branch("told", "side")
    rest.upload("told", "set/README.md", "# Of the side", branch="side")
    page = window.go("/r/told/main/data?path=set/")
    readme = page.get_by_role("region", name="README.md", exact=True)
    expect(readme.get_by_role("heading", name="Of main")).to_be_visible()
    expect(readme).to_contain_text("<script>window.owned = true</script>")
    assert page.evaluate("window.owned") is None
    expect(readme.get_by_role("img", name="dot")).to_have_js_property("naturalWidth", 1)
    expect(page.get_by_role("grid", name="Objects").get_by_role("link", name="pixel.png")).to_be_visible()
    window.review("objects-readme")
    readme.get_by_role("link", name="more").click()
    page.wait_for_url("**/r/told/main/data?path=set/notes/&object=set/notes/more.md")
    window.go("/r/told/side/data?path=set/")
    expect(readme.get_by_role("heading", name="Of the side")).to_be_visible()
    window.go("/r/told/main/data?path=large/")
    expect(readme).to_contain_text("more than is shown here")
    readme.get_by_role("link", name="README.md").click()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    window.go("/r/told/main/data?path=set/notes/")
    expect(page.get_by_role("link", name="more.md")).to_be_visible()
    expect(readme).to_have_count(0)


def test_uploads_of_the_page_have_the_types_of_their_extensions(window, rest, tmp_path):
    types = {
        "rows.csv": "text/csv",
        "rows.parquet": "application/vnd.apache.parquet",
        "run.py": "text/x-python",
        "notes.md": "text/markdown",
        "model.pkl": "application/octet-stream",
    }
    for name in types:
        (tmp_path / name).write_bytes(b"x")
    rest.repository("typed")
    page = window.go("/r/typed/main/data")
    page.get_by_label("Files to upload").set_input_files([str(tmp_path / name) for name in types])
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("5 files uploaded")
    listed = rest.get("/repositories/typed/refs/main/objects/ls")["results"]
    assert {item["path"]: item["content_type"] for item in listed} == types


def test_folders_have_sizes_and_the_list_is_sorted_by_the_server(window, rest):
    rest.repository("sorted")
    for path, size in {"b.bin": 10, "a.bin": 30, "c.bin": 20, "small/x": 1, "large/x": 500, "large/deep/y": 600}.items():
        rest.upload("sorted", path, b"x" * size)
    rest.commit("sorted", "first")
    page = window.go("/r/sorted/main/data")
    table = page.get_by_role("grid", name="Objects")
    expect(page.get_by_text("6 objects, 1.2 KB")).to_be_visible()
    expect(table.get_by_role("row").filter(has_text="large/")).to_contain_text("1.1 KB2 objects")

    def names():
        return table.get_by_role("link").all_inner_texts()

    assert names() == ["a.bin", "b.bin", "c.bin", "large/", "small/"]
    table.get_by_role("button", name="Size").click()
    page.wait_for_url("**sort=size&descending=1")
    browsers.eventually(page, lambda: names() == ["large/", "small/", "a.bin", "c.bin", "b.bin"])
    window.review("objects-sorted")
    table.get_by_role("button", name="Name").click()
    browsers.eventually(page, lambda: names() == ["a.bin", "b.bin", "c.bin", "large/", "small/"])
    table.get_by_role("button", name="Name").click()
    browsers.eventually(page, lambda: names() == ["small/", "large/", "c.bin", "b.bin", "a.bin"])
    page.get_by_role("link", name="large/").click()
    browsers.eventually(page, lambda: names() == ["deep/", "x"])
    expect(page.get_by_text("2 objects, 1.1 KB")).to_be_visible()


def test_the_details_are_as_wide_as_they_were_made_and_fill_the_page(window, rest):
    fill(rest, "wide", 3)
    page = window.go("/r/wide/main/data?object=README.md")
    details = page.get_by_role("complementary", name="Details")
    line = page.get_by_role("separator", name="Width of the details")
    expect(line).to_have_attribute("aria-valuenow", "46")
    before = details.bounding_box()["width"]
    line.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    expect(line).to_have_attribute("aria-valuenow", "56")
    place = line.bounding_box()
    page.mouse.move(place["x"] + 4, place["y"] + 40)
    page.mouse.down()
    page.mouse.move(place["x"] - 96, place["y"] + 40)
    page.mouse.up()
    wide = details.bounding_box()["width"]
    assert wide > before + 150
    page.reload()
    expect(details.get_by_role("heading", name="Digits")).to_be_visible()
    assert abs(details.bounding_box()["width"] - wide) < 2
    window.axe()
    details.get_by_role("button", name="Full page").click()
    page.wait_for_url("**full=1")
    expect(page.get_by_role("grid", name="Objects")).to_be_hidden()
    window.review("object-full-page")
    details.get_by_role("button", name="Beside the list").click()
    expect(page.get_by_role("grid", name="Objects")).to_be_visible()
    # Without a focus in the page, too.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    expect(details).to_be_hidden()


def test_a_protected_branch_says_so_and_leads_to_a_request(window, rest):
    fill(rest, "guarded")
    rest.ask("PUT", "/repositories/guarded/settings/branch_protection", json=[{"pattern": "main"}])
    page = window.go("/r/guarded/main/data?path=images/")
    note = page.get_by_role("note")
    expect(note).to_contain_text("main is protected")
    page.get_by_role("button", name="Upload", exact=True).click()
    for item in ("Files…", "Folder…", "New text object…"):
        expect(page.get_by_role("menuitem", name=item)).to_contain_text("a rule blocks writing")
    expect(page.get_by_role("menuitem", name="Import…")).to_contain_text("By reference")
    page.keyboard.press("Escape")
    window.review("objects-protected")
    note.get_by_role("button", name="Upload to a new branch…").click()
    page.get_by_label("Name", exact=True).fill("mine")
    page.get_by_role("dialog").get_by_role("button", name="Create branch").click()
    page.wait_for_url("**/r/guarded/mine/data?path=images/&into=main")
    page.get_by_label("Files to upload").set_input_files([{"name": "new.txt", "mimeType": "text/plain", "buffer": b"new"}])
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("1 file uploaded")
    page.get_by_role("button", name="Commit…").click()
    page.get_by_label("Message").fill("new")
    page.get_by_role("dialog").get_by_role("button", name="Commit").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("link", name="0/").click()
    page.wait_for_url("**path=images/0/&into=main")
    window.review("objects-for-protected")
    note.get_by_role("link", name="Open a pull request").click()
    page.get_by_label("Title").fill("Add new")
    page.get_by_role("dialog").get_by_role("button", name="Open request").click()
    expect(page.get_by_role("heading", name="Add new")).to_be_visible()
    (request,) = rest.get("/repositories/guarded/pulls", status="open")["results"]
    assert (request["source_branch"], request["destination_branch"]) == ("mine", "main")
    assert "images/new.txt" not in rest.paths("guarded") and "images/new.txt" in rest.paths("guarded", "mine")


def test_folders_can_be_dropped(window, rest):
    rest.repository("dropped")
    page = window.go("/r/dropped/main/data")
    expect(page.get_by_text("There are no objects here yet.")).to_be_visible()
    page.evaluate("""() => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(['one'], 'one.txt'));
        transfer.items.add(new File(['two'], 'two.txt'));
        const target = document.querySelector('main .page-full');
        for (const type of ['dragover', 'drop']) target.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }""")
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("2 files uploaded")
    assert rest.paths("dropped") == ["one.txt", "two.txt"]


def test_a_failed_upload_is_tried_again_and_loses_nothing(window, rest):
    rest.repository("retried")
    window.expect_problem("503")
    failures = {"left": 2}

    def fail_twice(route):
        if route.request.method == "POST" and failures["left"] > 0:
            failures["left"] -= 1
            route.fulfill(status=503, json={"message": "busy"})
        else:
            route.continue_()

    window.page.route("**/branches/main/objects?path=*", fail_twice)
    page = window.go("/r/retried/main/data")
    page.get_by_label("Files to upload").set_input_files([{"name": "x.txt", "mimeType": "text/plain", "buffer": b"x"}])
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("1 file uploaded")
    assert failures["left"] == 0 and rest.paths("retried") == ["x.txt"]
    # One that is refused says why, and can be tried again by hand.
    window.expect_problem("403")
    page.unroute("**/branches/main/objects?path=*")
    page.route(
        "**/branches/main/objects?path=*",
        lambda route: route.fulfill(
            status=403, json={"message": "not yours", "code": "insufficient_permissions", "request_id": "r7"}
        ),
    )
    page.get_by_label("Files to upload").set_input_files([{"name": "y.txt", "mimeType": "text/plain", "buffer": b"y"}])
    expect(page.get_by_role("region", name="Uploads").get_by_role("alert")).to_contain_text("not yours")
    window.review("upload-failed")
    page.unroute("**/branches/main/objects?path=*")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("2 files uploaded")
    assert rest.paths("retried") == ["x.txt", "y.txt"]


def test_selection_is_downloaded_moved_copied_and_deleted(window, rest):
    fill(rest, "chosen", 6)
    rest.branch("chosen", "side")
    page = window.go("/r/chosen/main/data?path=images/0/")
    for name in ("images/0/0000.png", "images/0/0003.png"):
        page.get_by_role("checkbox", name=f"Select {name}").click()
    expect(page.get_by_role("group", name="Selection")).to_contain_text("2 items")
    window.review("objects-selected")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    names = zipfile.ZipFile(io.BytesIO(saved.value.path().read_bytes())).namelist()
    assert sorted(names) == ["images/0/0000.png", "images/0/0003.png"]

    page.get_by_role("button", name="Move…").click()
    page.get_by_role("dialog").get_by_label("Into the folder").fill("moved/")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Moved 2 objects")).to_be_visible()
    assert rest.paths("chosen", prefix="moved/") == ["moved/0000.png", "moved/0003.png"]
    assert rest.paths("chosen", prefix="images/0/") == []

    window.go("/r/chosen/main/data")
    page.get_by_role("checkbox", name="Select images/").click()
    page.get_by_role("button", name="Copy…").click()
    dialog = page.get_by_role("dialog", name="Copy images/")
    dialog.get_by_role("button", name="Branch to copy to: main").click()
    page.get_by_role("combobox", name="Branch to copy to").fill("side")
    page.keyboard.press("Enter")
    dialog.get_by_label("Path of the copy").fill("copied/")
    dialog.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("Copied 4 objects to side")).to_be_visible()
    assert len(rest.paths("chosen", "side", "copied/")) == 4

    page.get_by_role("checkbox", name="Select images/").click()
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Deletes 4 objects of")
    window.review("objects-delete")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("Deleted 4 objects")).to_be_visible()
    assert rest.paths("chosen", prefix="images/") == []


def test_one_object_is_renamed_edited_and_annotated(window, rest):
    fill(rest, "edited", 3)
    page = window.go("/r/edited/main/data?object=README.md")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Edit text…").click()
    dialog = page.get_by_role("dialog", name="Edit README.md")
    dialog.get_by_label("Text").fill("# New\n")
    window.axe()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert rest.read("edited", "README.md") == b"# New\n"
    expect(page.get_by_role("complementary", name="Details").get_by_role("heading", name="New")).to_be_visible()

    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Edit metadata…").click()
    dialog = page.get_by_role("dialog", name="Metadata of README.md")
    dialog.get_by_label("Key 1").fill("stage")
    dialog.get_by_label("Value 1").fill("gold")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    stat = rest.get("/repositories/edited/refs/main/objects/stat", path="README.md")
    assert stat["metadata"] == {"stage": "gold"}

    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Rename or move…").click()
    dialog = page.get_by_role("dialog", name="Rename or move README.md")
    dialog.get_by_label("New path").fill("images/0/0000.png")
    window.expect_problem("412")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("New path").fill("docs/ABOUT.md")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Moved 1 object")).to_be_visible()
    assert "docs/ABOUT.md" in rest.paths("edited") and "README.md" not in rest.paths("edited")


def test_an_edit_does_not_overwrite_a_later_one(window, rest):
    fill(rest, "raced", 1)
    window.expect_problem("412")
    page = window.go("/r/raced/main/data?object=README.md")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Edit text…").click()
    dialog = page.get_by_role("dialog", name="Edit README.md")
    dialog.get_by_label("Text").fill("mine")
    rest.upload("raced", "README.md", "theirs", content_type="text/markdown")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("precondition_failed")
    expect(dialog.get_by_label("Text")).to_have_value("mine")
    assert rest.read("raced", "README.md") == b"theirs"


def test_search_finds_by_pattern_size_and_metadata(window, rest):
    fill(rest, "found")
    page = window.go("/r/found/main/data")
    page.get_by_role("searchbox", name="Search paths").fill("**/*.png")
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/found/main/search?glob=**")
    table = page.get_by_role("grid", name="Found objects")
    expect(table.get_by_role("row")).to_have_count(13)
    page.get_by_role("button", name="More conditions").click()
    page.get_by_label("Metadata").fill("label=2")
    page.get_by_label("At least bytes").fill("6")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(table.get_by_role("row")).to_have_count(4)
    table.get_by_role("button", name="Size").click()
    page.wait_for_url("**sort=size**")
    expect(table.get_by_role("row").nth(1)).to_contain_text("0011.png")
    window.review("search")
    page.set_viewport_size(browsers.NARROW)
    conditions = page.get_by_role("search")
    assert conditions.evaluate("one => one.scrollHeight <= one.clientHeight"), "conditions are cut"
    expect(conditions.get_by_role("button", name="Search", exact=True)).to_be_in_viewport(ratio=1)
    expect(table.get_by_role("row").nth(3)).to_be_in_viewport(ratio=1)
    page.set_viewport_size(browsers.WIDE)
    page.get_by_label("Path pattern").fill("nothing")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_text("Nothing at main meets these conditions.")).to_be_visible()


def test_snippets_work_in_a_shell(window, rest, tarn):
    fill(rest, "copied", 1)
    page = window.go("/r/copied/main/data?object=README.md")
    page.get_by_role("button", name="Copy as").click()
    window.axe()
    page.get_by_role("menuitem", name="S3 URI").click()
    assert page.evaluate("navigator.clipboard.readText()") == "s3://copied/main/README.md"


def test_ten_thousand_keys_scroll(window, rest, tarn):
    rest.repository("many")
    source = tarn.import_root / "many"
    source.mkdir()
    for number in range(10_000):
        (source / f"{number:05d}").touch()
    rest.post(
        "/repositories/many/branches/main/import",
        {"paths": [{"type": "common_prefix", "path": f"local://{source}/", "destination": "k/"}], "commit": {"message": "many"}},
    )
    browsers.eventually(window.page, lambda: rest.paths("many"))
    page = window.go("/r/many/main/data?path=k/")
    table = page.get_by_role("grid", name="Objects")
    expect(page.get_by_role("link", name="00000")).to_be_visible()
    expect(page.get_by_text("10,000 objects, 0 B")).to_be_visible()
    table.focus()
    page.keyboard.press("End")
    expect(page.get_by_role("link", name="09999")).to_be_visible()
    expect(page.get_by_role("note")).to_contain_text("The list begins behind 09000")
    # However many rows there are, only those in view exist.
    assert table.get_by_role("row").count() < 80
    page.keyboard.press("Home")
    expect(page.get_by_role("link", name="00000")).to_be_visible()


def test_a_large_selection_is_written_to_its_file_while_it_arrives(open_window, rest, s3):
    window = open_window().sign_in()
    rest.repository("heavy")
    content = bytes(range(256)) * (80 * 1024)  # 20 MiB
    for name in ("a.bin", "b.bin"):
        s3.put_object(Bucket="heavy", Key=f"main/{name}", Body=content)
    # The dialog of the system cannot be driven: it is answered with a file of the page's own.
    window.page.add_init_script("""window.showSaveFilePicker = async (options) => {
        window.suggested = options.suggestedName;
        return (await navigator.storage.getDirectory()).getFileHandle('saved.zip', { create: true });
    }""")
    page = window.go("/r/heavy/main/data")
    for name in ("a.bin", "b.bin"):
        page.get_by_role("checkbox", name=f"Select {name}").click()
    page.evaluate("() => { Response.prototype.blob = () => { throw new Error('kept in memory'); }; }")
    page.get_by_role("button", name="Download").click()
    end = """async () => {
        const handle = await (await navigator.storage.getDirectory()).getFileHandle('saved.zip', { create: true });
        return await handle.getFile().then((file) => file.slice(-1000).text()).catch(() => '');  // it is being written
    }"""
    browsers.eventually(page, lambda: "PK\x05\x06" in page.evaluate(end))
    # The directory of a zip is its end.
    assert "a.bin" in page.evaluate(end) and "b.bin" in page.evaluate(end)
    assert page.evaluate("window.suggested") == "heavy-main.zip"

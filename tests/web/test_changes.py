"""Changes: review, commit and reset what is uncommitted; compare any refs; merge with conflicts."""

import io

import pytest
from PIL import Image
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def prepared(tarn):
    """A repository with a branch that differs from main in each way, and one conflict."""
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("digits")
    for path, text in (
        ("README.md", "# Digits\nline a\nline b\n"),
        ("conf/params.json", '{"lr": 0.1, "layers": [1, 2, 3]}'),
        ("data/table.csv", "id,label\n1,a\n2,b\n"),
        ("data/old.txt", "old"),
        ("a[1]*.txt", "base"),
    ):
        rest.upload("digits", path, text)
    rest.upload("digits", "pictures/one.png", picture("white"))
    rest.commit("digits", "first", source="seed")
    rest.branch("digits", "exp")
    for path, text in (
        ("README.md", "# Digits\nline a\nline B\n"),
        ("conf/params.json", '{"lr": 0.2, "layers": [1, 3], "seed": 7}'),
        ("data/table.csv", "id,label,score\n1,a,0.5\n3,c,1\n"),
        ("new/deep/x.txt", "new"),
        ("a[1]*.txt", "of exp"),
    ):
        rest.upload("digits", path, text, branch="exp")
    rest.upload("digits", "pictures/one.png", picture("black"), branch="exp")
    rest.ask("DELETE", "/repositories/digits/branches/exp/objects", params={"path": "data/old.txt"})
    rest.commit("digits", "experiment", branch="exp", run="7")
    rest.upload("digits", "a[1]*.txt", "of main")
    rest.commit("digits", "on main")
    return rest


def picture(colour):
    out = io.BytesIO()
    Image.new("RGB", (16, 16), colour).save(out, "PNG")
    return out.getvalue()


def uncommitted(rest, branch):
    return sorted((item["type"], item["path"]) for item in rest.get(f"/repositories/digits/branches/{branch}/diff")["results"])


def test_uncommitted_changes_are_reviewed_reset_and_committed(window, prepared):
    rest = prepared
    rest.branch("digits", "dirty")
    for path in ("data/table.csv", "data/deep/two.txt", "top.txt"):
        rest.upload("digits", path, "changed", branch="dirty")
    page = window.go("/r/digits/dirty/history")
    expect(page.get_by_text("3 uncommitted changes on dirty")).to_be_visible()
    page.get_by_role("link", name="Review").click()
    tree = page.get_by_role("navigation", name="Changed folders")
    expect(tree.get_by_role("button", name="data/ 1 added 1 changed")).to_be_visible()
    expect(page.get_by_role("grid", name="Changes").get_by_text("top.txt")).to_be_visible()
    window.review("changes")

    page.get_by_role("button", name="Folders in data/", exact=True).click()
    tree.get_by_role("button", name="deep/").last.click()
    page.wait_for_url("**/changes?prefix=data/deep/")
    page.get_by_role("button", name="Reset folder…").click()
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_text("The changes were discarded")).to_be_visible()
    assert uncommitted(rest, "dirty") == [("added", "top.txt"), ("changed", "data/table.csv")]

    page.get_by_role("button", name="Commit…").click()
    page.get_by_label("Message").fill("two changes")
    page.get_by_label("Key 1").fill("reviewed")
    page.get_by_label("Value 1").fill("yes")
    page.get_by_role("button", name="Commit", exact=True).click()
    expect(page.get_by_text("Everything on dirty is committed.")).to_be_visible()
    head = rest.get("/repositories/digits/refs/dirty/commits", amount=1)["results"][0]
    assert (head["message"], head["metadata"]) == ("two changes", {"reviewed": "yes"})
    assert uncommitted(rest, "dirty") == []


def test_each_kind_of_object_has_its_comparison(window, prepared):
    page = window.go("/r/digits/-/compare/main/exp")
    grid = page.get_by_role("grid", name="Changes")
    expect(grid.get_by_role("row")).to_have_count(1 + 7)
    window.review("compare")
    page.keyboard.press("j")
    expect(page.get_by_text("1 of 7 objects")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("v")
    expect(page.get_by_role("button", name="Seen", exact=True)).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_text("1 of 7 objects")).to_be_visible()

    window.go("/r/digits/-/compare/main/exp?object=README.md")
    text = page.get_by_role("region", name="Text that differs")
    expect(text.get_by_role("row")).to_have_count(4)
    page.get_by_label("Layout").select_option("split")
    expect(text.get_by_role("row")).to_have_count(3)
    window.review("compare-text")
    window.go("/r/digits/-/compare/main/exp?object=conf/params.json")
    expect(page.get_by_role("row", name="changed lr 0.1 0.2")).to_be_visible()
    expect(page.get_by_role("row", name="removed layers[1] 2")).to_be_visible()
    expect(page.get_by_role("row", name="added seed 7")).to_be_visible()
    window.go("/r/digits/-/compare/main/exp?object=data/table.csv")
    expect(page.get_by_role("row", name="score added number")).to_be_visible()
    expect(page.get_by_text("+2 rows")).to_be_visible()
    window.go("/r/digits/-/compare/main/exp?object=pictures/one.png")
    expect(page.get_by_role("img", name="Before: pictures/one.png")).to_be_visible()
    expect(page.get_by_role("img", name="After: pictures/one.png")).to_be_visible()
    page.get_by_label("Compare images").select_option("swipe")
    expect(page.get_by_label("Divider")).to_be_visible()


def test_a_merge_settles_conflicts_by_path(window, prepared):
    rest = prepared
    rest.branch("digits", "target", "main")
    page = window.go("/r/digits/-/compare/target/exp")
    page.get_by_role("button", name="Merge into target…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("has 1 conflict")).to_be_visible()
    # Without a decision nothing is sent.
    expect(dialog.get_by_role("button", name="Merge into target")).to_have_accessible_description(
        "1 conflict to settle first: by path, by pattern or by strategy"
    )
    window.review("merge")
    dialog.get_by_label("Take of a[1]*.txt").select_option("source")
    dialog.get_by_label("Message").fill("take the experiment")
    dialog.get_by_role("button", name="Merge into target").click()
    expect(page.get_by_text("Merged exp into target")).to_be_visible()
    assert rest.read("digits", "a[1]*.txt", "target") == b"of exp"
    head = rest.get("/repositories/digits/refs/target/commits", amount=1)["results"][0]
    assert head["message"] == "take the experiment" and len(head["parents"]) == 2
    assert rest.status("/repositories/digits/refs/target/objects/stat", path="data/old.txt") == 404


def test_hostile_names_and_texts_are_shown_as_they_are(window, rest, prepared):
    prepared.branch("digits", "hostile")
    name = '<img src=x onerror="document.title=1">/ü"\'&?#%41.md'
    prepared.upload("digits", name, "<script>document.title = 'ran'</script>\n", branch="hostile")
    page = window.go("/r/digits/hostile/changes")
    page.get_by_role("grid", name="Changes").get_by_role("button").first.click()
    expect(page.get_by_text("<script>document.title = 'ran'</script>")).to_be_visible()
    assert "ran" not in page.title() and page.title() != "1"

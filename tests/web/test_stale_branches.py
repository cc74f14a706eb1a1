"""Branches that are no longer used: what is deleted and why, what is kept and why, and the rules."""

import http.server
import re
import threading

import browser as browsers
import pytest
from playwright.sync_api import expect

LONG = "feature-" + "w" * 100
# The badges of a branch that a rule deletes, before and after its announcement, and of one that is kept.
FATE = re.compile("^(due|announced|kept)$")


def grid_of(page):
    return page.get_by_role("grid", name="Stale branches")


def row_of(page, name):
    return grid_of(page).get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def cleanup(rest, repository):
    return rest.get(f"/repositories/{repository}/settings/branch_cleanup")


def stale(rest, repository, **parameters):
    """{branch: what the server says of it}"""
    return {item["id"]: item for item in rest.get(f"/repositories/{repository}/stale_branches", **parameters)["results"]}


def branches(rest, repository):
    return sorted(ref["id"] for ref in rest.get(f"/repositories/{repository}/branches", amount=1000)["results"])


def set_rules(rest, repository, *rules):
    rest.ask("PUT", f"/repositories/{repository}/settings/branch_cleanup", json={"rules": list(rules)})


def test_without_rules_nothing_is_deleted(window, rest):
    rest.repository("fresh")
    rest.branch("fresh", "young")
    page = window.go("/r/fresh/-/branches")
    page.get_by_role("link", name="Stale", exact=True).click()
    page.wait_for_url("**/-/branches?kind=stale")
    expect(page.get_by_role("code").filter(has_text="tarn branch stale fresh")).to_be_visible()  # what stands for an empty list
    expect(row_of(page, "young")).to_have_count(0)
    window.review("branches-stale-empty")
    page.get_by_label("Days without a commit").fill("0")
    page.wait_for_url("**days=0")
    expect(row_of(page, "young").get_by_role("checkbox")).to_be_enabled()
    expect(row_of(page, "young").get_by_text(FATE)).to_have_count(0)
    assert "deletes_at" not in stale(rest, "fresh", days=0)["young"]
    page.get_by_label("Days without a commit").fill("9999")
    expect(page.get_by_text("3,660")).to_be_visible()


def test_what_is_deleted_and_what_is_kept_is_said_with_its_reason(window, rest):
    rest.repository("unused")
    for name in ("exp-1", "exp-2", "exp-alias", "exp-request", "exp-held", "exp-expires", "exp-guarded", LONG):
        rest.branch("unused", name)
    for name in ("exp-alias", "exp-request", "exp-held"):
        rest.upload("unused", f"{name}.txt", name, branch=name)
        rest.commit("unused", name, branch=name)
    rest.upload("unused", "staged.txt", "s", branch="exp-2")
    rest.post("/repositories/unused/aliases/champion:set", {"to": "exp-alias"})
    rest.post("/repositories/unused/pulls", {"title": "t", "source_branch": "exp-request", "destination_branch": "main"})
    rest.post("/repositories/unused/gc/holds", {"ref": "exp-held", "reason": "audit"})
    rest.ask("PUT", "/repositories/unused/branches/exp-expires/expiry", json={"expires": "72h"})
    rest.ask(
        "PUT", "/repositories/unused/settings/branch_protection", json=[{"pattern": "exp-guarded", "blocked_actions": ["delete"]}]
    )
    set_rules(
        rest,
        "unused",
        {"pattern": "exp-*", "expire_days": 1, "notice_days": 1},
        {"pattern": "feature-*", "expire_days": 30, "notice_days": 30},
    )
    page = window.go("/r/unused/-/branches?kind=stale")
    listed = stale(rest, "unused")
    kept = {name: item["kept_because"] for name, item in listed.items() if "kept_because" in item}
    assert set(listed) - set(kept) == {"exp-1", LONG}
    # Each for a reason of its own; core/branch/cleanup_pgtest.cc has the words.
    assert len(set(kept.values())) == len(kept) == len(listed) - 2
    for name in listed:
        row = grid_of(page).get_by_role("row").filter(has_text=name[:40])
        if name in kept:
            expect(row.get_by_text(FATE)).to_have_text("kept")
            expect(row).to_contain_text(kept[name])
            expect(row.get_by_role("checkbox")).to_be_disabled()
        else:
            expect(row.get_by_text(FATE)).to_have_text(re.compile("due|announced"))
            expect(row.get_by_role("checkbox")).to_be_enabled()
    window.review("branches-stale")
    assert branches(rest, "unused") == sorted(["main", *listed])  # looking changed nothing


GATE = """destination: {destination}
alias: {alias}
candidates: "{candidates}"
metrics: [{{name: accuracy, goal: max, min: 0.5}}]
approvals: {{count: 1}}
"""
HOOK = """name: waits
on: {{pre-commit: {{branches: [exp-import]}}}}
hooks: [{{id: ask, type: webhook, properties: {{url: "{url}"}}}}]
"""


@pytest.fixture
def held_hook():
    """A webhook that does not answer before the test ends; `asked` is set when it was sent."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked.set()
            released.wait(browsers.WAIT_MS / 1000)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    asked, released = threading.Event(), threading.Event()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url, server.asked = f"http://127.0.0.1:{server.server_port}/hook", asked
    yield server
    released.set()
    server.shutdown()


def test_what_else_uses_a_branch_keeps_it(window, rest, s3, tarn, held_hook):
    rest.repository("in-use")
    rest.upload("in-use", "_lakefs_actions/waits.yaml", HOOK.format(url=held_hook.url))
    rest.commit("in-use")
    for name in ("exp-candidate", "exp-gated", "exp-import", "exp-upload"):
        rest.branch("in-use", name)
    s3.create_multipart_upload(Bucket="in-use", Key="exp-upload/large.bin")
    for name, destination, candidates in (("first", "main", "exp-candidate"), ("second", "exp-gated", "none-*")):
        rest.ask(
            "PUT",
            f"/repositories/in-use/policies/{name}",
            data=GATE.format(destination=destination, alias=name, candidates=candidates),
            headers={"Content-Type": "application/yaml"},
        )
    rest.upload("in-use", "model.bin", "m", branch="exp-candidate")
    rest.commit("in-use", "trained", branch="exp-candidate", **{"metric.accuracy": "0.9"})
    promotion = rest.post("/repositories/in-use/promotions", {"candidates": ["exp-candidate"], "destination": "main"})["id"]
    (tarn.import_root / "in-use").mkdir()
    (tarn.import_root / "in-use" / "a.txt").write_text("a")
    started = rest.post(
        "/repositories/in-use/branches/exp-import/import",
        {
            "paths": [{"type": "common_prefix", "path": f"local://{tarn.import_root}/in-use/", "destination": "data/"}],
            "commit": {"message": "m"},
        },
    )
    assert held_hook.asked.wait(browsers.WAIT_MS / 1000), "the import did not reach its hook"
    browsers.eventually(
        window.page, lambda: rest.get(f"/repositories/in-use/promotions/{promotion}")["state"] == "awaiting_approval"
    )

    window.go("/r/in-use/-/branches?kind=stale&days=0")
    users = ("exp-candidate", "exp-gated", "exp-import", "exp-upload")
    listed = stale(rest, "in-use", days=0)
    kept = {name: listed[name]["kept_because"] for name in users}
    assert len(set(kept.values())) == len(users) and "second" in kept["exp-gated"]
    for name, why in kept.items():
        row = row_of(window.page, name)
        expect(row).to_contain_text(why)
        expect(row.get_by_role("checkbox")).to_be_disabled()
    assert not rest.get("/repositories/in-use/branches/exp-import/import", id=started["id"])["completed"]


def outcome(rest, repository, deleted, moved):
    """The whole text: how many were deleted, and why `moved` and "staged" were not; what is expected gives no advice to report it."""
    why = re.escape(stale(rest, repository, days=0)["staged"]["kept_because"])
    return re.compile(f"^[A-Z][a-z]+ {deleted} branches [a-z ]+{moved}: [a-z ]+; staged: {why}\\.$")


def test_branches_are_deleted_unless_they_were_used_since(window, rest):
    window.expect_problem("412")
    rest.repository("swept")
    for name in ("old-1", "old-2", "used", "staged"):
        rest.branch("swept", name)
    page = window.go("/r/swept/-/branches?kind=stale&days=0")
    for name in ("old-1", "old-2", "used", "staged"):
        row_of(page, name).get_by_role("checkbox").check()
    page.get_by_role("button", name="Delete 4…").click()
    dialog = page.get_by_role("dialog", name="Delete 4 refs?")
    expect(dialog).to_contain_text("Deletes 4 branches, each only if nothing has used it since.")
    rest.upload("swept", "new.txt", "new", branch="used")
    rest.commit("swept", "goes on", branch="used")
    rest.upload("swept", "staged.txt", "s", branch="staged")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text(outcome(rest, "swept", 2, "used"))
    assert branches(rest, "swept") == ["main", "staged", "used"]
    # Confirmed again, it asks for those alone that are there.
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_be_enabled()
    expect(dialog.get_by_role("alert")).to_have_text(outcome(rest, "swept", 2, "used"))
    dialog.get_by_role("button", name="Cancel").click()
    expect(row_of(page, "old-1")).to_have_count(0)
    expect(row_of(page, "used")).to_be_visible()


def test_a_write_that_overtakes_the_deletion_is_not_lost(window, rest):
    window.expect_problem("412")
    rest.repository("overtaken")
    for name in ("committed", "staged"):
        rest.branch("overtaken", name)
    page = window.go("/r/overtaken/-/branches?kind=stale&days=0")
    for name in ("committed", "staged"):
        row_of(page, name).get_by_role("checkbox").check()
    page.get_by_role("button", name="Delete 2…").click()
    dialog = page.get_by_role("dialog", name="Delete 2 refs?")
    deletions = browsers.Held(page, re.compile(r"/branches/(committed|staged)(\?|$)"))
    dialog.get_by_role("button", name="Delete", exact=True).click()
    browsers.eventually(page, lambda: deletions.waiting)
    for name in ("committed", "staged"):
        rest.upload("overtaken", "new.txt", "new", branch=name)
    rest.commit("overtaken", "goes on", branch="committed")
    deletions.release()
    expect(dialog.get_by_role("alert")).to_have_text(outcome(rest, "overtaken", 0, "committed"))
    for name in ("committed", "staged"):
        assert rest.read("overtaken", "new.txt", name) == b"new"


def test_a_listing_that_fails_says_why_and_is_asked_again(window, rest):
    rest.repository("failing")
    rest.branch("failing", "old")
    window.expect_problem("500")
    page = window.page
    page.route(
        "**/stale_branches?*", lambda route: route.fulfill(status=500, json={"message": "out of order", "request_id": "r1"})
    )
    window.go("/r/failing/-/branches?kind=stale&days=0")
    expect(page.get_by_role("alert")).to_contain_text("out of order")
    page.unroute("**/stale_branches?*")
    page.get_by_role("button", name="Try again").click()
    expect(row_of(page, "old")).to_be_visible()


def test_rules_are_added_changed_ordered_and_removed(window, rest):
    rest.repository("ruled")
    rest.branch("ruled", "exp-1")
    page = window.go("/r/ruled/-/settings?section=branches")
    section = page.get_by_role("region", name="Stale branches")
    section.get_by_role("button", name="Add rule…").click()
    expect(section.get_by_role("listitem")).to_have_count(0)
    dialog = page.get_by_role("dialog", name="Stale branches")
    save = dialog.get_by_role("button", name="Save")
    expect(save).to_have_accessible_description(re.compile("pattern"))
    dialog.get_by_label("Branches").fill("exp-*")
    expect(dialog).to_contain_text("1 branch now: exp-1")
    expect(save).to_have_accessible_description(re.compile("stale or deleted"))
    dialog.get_by_label("Stale after days").fill("1.5")
    expect(save).to_have_accessible_description(re.compile("1 to 3,660"))
    dialog.get_by_label("Stale after days").fill("14")
    dialog.get_by_label("Deleted after days").fill("5")
    expect(save).to_have_accessible_description(re.compile("notice"))
    dialog.get_by_label("Deleted after days").fill("60")
    dialog.get_by_label("Stale after a promotion was decided for another").check()
    window.review("settings-stale-rule")
    save.click()
    expect(section).to_contain_text("60 days")
    first = {"pattern": "exp-*", "stale_days": 14, "losers": True, "expire_days": 60, "notice_days": 7}
    assert cleanup(rest, "ruled") == {"rules": [first], "deletions_max": 100}

    section.get_by_role("button", name="Add rule…").click()
    dialog.get_by_label("Branches").fill("exp-keep-" + "k" * 120 + "*")
    dialog.get_by_label("Stale after days").fill("365")
    save.click()
    expect(dialog).to_be_hidden()
    second = {"pattern": "exp-keep-" + "k" * 120 + "*", "stale_days": 365}
    section.get_by_role("button", name=re.compile("^Move the rule of exp-keep")).click()
    expect(section.get_by_role("listitem").first).to_contain_text("exp-keep")
    assert cleanup(rest, "ruled")["rules"] == [second, first]
    window.review("settings-stale-branches")

    section.get_by_role("button", name="Change the deletions of an hour").click()
    page.get_by_role("dialog", name="Deletions of an hour").get_by_label("Deletions").fill("3")
    page.get_by_role("dialog", name="Deletions of an hour").get_by_role("button", name="Save").click()
    expect(section).to_contain_text("3 deletions")
    section.get_by_role("button", name="Change the rule of exp-*").click()
    page.get_by_role("dialog", name="Rule of exp-*").get_by_label("Deleted after days").fill("")
    page.get_by_role("dialog", name="Rule of exp-*").get_by_role("button", name="Save").click()
    expect(section).not_to_contain_text("60 days")
    del first["expire_days"], first["notice_days"]
    assert cleanup(rest, "ruled") == {"rules": [second, first], "deletions_max": 3}
    section.get_by_role("button", name="Remove the rule of exp-*").click()
    page.get_by_role("dialog", name="Remove the rule of exp-*?").get_by_role("button", name="Remove rule").click()
    expect(section.get_by_role("listitem")).to_have_count(1)
    assert cleanup(rest, "ruled")["rules"] == [second]


def test_a_rule_does_not_undo_one_that_was_set_meanwhile(window, rest):
    rest.repository("raced-rules")
    window.expect_problem("412")
    page = window.go("/r/raced-rules/-/settings?section=branches")
    section = page.get_by_role("region", name="Stale branches")
    section.get_by_role("button", name="Add rule…").click()
    dialog = page.get_by_role("dialog", name="Stale branches")
    dialog.get_by_label("Branches").fill("mine")
    dialog.get_by_label("Stale after days").fill("9")
    set_rules(rest, "raced-rules", {"pattern": "theirs", "stale_days": 5})
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert [rule["pattern"] for rule in cleanup(rest, "raced-rules")["rules"]] == ["theirs"]
    # Their rule was read: saving again keeps it.
    expect(section.get_by_role("listitem").filter(has_text="theirs")).to_be_attached()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert [rule["pattern"] for rule in cleanup(rest, "raced-rules")["rules"]] == ["theirs", "mine"]

"""Settings of a repository, deleting it and bringing it back."""

import re

import browser as browsers
import pytest
from playwright.sync_api import expect

# This attribute of a control that the user may not use names the permission that it takes.
ACTION = re.compile(r"\b[a-z]+:[A-Z]\w+")


def test_general_shows_and_changes_metadata(window, rest):
    rest.repository("general")
    page = window.go("/r/general/-/settings")
    expect(page.get_by_role("region", name="Repository")).to_contain_text("local://general")
    window.review("settings-empty")
    page.get_by_role("button", name="Edit…").click()
    dialog = page.get_by_role("dialog", name="Metadata of general")
    for number, (key, value) in enumerate([("owner", "vision"), ("license", "CC-BY"), ("note", "n" * 300)], 1):
        dialog.get_by_label(f"Key {number}").fill(key)
        dialog.get_by_label(f"Value {number}").fill(value)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert rest.get("/repositories/general/metadata") == {"owner": "vision", "license": "CC-BY", "note": "n" * 300}
    value = page.get_by_text("nnnnnnnn")
    assert (
        value.bounding_box()["width"] < page.get_by_role("region", name="Metadata").bounding_box()["width"]
    )  # broken into lines
    window.review("settings-general")
    page.get_by_role("button", name="Edit…").click()
    for field in ("Key", "Value"):
        dialog.get_by_label(f"{field} 1").fill("")  # the rows are in the order of their keys: "license"
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert rest.get("/repositories/general/metadata") == {"owner": "vision", "note": "n" * 300}


def rules(rest, repository, kind="branch"):
    return rest.get(f"/repositories/{repository}/settings/{kind}_protection")


def test_branches_and_tags_are_protected(window, rest):
    rest.repository("guarded")
    for number in range(7):
        rest.branch("guarded", f"release-{number}")
    page = window.go("/r/guarded/-/settings?section=protection")
    branches = page.get_by_role("region", name="Branch protection")
    branches.get_by_role("button", name="Add rule…").click()
    dialog = page.get_by_role("dialog", name="Protect branches")
    expect(dialog.get_by_role("button", name="Save")).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Branches").fill("release-*")
    expect(dialog).to_contain_text("It matches 7 branches now: release-0, release-1")
    dialog.get_by_label("Deleting").check()
    dialog.get_by_label("Resetting").uncheck()
    dialog.get_by_label("Squash").check()
    dialog.get_by_label("Approvals").fill("2")
    window.review("settings-rule")
    dialog.get_by_role("button", name="Save").click()
    expect(branches).to_contain_text("no deleting")
    (rule,) = rules(rest, "guarded")
    assert rule["pattern"] == "release-*" and rule["approvals"] == 2 and rule["merge_methods"] == ["squash"]
    assert sorted(rule["blocked_actions"]) == ["commit", "delete", "stage"]
    tags = page.get_by_role("region", name="Tag protection")
    tags.get_by_role("button", name="Add rule…").click()
    page.get_by_role("dialog", name="Protect tags").get_by_label("Tags").fill("v*")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(tags).to_contain_text("no deleting")
    assert rules(rest, "guarded", "tag") == [{"pattern": "v*", "create": True, "delete": False}]
    window.review("settings-protection")
    branches.get_by_role("button", name="Remove the rule of release-*").click()
    expect(page.get_by_role("dialog")).to_contain_text("It matches 7 branches now")
    page.get_by_role("button", name="Remove rule", exact=True).click()
    expect(branches).to_contain_text("None.")
    assert rules(rest, "guarded") == []


def test_a_change_of_rules_does_not_undo_a_later_one(window, rest):
    rest.repository("raced")
    window.expect_problem("412")
    page = window.go("/r/raced/-/settings?section=protection")
    branches = page.get_by_role("region", name="Branch protection")
    branches.get_by_role("button", name="Add rule…").click()
    dialog = page.get_by_role("dialog", name="Protect branches")
    dialog.get_by_label("Branches").fill("mine")
    rest.ask("PUT", "/repositories/raced/settings/branch_protection", json=[{"pattern": "theirs"}])
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("precondition_failed")
    expect(dialog.get_by_label("Branches")).to_have_value("mine")
    assert [rule["pattern"] for rule in rules(rest, "raced")] == ["theirs"]
    dialog.get_by_role("button", name="Save").click()  # the rules were read again
    expect(dialog).to_be_hidden()
    assert sorted(rule["pattern"] for rule in rules(rest, "raced")) == ["mine", "theirs"]


def test_metric_files_are_named(window, rest):
    rest.repository("measured")
    page = window.go("/r/measured/-/settings?section=metrics")
    page.get_by_role("button", name="Edit…").click()
    page.get_by_label("Patterns, one a line").fill("metrics/*.json\n\n results/**/*.csv \nmetrics/*.json")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Metric files")).to_contain_text("results/**/*.csv")
    assert rest.get("/repositories/measured/settings/metric_files")["globs"] == ["metrics/*.json", "results/**/*.csv"]
    window.review("settings-metrics")


def test_retention_is_set_and_commits_are_held(window, rest):
    rest.repository("aging")
    rest.upload("aging", "a", "a")
    commit = rest.commit("aging", "first")
    page = window.go("/r/aging/-/settings?section=retention")
    expect(page.get_by_text("No rules: nothing expires that a ref leads to.")).to_be_visible()
    page.get_by_role("button", name="Set rules…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Days", exact=True).fill("0")
    expect(dialog.get_by_role("button", name="Save")).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Days", exact=True).fill("90")
    dialog.get_by_label("Branch 1", exact=True).fill("scratch")
    dialog.get_by_label("Days of branch 1").fill("7")
    window.axe()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Retention")).to_contain_text("7 days")
    assert rest.get("/repositories/aging/settings/gc_rules") == {
        "default_retention_days": 90,
        "branches": [{"branch_id": "scratch", "retention_days": 7}],
    }
    page.get_by_role("button", name="Hold a commit…").click()
    page.get_by_label("Ref", exact=True).fill("main")
    page.get_by_label("Until").fill("365d")
    page.get_by_label("Reason").fill("the paper")
    page.get_by_role("button", name="Hold", exact=True).click()
    expect(page.get_by_role("region", name="Holds")).to_contain_text("the paper")
    (hold,) = rest.get("/repositories/aging/gc/holds")["results"]
    assert hold["commit_id"] == commit["id"] and hold["until"]
    window.review("settings-retention")
    page.get_by_role("button", name="Remove the rules…").click()
    page.get_by_role("button", name="Remove rules", exact=True).click()
    expect(page.get_by_text("No rules: nothing expires that a ref leads to.")).to_be_visible()
    assert rest.status("/repositories/aging/settings/gc_rules") == 404


def test_quotas_are_set_and_shown_with_their_usage(window, rest):
    rest.repository("limited")
    rest.upload("limited", "a", b"x" * 900)
    page = window.go("/r/limited/-/settings?section=quotas")
    expect(page.get_by_text("None: what is stored here is not limited.")).to_be_visible()
    page.get_by_role("button", name="Set a quota…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Bytes, hard").fill("many")
    expect(dialog.get_by_role("button", name="Save")).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Bytes, hard").fill("1 KB")
    dialog.get_by_label("Bytes, soft").fill("800")
    dialog.get_by_label("Objects, hard").fill("1,000")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    (quota,) = rest.get("/repositories/limited/quotas")["results"]
    assert quota["limits"] == {"bytes": {"soft": 800, "hard": 1000}, "objects": {"hard": 1000}}
    page.get_by_role("button", name="Set a quota…").click()
    dialog.get_by_label("Branches", exact=True).fill("exp-*")
    dialog.get_by_label("Branches, hard").fill("200")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Of branches exp-*")).to_be_visible()
    browsers.eventually(page, lambda: all("recounted_at" in item for item in rest.get("/repositories/limited/quotas")["results"]))
    page.reload()
    expect(page.get_by_text("past the soft limit")).to_be_visible()
    expect(page.get_by_text("900 B of 800 B soft, 1.0 KB hard")).to_be_visible()
    window.review("settings-quotas")
    page.get_by_role("button", name="Remove the quota of branches exp-*").click()
    page.get_by_role("button", name="Remove quota", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_text("Of branches exp-*")).to_be_hidden()
    assert len(rest.get("/repositories/limited/quotas")["results"]) == 1


def test_a_repository_is_deleted_and_comes_back(window, rest):
    rest.repository("gone")
    rest.upload("gone", "a", "staged")
    page = window.go("/r/gone/-/settings?section=deletion")
    expect(page.get_by_role("button", name="Delete repository…")).to_be_visible()
    window.review("settings-deletion")
    page.get_by_role("button", name="Delete repository…").click()
    dialog = page.get_by_role("dialog", name="Delete gone?")
    dialog.get_by_label("to confirm").fill("gone")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    assert rest.status("/repositories/gone") == 404
    window.go("/admin/deleted")
    expect(page.get_by_role("grid", name="Deleted repositories")).to_contain_text("gone")
    window.review("deleted")
    page.get_by_role("button", name="Restore gone").click()
    page.get_by_label("Name from now on").fill("back-again")
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/back-again/main/data")
    assert rest.read("back-again", "a") == b"staged"
    assert rest.status("/repositories/gone") == 404


@pytest.mark.parametrize(
    "section, button",
    [
        ("general", "Edit…"),
        ("protection", "Add rule…"),
        ("metrics", "Edit…"),
        ("retention", "Set rules…"),
        ("quotas", "Set a quota…"),
        ("deletion", "Delete repository…"),
    ],
)
def test_without_rights_the_buttons_say_which_are_missing(window, rest, section, button):
    if rest.status("/repositories/read-here") == 404:
        rest.repository("read-here")
        rest.post("/auth/users", {"id": "viewer"})
        rest.post(
            "/auth/policies",
            {
                "id": "Views",
                "statement": [
                    {"effect": "allow", "action": ["fs:Read*", "fs:List*", "branches:Get*", "retention:Get*"], "resource": "*"}
                ],
            },
        )
        rest.ask("PUT", "/auth/users/viewer/policies/Views")
    key = rest.post("/auth/users/viewer/credentials", {})
    window.sign_in(key["access_key_id"], key["secret_access_key"])
    page = window.go(f"/r/read-here/-/settings?section={section}")
    refused = page.get_by_role("button", name=button).first
    expect(refused).to_have_attribute("aria-disabled", "true")
    expect(refused).to_have_accessible_description(ACTION)
    refused.click(force=True)
    expect(page.get_by_role("tooltip")).to_contain_text(ACTION)
    expect(page.get_by_role("dialog")).to_be_hidden()
    window.axe()

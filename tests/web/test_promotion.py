"""Promotion: the gate as form and text, who would pass, the record of a promotion, approval, rollback, and an alias's timeline."""

import re
import time

import pytest
from playwright.sync_api import expect

REPO = "gated"
POLICY = """# from the paper
destination: main
alias: champion
candidates: "exp-*"
metrics:
  - {name: accuracy, goal: max, min: 0.6, primary: true}
objects: {required: ["artifacts/model.pkl"]}
"""
ACCURACIES = {"exp-1": 0.75, "exp-2": 0.9, "exp-3": 0.5}


@pytest.fixture(scope="module")
def gated(tarn):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository(REPO)
    rest.upload(REPO, "data/train.csv", "a\n1\n")
    rest.commit(REPO)
    for branch, accuracy in ACCURACIES.items():
        rest.branch(REPO, branch)
        rest.upload(REPO, "artifacts/model.pkl", f"model of {branch}", branch=branch)
        rest.commit(REPO, branch, branch=branch, **{"metric.accuracy": str(accuracy)})


def set_policy(rest, text):
    return rest.ask("PUT", f"/repositories/{REPO}/policies/gate", data=text, headers={"Content-Type": "application/yaml"})


def wait_for_another_review(rest, made):
    deadline = time.monotonic() + 60
    while rest.get(f"/repositories/{REPO}/promotions/{made['id']}")["review"]["policy"]["version"] == made["policy_version"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_gate_is_written_and_judged_while_typing(window, rest, gated):
    page = window.go(f"/r/{REPO}/-/promotions")
    expect(page.get_by_text("No branch has one yet.")).to_be_visible()
    window.review("promotions-empty")
    page.get_by_role("button", name="Write the first gate").click()
    page.get_by_label("Name", exact=True).fill("gate")
    page.get_by_label("Approvals", exact=True).fill("0")
    page.get_by_label("accuracy better than the champion by").fill("")
    verdicts = page.get_by_role("region", name="Who would pass")
    expect(verdicts.get_by_role("status")).to_contain_text("3 candidates: 2 would pass, 1 would fail")
    page.get_by_label("accuracy at least").fill("0.8")
    expect(verdicts.get_by_role("status")).to_contain_text("1 would pass, 2 would fail")
    assert rest.get(f"/repositories/{REPO}/policies")["results"] == []
    window.review("gate-edit")
    # A wrong document is refused with its place.
    window.expect_problem("400")
    page.get_by_role("tab", name="Text").click()
    text = page.get_by_label("Document (YAML or JSON)")
    written = text.input_value()
    text.fill(written + "surprise: 1\n")
    expect(verdicts.get_by_role("alert")).to_contain_text("surprise")
    text.fill(written)
    page.get_by_role("button", name="Protect main").click()
    page.wait_for_url("**/-/gates/gate")
    held = rest.get(f"/repositories/{REPO}/policies/gate")
    assert held["version"] == 1 and "min: 0.8" in held["document"]


def test_who_would_pass_leads_to_a_promotion(open_window, rest, gated):
    window = open_window().sign_in()
    set_policy(rest, POLICY)
    window.page.add_init_script("delete Crypto.prototype.randomUUID")  # as without TLS
    page = window.go(f"/r/{REPO}/-/gates/gate")
    expect(page.get_by_text("2 would pass, 1 would fail")).to_be_visible()
    refused = page.get_by_role("button", name="Promote exp-3 to main as @champion")
    expect(refused).to_be_disabled()
    expect(refused).to_have_accessible_description(re.compile("^exp-3 fails: accuracy is 0.5"))
    page.get_by_role("button", name="fail exp-3").click()
    expect(page.get_by_role("table", name="Rules for exp-3").get_by_role("row", name="metrics.accuracy.min")).to_contain_text(
        "at least 0.6"
    )
    window.review("gate-candidates")
    page.get_by_role("button", name="Promote exp-1 to main as @champion").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Candidates").fill("exp-1, exp-3")
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog.get_by_text("exp-1 would win of 2.")).to_be_visible()
    assert rest.get(f"/repositories/{REPO}/promotions")["results"] == []
    dialog.get_by_label("Candidates").fill("exp-1")
    dialog.get_by_label("Reason").fill("the first")
    window.axe()
    dialog.get_by_role("button", name="Promote exp-1 to main as @champion").click()
    page.wait_for_url("**/-/promotions/*")
    expect(page.get_by_text("promoted", exact=True).first).to_be_visible()
    made = rest.get(f"/repositories/{REPO}/promotions")["results"][0]
    assert made["state"] == "promoted" and made["reason"] == "the first"
    assert rest.get(f"/repositories/{REPO}/aliases/champion")["commit_id"] == made["result"]
    expect(page.get_by_text("equal", exact=True)).to_be_visible()
    window.review("promotion-promoted")


def test_checks_and_approvals_are_given_and_the_promotion_follows(window, rest, gated):
    set_policy(rest, POLICY + "checks: {required: [bench]}\napprovals: {count: 1, not_author: false, not_promoter: false}\n")
    made = rest.post(
        f"/repositories/{REPO}/promotions",
        {"candidates": ["exp-2"], "destination": "main", "method": "replace-paths", "paths": ["artifacts/**"]},
    )
    page = window.go(f"/r/{REPO}/-/promotions/{made['id']}")
    expect(page.get_by_text("waiting for checks").first).to_be_visible()
    made = rest.get(f"/repositories/{REPO}/promotions/{made['id']}")
    page.get_by_role("button", name="Report a check…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Check", exact=True)).to_have_value("bench")
    dialog.get_by_label("Metrics").fill("p95_ms=80")
    expect(dialog).to_contain_text(
        f"tarn promote check {made['id']} bench --repo {REPO} --commit {made['winner']['commit']} --status success --metric p95_ms=80"
    )
    dialog.get_by_role("button", name="Report", exact=True).click()
    # The page follows by itself.
    expect(page.get_by_role("button", name="Approve exp-2")).to_be_visible()
    window.review("promotion-waiting")
    page.get_by_role("button", name="Approve exp-2").click()
    window.review("promotion-approval")
    window.expect_problem("409")
    # The policy changes while the dialog is open: what it shows is no longer what would be promoted.
    set_policy(
        rest,
        POLICY
        + "checks: {required: [bench]}\napprovals: {count: 1, not_author: false, not_promoter: false, sticky_reject: true}\n",
    )
    dialog.get_by_role("button", name="Approve exp-2").click()
    expect(dialog.get_by_role("alert")).to_contain_text("policy.version was")
    page.keyboard.press("Escape")
    wait_for_another_review(rest, made)
    page.reload()
    page.get_by_role("button", name="Approve exp-2").click()
    made = rest.get(f"/repositories/{REPO}/promotions/{made['id']}")
    dialog.get_by_label("Reason").fill("looks right")
    expect(dialog).to_contain_text(
        f"tarn promote approve {made['id']} --repo {REPO} --review {made['review_digest']} -m 'looks right'"
    )
    dialog.get_by_role("button", name="Approve exp-2").click()
    expect(page.get_by_text("promoted", exact=True).first).to_be_visible()
    ended = rest.get(f"/repositories/{REPO}/promotions/{made['id']}")
    assert ended["state"] == "promoted"
    assert [(a["user"], a["reason"]) for a in ended["approvals"]] == [("admin", "looks right")]
    assert rest.read(REPO, "artifacts/model.pkl") == b"model of exp-2"
    expect(page.get_by_role("region", name="Approvals")).to_contain_text("looks right")


def test_a_rollback_says_what_it_undoes_and_the_timeline_shows_it(window, rest, gated):
    set_policy(rest, POLICY)
    page = window.go(f"/r/{REPO}/-/aliases/champion")
    before = rest.get(f"/repositories/{REPO}/aliases/champion/history")["results"]
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="accuracy").first).to_contain_text("exp-2accuracy 0.9 (before 0.75)")
    window.review("alias")
    page.get_by_role("button", name="Roll back…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(
        f"reverts {before[0]['to_commit_id'][:12]}, and moves @champion back to {before[0]['from_commit_id'][:12]}"
    )
    dialog.get_by_label("Reason").fill("slower in use")
    dialog.get_by_role("button", name="Roll back main").click()
    page.wait_for_url("**/-/promotions/*")
    page.go_back()
    expect(page.get_by_text("slower in use")).to_be_visible()
    after = rest.get(f"/repositories/{REPO}/aliases/champion/history")["results"]
    assert after[0]["to_commit_id"] == before[0]["from_commit_id"] and after[0]["reason"] == "slower in use"
    assert rest.read(REPO, "artifacts/model.pkl") == b"model of exp-1"


def test_reject_and_cancel_move_nothing(window, rest, gated):
    set_policy(rest, POLICY + "approvals: {count: 1}\n")
    head = rest.get(f"/repositories/{REPO}/branches/main")["commit_id"]
    for button, state in (("Reject", "rejected"), ("Cancel promotion", "cancelled")):
        made = rest.post(
            f"/repositories/{REPO}/promotions",
            {"candidates": ["exp-2"], "destination": "main", "method": "replace-paths", "paths": ["artifacts/**"]},
        )
        page = window.go(f"/r/{REPO}/-/promotions/{made['id']}")
        page.get_by_role("button", name=button).click()
        page.get_by_role("dialog").get_by_role("button", name=button).last.click()
        expect(page.get_by_text(state, exact=True).first).to_be_visible()
        assert rest.get(f"/repositories/{REPO}/promotions/{made['id']}")["state"] == state
    assert rest.get(f"/repositories/{REPO}/branches/main")["commit_id"] == head


def test_stages_are_shown_and_a_check_takes_a_promotion_back(window, rest):
    name = "staged"
    rest.repository(name)
    rest.upload(name, "data/a", "1")
    rest.commit(name)
    rest.branch(name, "exp-1")
    rest.upload(name, "model", "m", branch="exp-1")
    rest.commit(name, "exp-1", branch="exp-1", **{"metric.accuracy": "0.9"})
    policy = """
destination: main
alias: champion
metrics: [{name: accuracy, goal: max, min: 0.6, primary: true}]
stages:
  - {alias: canary, checks: [errors]}
  - {alias: champion, soak: 72h, checks: [complaints]}
"""
    rest.ask("PUT", f"/repositories/{name}/policies/gate", data=policy, headers={"Content-Type": "application/yaml"})
    made = rest.post(f"/repositories/{name}/promotions", {"candidates": ["exp-1"], "destination": "main"})
    page = window.go(f"/r/{name}/-/promotions/{made['id']}")
    stages = page.get_by_role("region", name="Stages")
    expect(stages).to_contain_text("@canary")
    expect(page.get_by_role("status").filter(has_text="stage_check_missing")).to_be_visible()

    def report(check, result):
        page.get_by_role("button", name="Report a check…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Check", exact=True).fill(check)
        dialog.get_by_label("Result").select_option(result)
        dialog.get_by_role("button", name="Report", exact=True).click()
        expect(dialog).to_be_hidden()

    report("errors", "success")
    expect(stages).to_contain_text("complaints can take it back until")
    window.review("promotion-stages")
    report("complaints", "failure")
    expect(stages.get_by_text("taken back")).to_have_count(2)
    assert rest.get(f"/repositories/{name}/promotions/{made['id']}")["state"] == "rolled_back"


def test_versions_show_their_differences(window, rest, gated):
    set_policy(rest, POLICY.replace("0.6", "0.65"))
    page = window.go(f"/r/{REPO}/-/gates/gate?view=versions")
    changes = page.get_by_label("Differences")
    expect(changes).to_contain_text("+   - {name: accuracy, goal: max, min: 0.65, primary: true}")
    window.review("gate-versions")
    page.go_back()
    window.go(f"/r/{REPO}/-/promotions")
    expect(page.get_by_role("grid", name="Promotions").get_by_role("row").nth(1)).to_be_visible()
    window.review("promotions")


def test_a_change_that_a_second_user_confirms_is_shown_with_its_author(window, rest, open_window):
    name = "confirmed"
    rest.repository(name)
    rest.branch(name, "exp-1")
    text = "destination: main\nconfirm_changes: true\n"
    changed = text + "approvals: {count: 1}\n"
    page = window.go(f"/r/{name}/-/gates/-new")
    page.get_by_label("Name", exact=True).fill("gate")
    page.get_by_role("tab", name="Text").click()
    page.get_by_label("Document (YAML or JSON)").fill(text)
    page.get_by_role("button", name="Protect main").click()
    page.wait_for_url("**/-/gates/gate?view=edit")
    expect(page.get_by_role("region", name="Warnings")).to_contain_text("no rule")
    window.review("gate-warnings")

    page.get_by_role("tab", name="Text").click()
    page.get_by_label("Document (YAML or JSON)").fill(changed)
    page.get_by_role("button", name="Set version 2").click()
    proposal = page.get_by_role("region", name="Proposal")
    expect(proposal).to_contain_text("admin proposed")
    expect(proposal.get_by_label("Proposed differences")).to_contain_text("+ approvals: {count: 1}")
    expect(proposal.get_by_role("button", name="Apply the same document…")).to_have_accessible_description(
        "You proposed it: a second user must apply it"
    )
    window.review("gate-proposal")
    assert rest.get(f"/repositories/{name}/policies/gate")["version"] == 1

    rest.post("/auth/users", {"id": "second"})
    rest.ask("PUT", "/auth/groups/Admins/members/second")
    key = rest.ask("POST", "/auth/users/second/credentials")
    second = open_window()
    # A page that shows the gate may ask for it once more after it was removed.
    for one in (window, second):
        one.expect_problem("404")
    other = second.sign_in(key["access_key_id"], key["secret_access_key"]).go(f"/r/{name}/-/gates/gate")
    other.get_by_role("button", name="Apply the same document…").click()
    other.get_by_role("dialog").get_by_role("button", name="Set version 2").click()
    expect(other.get_by_role("region", name="Proposal")).to_be_hidden()
    held = rest.get(f"/repositories/{name}/policies/gate")
    assert (held["version"], held["document"]) == (2, changed)

    page = window.go(f"/r/{name}/-/gates/gate")
    page.get_by_role("button", name="Remove…").click()
    page.get_by_role("dialog").get_by_label("to confirm").fill("gate")
    page.get_by_role("dialog").get_by_role("button", name="Remove gate").click()
    expect(page.get_by_role("region", name="Proposal")).to_contain_text("admin proposed")
    other.reload()
    other.get_by_role("button", name="Remove the gate…").click()
    other.get_by_role("dialog").get_by_role("button", name="Remove gate").click()
    other.wait_for_url("**/-/promotions")
    assert rest.get(f"/repositories/{name}/policies")["results"] == []


def test_the_list_follows_promotions_of_others(window, rest, gated):
    set_policy(rest, POLICY + "approvals: {count: 1}\n")
    page = window.go(f"/r/{REPO}/-/promotions")
    expect(page.get_by_role("heading", name="Promotions")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("status", name="Loading")).to_have_count(0)
    made = rest.post(
        f"/repositories/{REPO}/promotions",
        {"candidates": ["exp-2"], "destination": "main", "method": "replace-paths", "paths": ["artifacts/**"]},
    )
    row = page.get_by_role("grid", name="Promotions").get_by_role("row").filter(has=page.locator(f"a[href$='/{made['id']}']"))
    expect(row).to_contain_text("waiting for approval")
    rest.ask("POST", f"/repositories/{REPO}/promotions/{made['id']}:cancel", json={})
    expect(row).to_contain_text("cancelled")

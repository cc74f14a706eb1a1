"""Experiments: the table of runs with its filter and columns, comparison with the champion, charts, and a run's page."""

import math
import re
import urllib.parse

import browser as browsers
import pytest
from playwright.sync_api import expect

REPO = "digits"
POLICY = """destination: main
alias: champion
metrics:
  - {name: accuracy, goal: max, primary: true}
  - {name: latency_ms, goal: min}
"""
# branch: learning rate, optimizer, accuracy, latency
TRAINED = {"exp-1": ("0.1", "sgd", 0.81, 30.0), "exp-2": ("0.03", "adam", 0.92, 45.0), "exp-3": ("0.01", "adam", 0.88, 20.0)}


def curve(factor):
    return "step,loss\n" + "".join(f"{step},{math.exp(-step * factor / 50):.5f}\n" for step in range(100))


def record(rest, branch, params, metrics, **more):
    return rest.record(REPO, branch, "cnn", params=params, metrics=metrics, **more)


def promote(rest, candidate):
    made = rest.post(f"/repositories/{REPO}/promotions", {"candidates": [candidate], "destination": "main"})
    ended = rest.get(f"/repositories/{REPO}/promotions/{made['id']}", wait="30s")
    while ended["state"] in ("draft", "comparing", "gates_running", "merging"):
        ended = rest.get(f"/repositories/{REPO}/promotions/{made['id']}", wait="30s", seen=ended["version"])
    assert ended["state"] == "promoted", ended
    return ended


@pytest.fixture(scope="module")
def runs(request, tarn):
    """Three trained branches with a curve each; exp-1 is the champion."""
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository(REPO)
    rest.upload(REPO, "data/train.csv", "a\n1\n")
    rest.commit(REPO)
    made = {}
    for number, (branch, (rate, optimizer, accuracy, latency)) in enumerate(TRAINED.items()):
        rest.branch(REPO, branch)
        rest.upload(REPO, "metrics/curve.csv", curve(number + 1), branch=branch)
        rest.upload(REPO, "artifacts/model.pkl", f"model of {branch}", branch=branch)
        rest.commit(REPO, branch, branch=branch)
        made[branch] = record(
            rest,
            branch,
            {"lr": rate, "optimizer": optimizer, "batch": "64"},
            {"accuracy": accuracy, "latency_ms": latency},
            artifacts=["artifacts/**"],
        )["id"]
    rest.ask("PUT", f"/repositories/{REPO}/policies/gate", data=POLICY, headers={"Content-Type": "application/yaml"})
    promote(rest, "exp-1")
    return made


def rows(page):
    return page.get_by_role("grid", name="Runs").get_by_role("row")


def test_a_sorted_table_is_asked_for_once_and_its_second_page_when_it_is_scrolled(window, rest):
    rest.repository("paged")
    rest.upload("paged", "a", "a")
    rest.commit("paged")
    for number in range(250):
        rest.record("paged", "main", metrics={"loss": number})
    page, asked = window.page, []
    page.on("request", lambda request: asked.append(request.url) if re.search(r"/runs\?.*column=", request.url) else None)
    window.go("/r/paged/-/runs?order=-metrics.loss")
    expect(rows(page).nth(1)).to_contain_text("249")
    page.wait_for_load_state("networkidle")
    assert len(asked) == 1, asked
    page.get_by_role("grid", name="Runs").evaluate("grid => { grid.scrollTop = 150 * 32 }")
    browsers.eventually(page, lambda: len(asked) == 2)


def test_the_table_filters_sorts_and_marks_regressions(window, rest, runs):
    page = window.go(f"/r/{REPO}/-/runs")
    expect(rows(page)).to_have_count(1 + len(TRAINED))
    expect(page.get_by_label("Champion", exact=True)).to_contain_text("accuracy 0.81")
    slower = rows(page).filter(has_text="exp-2")
    expect(slower).to_contain_text("+0.11 better than the champion")
    expect(slower).to_contain_text("+15 worse than the champion")
    page.set_viewport_size(browsers.NARROW)
    expect(page.get_by_role("grid", name="Runs").get_by_text("0.92", exact=True)).to_be_in_viewport(ratio=1)
    page.set_viewport_size(browsers.WIDE)
    window.review("runs")
    # By keyboard: a name, an operator, a number.
    field = page.get_by_role("combobox", name="Filter runs")
    field.fill("accu")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value("metrics.accuracy")
    field.fill("metrics.accuracy > high")
    page.keyboard.press("Enter")
    expect(page.get_by_text("metrics.accuracy > needs a number")).to_be_visible()
    field.fill("metrics.accuracy > 0.85")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(3)
    page.get_by_role("grid", name="Runs").get_by_role("button", name="accuracy").click()
    page.wait_for_url("**order=-metrics.accuracy**")
    expect(rows(page).nth(1)).to_contain_text("exp-2")
    listed = rest.get(f"/repositories/{REPO}/runs", where="metrics.accuracy>0.85", order="-metrics.accuracy")
    assert [run["id"] for run in listed["results"]] == [runs["exp-2"], runs["exp-3"]]
    # The address is the state.
    page.reload()
    expect(rows(page)).to_have_count(3)
    expect(rows(page).nth(1)).to_contain_text("exp-2")
    page.get_by_role("button", name="Remove metrics.accuracy>0.85").click()
    expect(rows(page)).to_have_count(4)


def test_only_chosen_columns_are_fetched(window, runs):
    page = window.go(f"/r/{REPO}/-/runs?column=metrics.accuracy")
    expect(rows(page)).to_have_count(4)
    page.get_by_role("button", name="Columns").click()
    with page.expect_response(lambda answer: "/runs?" in answer.url and "params.lr" in answer.url) as waited:
        page.get_by_role("checkbox", name="params.lr", exact=True).check()
    answer = waited.value.json()
    assert all(set(run["params"]) == {"lr"} and [m["name"] for m in run["metrics"]] == ["accuracy"] for run in answer["results"])
    page.get_by_label("pinned params.lr").check()
    window.axe()
    page.get_by_role("button", name="Done").click()
    page.wait_for_url("**pin=params.lr**")
    expect(page.get_by_role("columnheader", name="lr", exact=True)).to_be_visible()
    expect(page.get_by_role("columnheader", name="latency_ms")).to_have_count(0)


def test_selected_runs_are_compared_without_equal_rows(window, runs):
    page = window.go(f"/r/{REPO}/-/runs")
    for branch in ("exp-1", "exp-2"):
        page.get_by_role("checkbox", name=f"Select {runs[branch]}").click()
    page.get_by_role("button", name="Compare").click()
    table = page.get_by_role("table", name="Selected runs side by side")
    expect(table.get_by_role("row", name="param lr")).to_be_visible()
    expect(table.get_by_role("row", name="param batch")).to_have_count(0)
    expect(table.get_by_role("row", name="metric latency_ms")).to_contain_text("30 ★ best")
    window.review("runs-side-by-side")
    # The champion's parameters, and those of the runs.
    expect(table.get_by_role("row", name="param lr 0.1 0.1 0.03")).to_be_visible()
    page.get_by_label("Show equal rows").check()
    expect(table.get_by_role("row", name="param batch")).to_contain_text("64")
    page.get_by_role("tab", name="Curves").click()
    expect(page.get_by_text("2 curves of 2 runs")).to_be_visible()
    last = math.exp(-99 * 2 / 50)
    expect(page.get_by_role("group", name="Curves of loss")).to_have_attribute(
        "aria-label", re.compile(f"exp-2 .* ends at {last:.5f}")
    )
    window.review("runs-curves")


def asked(page, pattern):
    """The addresses of requests that match, as they are sent."""
    addresses = []
    page.on("request", lambda request: addresses.append(request.url) if re.search(pattern, request.url) else None)
    return addresses


def test_many_runs_are_compared_in_a_bounded_number_of_requests(window, rest):
    rest.repository("many-runs")
    ids = []
    for number in range(60):
        rest.upload("many-runs", "metrics/curve.csv", f"step,loss\n1,{number + 1}\n2,{number}\n")
        rest.commit("many-runs", **({"camera": "left"} if number == 0 else {}))
        ids.append(rest.record("many-runs", "main", metrics={"accuracy": number / 60})["id"])
    chosen = "".join(f"&run={run}" for run in ids)
    requests = asked(window.page, r"/api/v1/.*/(runs|series|commits/[^/]+/(metrics|series))([/?]|$)")
    page = window.go(f"/r/many-runs/-/runs?view=side{chosen}")
    table = page.get_by_role("table", name="Selected runs side by side")
    expect(table.get_by_role("row", name="metric loss")).to_contain_text("59")
    expect(table.get_by_role("row", name="param camera")).to_contain_text("left")
    assert len(requests) == 2, requests  # of the columns, and of all runs
    page.get_by_role("button", name=f"Leave out {ids[0]}").click()
    expect(table.get_by_role("row", name="param camera")).to_have_count(0)
    assert len(requests) == 2, requests
    page.get_by_role("tab", name="Curves").click()
    expect(page.get_by_text("59 curves of 59 runs")).to_be_visible()
    assert len(requests) == 4, requests  # 50 curves in each


def test_a_selected_run_that_is_not_there_is_named(window, rest, runs):
    page = window.go(f"/r/{REPO}/-/runs?view=side&run={runs['exp-1']}&run=00000000000000000000")
    expect(page.get_by_text("run 00000000000000000000: not found")).to_be_visible()
    expect(page.get_by_role("table", name="Selected runs side by side")).to_contain_text("exp-1")


def test_charts_show_all_runs_of_the_filter(window, runs):
    page = window.go(f"/r/{REPO}/-/runs?view=scatter&x=params.lr&y=metrics.accuracy")
    expect(page.get_by_role("img", name="accuracy over lr of 3 runs")).to_be_visible()
    window.review("runs-scatter")
    page.get_by_role("tab", name="Parallel").click()
    expect(page.get_by_role("img", name="Parallel coordinates of 3 runs")).to_be_visible()
    window.review("runs-parallel")
    page.get_by_role("tab", name="Box plots").click()
    page.get_by_label("By parameter").select_option("params.optimizer")
    expect(page.get_by_role("row", name="adam")).to_contain_text("0.89 to 0.91")
    window.review("runs-box-plots")
    page.get_by_role("tab", name="Correlation").click()
    expect(page.get_by_role("row", name="lr")).to_contain_text("Pearson")
    window.review("runs-correlation")
    page.get_by_label("Group by").select_option("params.optimizer")
    expect(page.get_by_role("row", name="adam 2")).to_contain_text("0.9 0.88 to 0.92")
    page.get_by_role("button", name="adam", exact=True).click()
    expect(rows(page)).to_have_count(3)


def test_a_run_leads_to_its_commit_data_changes_and_artifacts(window, rest, runs):
    page = window.go(f"/r/{REPO}/-/runs/{runs['exp-2']}")
    commit = rest.get(f"/repositories/{REPO}/runs/{runs['exp-2']}")["commit_id"]
    expect(page.get_by_role("link", name=commit[:16])).to_have_attribute("href", f"/r/{REPO}/-/commits/{commit}")
    expect(page.get_by_role("link", name="Data", exact=True).last).to_have_attribute("href", f"/r/{REPO}/{commit}/data")
    expect(page.get_by_role("link", name="Changes against main")).to_have_attribute("href", f"/r/{REPO}/-/compare/main/{commit}")
    expect(page.get_by_role("row", name="latency_ms")).to_contain_text("worse than the champion")
    expect(page.get_by_text("1 curve of 1 run")).to_be_visible()
    window.review("run")
    page.get_by_role("link", name="artifacts/model.pkl").click()
    page.wait_for_url(f"**/r/{REPO}/{commit}/data?path=artifacts/**")


def test_a_running_run_is_found_and_followed_in_several_charts(window, rest):
    rest.repository("live")
    rest.upload("live", "a")
    rest.commit("live")
    rest.record("live", "main", metrics={"loss": 0.5})
    labels = {"name": "<b>first</b> try", "notes": "larger\n<i>batches</i>", "tags": ["baseline"]}
    run = rest.post("/repositories/live/experiments/dogs/start", {"branch": "main", **labels})["id"]

    def write(first, end):
        steps = [
            {"step": step, "metrics": {"loss": 1 / (step + 1) + 0.05 * (step % 3), "accuracy": step / 1000}}
            for step in range(first, end)
        ]
        rest.ask("POST", f"/repositories/live/runs/{run}/steps", json={"steps": steps})

    write(0, 100)
    page = window.go("/r/live/-/runs")
    row = rows(page).filter(has_text="<b>first</b> try")
    expect(row).to_contain_text("running")
    expect(row).to_contain_text("baseline")
    window.review("runs-live")
    page.get_by_role("combobox", name="Filter runs").fill("metrics.loss < 1 and tag = baseline and state = running")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_role("button", name="Remove tag = baseline")).to_be_visible()
    page = window.go(f"/r/live/-/runs?view=curves&run={run}&metric=metrics.loss")
    page.get_by_label("Another chart").select_option("metrics.accuracy")
    accuracy = page.get_by_role("group", name="Curves of accuracy")
    expect(accuracy).to_have_attribute("aria-label", re.compile("ends at 0.099$"))
    page.get_by_label("Smoothing").fill("90")
    page.wait_for_url("**smooth=90**")
    expect(accuracy).to_have_attribute("aria-label", re.compile("ends at 0.09000"))
    window.review("runs-live-curves")
    write(100, 900)
    expect(accuracy).to_have_attribute("aria-label", re.compile("ends at 0.89$"))
    page.get_by_role("button", name="Remove the chart of accuracy").click()
    expect(accuracy).to_have_count(0)
    page = window.go(f"/r/live/-/runs/{run}")
    expect(page.get_by_text("none yet: no gate reads this run")).to_be_visible()
    expect(page.get_by_text("<i>batches</i>")).to_be_visible()
    window.review("run-live")
    rest.post(f"/repositories/live/runs/{run}/end", {"state": "failed"})
    expect(page.get_by_role("heading", name="<b>first</b> try failed")).to_be_visible()


def test_names_of_others_run_nothing(window, rest, runs):
    name = "<img src=x onerror=alert(1)>"
    record(rest, "exp-3", {name: "<script>alert(1)</script>" + "w" * 300}, {"m" * 255: 1.0, "accuracy": "NaN"})
    page = window.go(
        f"/r/{REPO}/-/runs?column=metrics.{'m' * 255}&column=metrics.accuracy&column=params.{urllib.parse.quote(name)}"
    )
    expect(page.get_by_text("NaN").first).to_be_visible()
    expect(page.get_by_text("<script>alert(1)</script>").first).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    window.review("runs-hostile-names")


def test_without_runs_the_next_step_is_shown(window, rest):
    rest.repository("empty-runs")
    page = window.go("/r/empty-runs/-/runs")
    expect(page.get_by_text("None is recorded here yet.")).to_be_visible()
    window.review("runs-empty")
    page.get_by_role("tab", name="Scatter").click()
    page.get_by_role("button", name="Record the first run…").click()
    expect(page.get_by_role("dialog", name="Record a run")).to_be_visible()


def test_names_of_old_runs_are_offered_too(window, rest):
    rest.repository("renamed")
    rest.upload("renamed", "a")
    rest.commit("renamed")
    rest.record("renamed", "main", metrics={"bleu": 31.5}, params={"beam": "4"})
    for _ in range(25):
        rest.record("renamed", "main", metrics={"loss": 0.5})
    page = window.go("/r/renamed/-/runs")
    expect(page.get_by_role("columnheader", name="loss")).to_be_visible()
    expect(page.get_by_role("columnheader", name="bleu")).to_have_count(0)
    field = page.get_by_role("combobox", name="Filter runs")
    field.fill("metrics.b")
    expect(page.get_by_role("option", name="metrics.bleu")).to_be_visible()
    field.fill("")
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="metrics.bleu", exact=True).check()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("columnheader", name="bleu")).to_be_visible()

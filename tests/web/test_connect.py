"""Connecting clients: the lines that the page shows are run as they are."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import servers
import yaml
from long_tests import LONG
from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("TARN_CACHE", Path.home() / ".cache/tarn"))
CLIENTS = [
    "tarn",
    "tarn-python",
    "lakefs",
    "boto3",
    "s3fs",
    "pandas",
    "pytorch",
    "tensorflow",
    "duckdb",
    "spark",
    "aws",
    "rclone",
    "mc",
    "curl",
    "ci",
]


@pytest.fixture(scope="module")
def repository(tarn):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("digits")
    rest.upload("digits", "README.md", "# Digits")
    rest.commit("digits", "first")
    rest.branch("digits", "exp-1")
    return "digits"


@pytest.fixture
def branch(rest, repository, request):
    """One of this test's own."""
    name = "exp-" + "".join(c if c.isalnum() else "-" for c in request.node.name)[-40:]
    rest.branch(repository, name)
    return name


def lines(window, repository, branch, client):
    """The lines on the page by their titles, with a new key made by its button."""
    page = window.go(f"/connect?client={client}&repository={repository}&branch={branch}")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_text("is in the lines below")).to_be_visible()
    shown = {}
    for figure in page.locator("figure").all():
        shown[figure.get_by_role("heading").inner_text()] = figure.locator("pre").inner_text()
    return shown


def command(name):
    """A program of this machine, or of the tests' own clients; skips if it is nowhere."""
    kept = sorted(CACHE.glob(f"client-*/bin/{name}"))
    found = str(kept[-1]) if kept else shutil.which(name)
    if not found:
        pytest.skip(f"there is no {name} here")
    return found


def run(words, tmp_path, programs=(), text=None, **environment):
    """In a home of its own, without settings of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TARN_", "LAKECTL_"))}
    path = ":".join([str(Path(program).parent) for program in programs] + [kept["PATH"]])
    done = subprocess.run(
        words,
        input=text,
        env={**kept, "HOME": str(tmp_path), "PATH": path, "no_proxy": "*", **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shell(text, tmp_path, *programs):
    return run(["bash", "-eu", "-o", "pipefail", "-c", text], tmp_path, programs)


def python(text, tmp_path, **environment):
    return run([sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", text], tmp_path, **environment)


def program(shown):
    return "\n\n".join(text for title, text in shown.items() if title != "Install")


def test_the_page_leads_to_each_client(window, rest, repository):
    page = window.go("/r/digits/exp-1/data")
    page.get_by_role("button", name="Download").click()
    page.get_by_role("menuitem", name="Connect a client…").click()
    page.wait_for_url("**/connect?repository=digits&branch=exp-1")
    clients = page.get_by_role("navigation", name="Clients")
    expect(clients.get_by_role("link")).to_have_count(len(CLIENTS))
    for client in CLIENTS:
        window.walk(f"/connect?client={client}&repository=digits&branch=exp-1")
        expect(clients.locator("[aria-current=page]")).to_have_attribute("href", re.compile(rf"client={client}(&|$)"))
        expect(page.get_by_text("ACCESS_KEY_ID", exact=False).first).to_be_visible()
        if LONG or client in ("tarn", "spark", "ci"):  # the others have the same parts
            window.axe()
    clients.get_by_role("link", name="DuckDB").click()
    page.wait_for_url("**/connect?client=duckdb&repository=digits&branch=exp-1")
    page.get_by_role("button", name="Branch: exp-1").click()
    page.get_by_role("combobox", name="Branch").fill("main")
    page.keyboard.press("Enter")
    page.wait_for_url("**/connect?client=duckdb&repository=digits&branch=main")
    window.go("/connect?client=boto3&repository=digits&branch=exp-1")
    window.review("connect")


def test_a_key_is_made_once_and_forgotten(window, rest, tarn, repository):
    shown = lines(window, "digits", "exp-1", "boto3")
    user = rest.get("/user")["user"]["id"]
    keys = {key["access_key_id"] for key in rest.get(f"/auth/users/{user}/credentials")["results"]}
    made = keys - {tarn.access_key}
    key = next(key for key in made if key in shown["Settings"])
    page = window.page
    page.get_by_role("navigation", name="Clients").get_by_role("link", name="curl").click()
    expect(page.get_by_role("region", name="Settings")).to_contain_text(key)  # the same key for the next client
    window.axe()
    secret = page.get_by_role("region", name="Settings").inner_text().split("TARN_SECRET_KEY=")[1].strip().strip("'")
    page.get_by_role("button", name="Copy Settings").click()
    assert secret in page.evaluate("navigator.clipboard.readText()")
    assert secret not in page.url and secret not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    page.reload()
    expect(page.get_by_role("button", name="Create a key")).to_be_visible()
    assert secret not in page.content()


def test_without_the_right_to_make_keys_the_button_says_why(window, rest, repository):
    rest.post("/auth/users", {"id": "reader"})
    rest.post(
        "/auth/policies",
        {"id": "OnlyReads", "statement": [{"effect": "allow", "action": ["fs:Read*", "fs:List*"], "resource": "*"}]},
    )
    rest.ask("PUT", "/auth/users/reader/policies/OnlyReads")
    key = rest.post("/auth/users/reader/credentials", {})
    window.sign_in(key["access_key_id"], key["secret_access_key"])
    page = window.go("/connect?client=curl&repository=digits")
    button = page.get_by_role("button", name="Create a key")
    expect(button).to_have_attribute("aria-disabled", "true")
    window.axe()


def test_users_without_rights_see_the_lines(window, rest, repository):
    rest.post("/auth/users", {"id": "newcomer"})
    key = rest.post("/auth/users/newcomer/credentials", {})
    window.sign_in(key["access_key_id"], key["secret_access_key"])
    window.expect_problem("401")  # may not even list repositories
    page = window.go("/connect?client=rclone")
    expect(page.get_by_role("alert")).to_contain_text("fs:ListRepositories")
    expect(page.get_by_role("region", name="Settings")).to_contain_text("rclone config create")
    window.review("connect-empty")


def test_tarn(window, rest, repository, branch, tmp_path):
    out = shell(program(lines(window, repository, branch, "tarn")), tmp_path, servers.program("tarn"))
    assert "README.md" in out and "hello" in out
    assert rest.read(repository, "hello.txt", branch) == b"hello\n"
    assert rest.get(f"/repositories/{repository}/refs/{branch}/commits", amount=1)["results"][0]["message"] == "Say hello"


def test_python_records_runs(window, rest, repository, branch, tmp_path):
    out = python(program(lines(window, repository, branch, "tarn-python")), tmp_path, PYTHONPATH=str(ROOT / "clients/python"))
    assert "accuracy" in out


def test_lakefs_sdk(window, rest, repository, branch, tmp_path):
    out = python(program(lines(window, repository, branch, "lakefs")), tmp_path)
    assert "added hello.txt" in out
    assert rest.read(repository, "hello.txt", branch) == b"hello"


@pytest.mark.parametrize("client", ["boto3", "s3fs"])
def test_s3_in_python(window, rest, repository, branch, tmp_path, client):
    out = python(program(lines(window, repository, branch, client)), tmp_path)
    assert "hello" in out and f"{branch}/README.md" in out
    assert rest.read(repository, "hello.txt", branch) == b"hello"


def test_pandas(window, rest, repository, branch, tmp_path):
    out = python(program(lines(window, repository, branch, "pandas")), tmp_path)
    assert "label" in out
    assert rest.read(repository, "hello.parquet", branch)[:4] == b"PAR1"


@pytest.mark.parametrize(
    "client, module", [("pytorch", "s3torchconnector"), ("tensorflow", "tensorflow_io"), ("spark", "pyspark")]
)
def test_frameworks(window, rest, repository, branch, tmp_path, client, module):
    shown = program(lines(window, repository, branch, client))
    compile(shown, client, "exec")
    if not LONG:
        pytest.skip("it takes long to load: in long runs, and tests/e2e/clients runs it with the same settings")
    interpreters = sorted(CACHE.glob(f"client-*/lib/python3*/site-packages/{module}"))
    if not interpreters:
        pytest.skip(f"there is no {module} here; its lines are Python that compiles")
    run([str(interpreters[-1].parents[3] / "bin/python"), "-c", shown], tmp_path)
    assert [path for path in rest.paths(repository, branch) if path.startswith("hello")]


# The statements one by one, as DuckDB's own shell runs them.
STATEMENTS = """
import sys, duckdb
database = duckdb.connect()
for statement in database.extract_statements(sys.stdin.read()):
    found = database.execute(statement)
    print(found.fetchall() if found.description else "")
"""


def test_duckdb(window, rest, repository, branch, tmp_path):
    shown = program(lines(window, repository, branch, "duckdb"))
    found = sorted(CACHE.glob("client-*/lib/python3*/site-packages/duckdb"))
    if not found:
        pytest.skip("DuckDB is not installed: ./dev test")
    python = found[-1].parents[3] / "bin/python"
    # INSTALL asks a host of DuckDB's, unless the extension is in its place already.
    version, platform = run(
        [
            python,
            "-c",
            "import duckdb; print(*duckdb.sql('SELECT version()').fetchone(), *duckdb.sql('PRAGMA platform').fetchone())",
        ],
        tmp_path,
    ).split()
    place = tmp_path / ".duckdb/extensions" / version / platform
    place.mkdir(parents=True)
    shutil.copy(next(found[-1].parent.glob(f"duckdb_extension_httpfs/extensions/{version}/*")), place)
    assert "row 2" in run([python, "-c", STATEMENTS], tmp_path, text=shown)
    assert rest.read(repository, "hello.parquet", branch)[:4] == b"PAR1"


@pytest.mark.parametrize("client", ["aws", "rclone", "mc"])
def test_commands_of_s3(window, rest, repository, branch, tmp_path, client):
    found = command(client)
    out = shell(program(lines(window, repository, branch, client)), tmp_path, found)
    assert "hello" in out and "README.md" in out
    assert rest.read(repository, "hello.txt", branch) == b"hello\n"


def test_curl(window, rest, repository, branch, tmp_path):
    out = shell(program(lines(window, repository, branch, "curl")), tmp_path)
    assert "hello\n" in out and '"path":"README.md"' in out.replace(" ", "")
    assert rest.read(repository, "hello.txt", branch) == b"hello\n"


def test_a_ci_recipe(window, rest, repository, branch, tmp_path):
    """Its steps run as the runner of GitHub would: expressions replaced, each in a shell of its own."""
    shown = lines(window, repository, branch, "ci")
    values = dict(line.split(" set ")[1].split(" --body ") for line in shown["Secrets"].splitlines())
    recipe = yaml.safe_load(shown[".github/workflows/model.yml"])
    environment = {}
    for name, value in recipe["env"].items():
        for key, text in values.items():
            value = value.replace(f"${{{{ vars.{key} }}}}", text.strip("'")).replace(f"${{{{ secrets.{key} }}}}", text.strip("'"))
        environment[name] = value.replace("${{ github.event.pull_request.number }}", "7")
    assert not any("${{" in value for value in environment.values())
    (tmp_path / "train.sh").write_text("#!/bin/sh\nmkdir -p out && echo 0.9 >out/accuracy\n")
    (tmp_path / "train.sh").chmod(0o755)
    for step in recipe["jobs"]["candidate"]["steps"]:
        if "run" in step:
            run(
                ["bash", "-eu", "-o", "pipefail", "-c", step["run"]],
                tmp_path,
                [servers.program("tarn")],
                **environment,
                GITHUB_SHA="0123abcd" * 5,
                GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
            )
    assert "accuracy" in (tmp_path / "summary.md").read_text()
    assert rest.read(repository, "accuracy", "pr-7") == b"0.9\n"

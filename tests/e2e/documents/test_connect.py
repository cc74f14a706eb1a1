"""docs/connect.md: every block that it says is run, as it stands, in order, with the clients that are here."""

import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import command
import pytest
import servers

PAGE = (servers.ROOT / "docs/connect.md").read_text()
SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"```(sh|python|sql)\n(.*?)```", re.DOTALL)
MARK = "*(run by the tests)*"
RUN = {title: BLOCK.findall(text) for title, text in SECTION.findall(PAGE) if MARK in text}
CACHE = os.environ.get("TARN_CACHE", str(Path.home() / ".cache/tarn"))
PROGRAMS = {"aws": "aws", "rclone": "rclone", "curl": "curl", "mc": "mc"}


def tools():
    """The clients that ./dev installs, if they are there, before those of the machine."""
    own = os.path.dirname(os.path.abspath(servers.program("tarn")))
    return os.pathsep.join(
        [own, *glob.glob(f"{CACHE}/client-light-*/bin"), *glob.glob(f"{CACHE}/client-mc-*/bin"), os.environ["PATH"]]
    )


@pytest.fixture(scope="module")
def reader(tarn, tmp_path_factory):
    """Environment and directory of someone who follows the page from its first block."""
    here = tmp_path_factory.mktemp("reader")
    environment = {**command.Cli(tarn, here / "home").environment, "HOME": str(here / "home"), "PATH": tools()}
    (here / "home").mkdir()
    run(environment, here, *RUN["tarn"][0])
    return environment, here


def run(environment, here, language, text):
    words = ["bash", "-eu"] if language == "sh" else [sys.executable, "-"]
    ended = subprocess.run(words, input=text, env=environment, cwd=here, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, (text, ended.stdout, ended.stderr)
    return ended.stdout


def test_the_page_marks_what_runs():
    assert set(RUN) == {"tarn", "lakeFS's Python SDK", "curl", "boto3", "s3fs", "pandas", "aws", "rclone", "mc", "DuckDB"}
    assert all(RUN.values()), "each has a block"


@pytest.mark.parametrize("title", [title for title in RUN if title not in ("tarn", "DuckDB")])
def test_the_block_runs(reader, title):
    environment, here = reader
    program = PROGRAMS.get(title)
    if program and not shutil.which(program, path=environment["PATH"]):
        pytest.skip(f"{program} is not installed")
    said = "".join(run(environment, here, *block) for block in RUN[title])
    expected = {
        "curl": "id,label",
        "boto3": "main/data/boto3.csv",
        "s3fs": "s3fs.csv",
        "pandas": "frog",
        "aws": "aws.csv",
        "rclone": "rclone/labels.csv",
        "mc": "labels.csv",
    }
    assert expected.get(title, "") in said


# INSTALL fetches from duckdb.org, which a machine of tests need not reach: the extension comes from PyPI.
DUCKDB = """
import sys, duckdb, duckdb_extension_httpfs, pathlib
connection = duckdb.connect()
extension = next(pathlib.Path(duckdb_extension_httpfs.__file__).parent.glob("extensions/*/httpfs.duckdb_extension"))
connection.execute(f"LOAD '{extension}'")
print(connection.execute(sys.stdin.read()).fetchall())
"""


def test_duckdb(reader, tarn):
    environment, here = reader
    installed = glob.glob(f"{CACHE}/client-light-*/lib/python3*/site-packages/duckdb")
    if not installed:
        pytest.skip("DuckDB is not installed: ./dev test")
    run(environment, here, "sh", "printf 'id,label\\n7,owl\\n' | tarn fs upload - tarn://lake/main/data/duckdb.csv")
    sql = RUN["DuckDB"][0][1]
    assert sql.startswith("INSTALL httpfs; LOAD httpfs;\n")
    values = {
        "INSTALL httpfs; LOAD httpfs;": "",
        "127.0.0.1:8000": tarn.url.removeprefix("http://"),
        "'KEY'": f"'{tarn.access_key}'",
        "'SECRET'": f"'{tarn.secret_key}'",
    }
    for shown, value in values.items():
        sql = sql.replace(shown, value)
    ended = subprocess.run(
        [Path(installed[0]).parents[3] / "bin/python", "-c", DUCKDB],
        input=sql,
        env=environment,
        cwd=here,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert re.fullmatch(r"\[\([1-9]\d*,\)\]\n", ended.stdout), ended.stdout


def test_links_lead_to_sections():
    titles = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title, _ in SECTION.findall(PAGE)}
    for anchor in re.findall(r"\]\(#([\w-]+)\)", PAGE):
        assert anchor in titles, anchor

"""docs/connect.md: the blocks of the clients that only `./dev test --clients` installs, as they stand, but for the address
and the keys."""

import os
import re
import shutil
import subprocess

import client_matrix
import clients
import pytest
import servers

PAGE = (servers.ROOT / "docs/connect.md").read_text()
SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
MARK = "*(run by `./dev test --clients`)*"
MARKED = {title: text for title, text in SECTION.findall(PAGE) if MARK in text}
HEAVY = {client.environment for client in client_matrix.clients() if client.heavy}


def block(title, language):
    return re.search(rf"```{language}\n(.*?)```", MARKED[title], re.DOTALL)[1]


@pytest.fixture(scope="module")
def lake(tarn):
    """The server, with what the blocks read."""
    s3 = clients.boto3_client(tarn)
    rest = clients.Rest(tarn)

    def make(path, **body):
        assert rest("POST", f"/repositories{path}", json=body).status_code == 201, path

    make("", name="lake", storage_namespace="local://connect-lake")
    s3.put_object(Bucket="lake", Key="main/data/labels.csv", Body=b"id,label\n1,cat\n2,dog\n")
    s3.put_object(Bucket="lake", Key="main/images/a.png", Body=b"picture")
    make("/lake/branches/main/commits", message="data")
    make("/lake/tags", id="v1", ref="main")
    make("/lake/branches", name="exp-1", source="main")
    return tarn


@pytest.fixture
def run(lake, tmp_path, pytestconfig):
    """Runs a program's text by the Python of an environment, with the settings of the page in its environment."""
    if pytestconfig.getoption("--clients") == "light":
        pytest.skip("its client takes minutes to install: ./dev test --clients")

    def go(environment, text, words=("python", "-"), **variables):
        assert environment in HEAVY
        programs = client_matrix.environment_directory(environment) / "bin"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TARN_", "AWS_", "S3_"))}
        own = {"HOME": str(tmp_path), "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
        program = shutil.which(words[0], path=own["PATH"])
        ended = subprocess.run(
            [program, *words[1:]],
            input=filled(text),
            env={**kept, **own, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert ended.returncode == 0, (text, ended.stdout, ended.stderr[-3000:])
        return ended.stdout

    def filled(text):
        """With this server's values in the place of the page's."""
        values = {"127.0.0.1:8000": lake.url.removeprefix("http://"), "SECRET": lake.secret_key, "KEY": lake.access_key}
        return re.sub(r"127\.0\.0\.1:8000|(?<![A-Z_])(SECRET|KEY)(?![A-Z_ ])", lambda found: values[found[0]], text)

    go.keys = {"AWS_ACCESS_KEY_ID": lake.access_key, "AWS_SECRET_ACCESS_KEY": lake.secret_key}
    return go


def test_the_page_marks_what_runs():
    assert set(MARKED) == {"Spark", "PyTorch", "TensorFlow"}


def test_spark(run, tmp_path):
    jars = client_matrix.environment_directory("spark") / "jars"
    settings = "\n".join(
        f"    .config({name!r}, {value!r})" for name, value in (line.split() for line in block("Spark", "").splitlines())
    )
    program = f"""
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]")
    .config("spark.driver.extraClassPath", "{jars}/*").config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.local.dir", "{tmp_path}")
{settings}
    .getOrCreate())
spark.range(5).write.parquet("s3a://lake/exp-1/table")
print("rows", spark.read.parquet("s3a://lake/exp-1/table").count())
print("labels", spark.read.option("header", "true").csv("s3a://lake/v1/data/").count())
"""
    said = run("spark", program)
    assert "rows 5\n" in said and "labels 2\n" in said


def test_pytorch(run):
    program = block("PyTorch", "python") + "print([(image.key, image.read()) for image in images])\n"
    assert run("torch", program, **run.keys) == "[('v1/images/a.png', b'picture')]\n"


def test_tensorflow(run):
    said = run("tensorflow", block("TensorFlow", "sh"), words=("bash", "-eu"), **run.keys)
    assert said.strip() == "['labels.csv']"

"""The demo: import a data set by reference, branch, train three models at once, commit, compare, promote the best
through a gate, predict with the champion, see a promotion refused and one taken back."""

import argparse
import fcntl
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import clients
import lakefs
import numpy
import servers
from PIL import Image
from sklearn.datasets import load_digits

EXPERIMENTS = {"exp-1": 0.0001, "exp-2": 1.0, "exp-3": 0.01}
BUCKET = "lake"
POLICY = """name: digits-champion
destination: main
alias: champion
candidates: "exp-*"
metrics:
  - {name: accuracy, goal: max, min: 0.9, max: 1.0, vs_champion: {min_delta: 0}, primary: true}
objects: {required: ["artifacts/model.pkl", "config/config.json"]}
"""
PROMOTED_PATHS = ("artifacts/**", "config/**", "metrics/**", "raw/**")
GATE_FAILED = 10


def digits_files():
    """The data set as {name: bytes}: 1,797 PNG files and labels.csv."""
    digits = load_digits()
    files = {}
    rows = ["file,label"]
    for number, (image, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        name = f"images/{label}/{number:04}.png"
        out = io.BytesIO()
        Image.fromarray((image * 15.9).astype("uint8")).save(out, "PNG")
        files[name] = out.getvalue()
        rows.append(f"{name},{label}")
    files["labels.csv"] = ("\n".join(rows) + "\n").encode()
    return files


class LocalLake:
    """A plain directory that Tarn does not own, and a tarnd with its objects in a local directory."""

    def __init__(self, directory, listen):
        self.server = servers.Tarnd(directory / "tarnd", listen=listen)
        self.source_dir = self.server.import_root / "digits"
        self.source_url = f"local://{self.source_dir}/"
        self.namespace = "local://digits"

    def start(self):
        self.server.start()

    def fill(self, files):
        for name, data in files.items():
            path = self.source_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def source(self):
        return servers.files_below(self.source_dir)

    def store(self):
        return {k: v for k, v in self.server.stored().items() if "/data/" in k}

    def stop(self):
        self.server.stop()


class S3Lake:
    """A bucket of a real S3 server, as the source and as the object store."""

    def __init__(self, directory, listen):
        self.s3_server = servers.Versitygw(directory / "versitygw")
        self.directory = directory
        self.listen = listen
        self.server = None
        self.source_url = f"s3://{BUCKET}/digits/"
        self.namespace = "s3://objects/digits"

    def start(self):
        self.s3_server.start()
        for bucket in (BUCKET, "objects"):
            clients.boto3_client(self.s3_server).create_bucket(Bucket=bucket)
        self.server = servers.Tarnd(
            self.directory / "tarnd", environment=self.s3_server.tarnd_environment(), listen=self.listen
        ).start()

    def fill(self, files):
        s3 = clients.boto3_client(self.s3_server)
        for name, data in files.items():
            s3.put_object(Bucket=BUCKET, Key=f"digits/{name}", Body=data)

    def source(self):
        return self.s3_server.stored(BUCKET)

    def store(self):
        return {k: v for k, v in self.s3_server.stored("objects").items() if "/data/" in k}

    def stop(self):
        if self.server:
            self.server.stop()
        self.s3_server.stop()


class Report:
    """Time of each step, and the bytes it added to store and source."""

    def __init__(self, lake):
        self.lake = lake
        self.rows = []
        self.last = self.count()

    def count(self):
        store, source = self.lake.store(), self.lake.source()
        return len(store), sum(store.values()), len(source), sum(source.values())

    def step(self, name, action):
        print(f"-- {name}", flush=True)
        started = time.monotonic()
        result = action()
        taken = time.monotonic() - started
        now = self.count()
        self.rows.append((name, taken, *(b - a for a, b in zip(self.last, now, strict=True)), *now[:2]))
        self.last = now
        return result

    def must_add(self, objects):
        """The last step put exactly so many objects into the store and none into the source."""
        name, added, source_added = self.rows[-1][0], self.rows[-1][2], self.rows[-1][4]
        if (added, source_added) != (objects, 0):
            raise SystemExit(
                f"{name}: put {added} objects into the store and {source_added} into the source, expected {objects} and 0"
            )

    def print(self):
        print(f"\n{'step':44} {'seconds':>8} {'new objects':>12} {'new bytes':>11} {'in source':>10} {'in store':>9}")
        for name, taken, objects, size, source_objects, _, total, _ in self.rows:
            print(f"{name:44} {taken:8.2f} {objects:>+12} {size:>+11,} {source_objects:>+10} {total:>9}")


def train_all(server):
    """Three processes at once, one for each experiment."""
    environment = dict(os.environ, TARN_ENDPOINT=server.url, TARN_ACCESS_KEY=server.access_key, TARN_SECRET_KEY=server.secret_key)
    script = str(Path(__file__).with_name("train.py"))
    running = [
        subprocess.Popen([sys.executable, script, branch, "--regularisation", str(value)], env=environment)
        for branch, value in EXPERIMENTS.items()
    ]
    if any([process.wait() != 0 for process in running]):
        raise SystemExit("an experiment failed")


def make_repository(server, lake):
    client = clients.lakefs_client(server)
    repo = lakefs.repository("digits", client=client).create(storage_namespace=lake.namespace)
    repo.branch("ingest").create(source_reference="main")
    return repo


def import_digits(repo, lake):
    job = repo.branch("ingest").import_data(commit_message="Import the digits").prefix(lake.source_url, destination="raw/")
    status = job.run()
    if status.error is not None:
        raise SystemExit(f"the import failed: {status.error.message}")
    return status.ingested_objects


class Tarn:
    """The command, as a person at a terminal uses it."""

    def __init__(self, server):
        self.environment = servers.clean_environment(
            {
                "HOME": server.directory,
                "TARN_ENDPOINT": server.url,
                "TARN_ACCESS_KEY": server.access_key,
                "TARN_SECRET_KEY": server.secret_key,
                "TARN_REPO": "digits",
            }
        )

    def __call__(self, *words, status=0, stdin=None, shown=True):
        ended = subprocess.run(
            [servers.program("tarn"), *words],
            env=self.environment,
            input=stdin,
            text=True,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
        if ended.returncode != status:
            raise SystemExit(f"tarn {' '.join(words)}: ended with {ended.returncode}, not {status}:\n{ended.stderr}")
        if shown:
            print("".join(f"   {line}\n" for line in (ended.stdout or ended.stderr).splitlines()), end="")
        return ended

    def json(self, *words):
        return json.loads(self(*words, "-o", "json", shown=False).stdout)


def record_runs(tarn, repo):
    """The metric and the parameters of each experiment, for the table of runs."""
    for branch, value in EXPERIMENTS.items():
        commit = repo.branch(branch).get_commit()
        accuracy = commit.metadata["accuracy"]
        tarn(
            "exp",
            "log",
            "--ref",
            commit.id,
            "--experiment",
            "digits",
            "--metric",
            f"accuracy={accuracy}",
            "--param",
            f"C={value}",
            "--param",
            "max_iter=200",
            "--artifact",
            "artifacts/*",
            shown=False,
        )


def choose(tarn):
    """The table of the candidates, as a person reads it; the best one's branch."""
    tarn("exp", "compare", "exp-*", "--policy", "digits-champion")
    return tarn.json("exp", "compare", "exp-*", "--policy", "digits-champion")["results"][0]["ref"]


def promote(tarn, repo, reason, *how):
    """Through the gate; whatever the record says must be so."""
    done = tarn.json("promote", "exp-*", "--to", "main", "-m", reason, *how, "--wait", "--timeout", "5m")
    print(f"   {done['winner']['ref']} is the champion, main is {done['result'][:12]}")
    if (done["state"], done["result"]) != ("promoted", repo.branch("main").head.id):
        raise SystemExit(f"the promotion ended as {done['state']}: {done}")
    return done


def refuse(tarn, repo, weak):
    """The gate keeps a candidate out that is not good enough, and nothing has moved."""
    before = repo.branch("main").head.id, repo.ref("@champion").get_commit().id
    ended = tarn("promote", weak, "--to", "main", "--wait", "--timeout", "5m", status=GATE_FAILED, shown=False)
    print("".join(f"   {line}\n" for line in ended.stderr.splitlines()[-3:]), end="")
    if (repo.branch("main").head.id, repo.ref("@champion").get_commit().id) != before:
        raise SystemExit("a refused promotion moved something")


def roll_back(tarn, repo, before):
    undone = tarn.json("promote", "rollback", "@champion", "-m", "to show how it is done")
    print(f"   took back promotion {undone['undoes']}")
    if [change.path for change in repo.ref("main").diff(before, type="two_dot")]:
        raise SystemExit("after the rollback main is not as it was before")


def predict(server, repo):
    """Reads the model back through the alias and lets it read a digit, also through the alias."""
    with repo.ref("@champion").object("artifacts/model.pkl").reader(mode="rb") as body:
        model = pickle.loads(body.read())
    s3 = clients.boto3_client(server)
    rows = s3.get_object(Bucket=repo.id, Key="@champion/raw/labels.csv")["Body"].read().decode().splitlines()[1:]
    file, label = rows[1234].split(",")
    image = s3.get_object(Bucket=repo.id, Key=f"@champion/raw/{file}")["Body"].read()
    guess = model.predict([numpy.asarray(Image.open(io.BytesIO(image))).flatten() / 255.0])[0]
    print(f"   {file} is a {label}; the model read through @champion says {guess}")


def print_history(repo):
    print("\nlog of main:")
    for commit in repo.ref("main").log(max_amount=6):
        print(f"   {commit.id[:12]}  {commit.message}  {commit.metadata.get('accuracy', '')}")
    print("diff main..ingest (two dots):")
    for change in repo.ref("main").diff("ingest", type="two_dot"):
        print(f"   {change.type:8} {change.path}")


def run(lake):
    server = lake.server
    report = Report(lake)
    repo = report.step("create repository and branch ingest", lambda: make_repository(server, lake))
    report.must_add(0)
    files = report.step(f"import {len(lake.source())} files by reference", lambda: import_digits(repo, lake))
    report.must_add(0)
    print(f"   {files} objects imported")
    report.step("train three models at once, commit each", lambda: train_all(server))
    report.must_add(3 * len(EXPERIMENTS))
    tarn = Tarn(server)
    report.step("record a run of each", lambda: record_runs(tarn, repo))
    report.must_add(0)
    before = repo.branch("main").head.id
    report.step("set the gate of main", lambda: tarn("policy", "apply", "-f", "-", stdin=POLICY))
    report.must_add(0)
    winner = report.step("compare the candidates", lambda: choose(tarn))
    done = report.step(f"promote {winner}, the best, to main", lambda: promote(tarn, repo, "the best of three"))
    report.must_add(0)
    if done["winner"]["ref"] != winner:
        raise SystemExit(f"{done['winner']['ref']} was promoted, not {winner}")
    report.step("read the model through @champion, predict", lambda: predict(server, repo))
    report.step("promote exp-1, which the gate refuses", lambda: refuse(tarn, repo, "exp-1"))
    report.must_add(0)
    report.step("take the promotion back", lambda: roll_back(tarn, repo, before))
    report.must_add(0)
    again = [word for path in PROMOTED_PATHS for word in ("--path", path)]
    report.step(f"promote {winner} again, by paths", lambda: promote(tarn, repo, "to stay", "--method", "replace-paths", *again))
    report.must_add(0)
    report.step("read the model through @champion again", lambda: predict(server, repo))
    print("\nlog of @champion:")
    tarn("alias", "log", "champion")
    report.print()
    print_history(repo)
    return server


def refuse_if_served(directory):
    """Ends the program if a tarnd runs on the directory, which the demo is about to remove."""
    try:
        lock = (directory / "tarnd" / "data" / "lock").open()
    except FileNotFoundError:
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(
                f"digits_demo.py: a tarnd serves {directory}, which the demo creates again: "
                "stop that server first (^C in the shell of ./dev run)"
            )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", required=True, type=Path)
    parser.add_argument("--listen", default="127.0.0.1:0")
    parser.add_argument("--s3", action="store_true")
    options = parser.parse_args()
    refuse_if_served(options.directory)
    shutil.rmtree(options.directory, ignore_errors=True)
    options.directory.mkdir(mode=0o755, parents=True)
    lake = (S3Lake if options.s3 else LocalLake)(options.directory, options.listen)
    try:
        print("-- start tarnd" + (" and versitygw" if options.s3 else " with its own PostgreSQL"), flush=True)
        lake.start()
        lake.fill(digits_files())
        server = run(lake)
    finally:
        if lake.server is None or lake.server.process is not None:
            lake.stop()
    if options.s3:
        print("\nAll of it ran on a real S3 server; `./dev demo` without --s3 leaves a repository to look at.")
        return
    print(
        f"\nGo on: `./dev run` serves this repository at http://127.0.0.1:8000; in another shell:\n"
        f"  export TARN_ENDPOINT=http://127.0.0.1:8000 TARN_ACCESS_KEY={server.access_key} "
        f"TARN_SECRET_KEY={server.secret_key}\n"
        f"  build/bin/tarn log tarn://digits/main; build/bin/tarn promote ls digits"
    )


if __name__ == "__main__":
    main()

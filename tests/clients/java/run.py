"""Runs the Java clients against servers with a local and an S3 store: run.py CLASS_PATH RESULTS.junit

Each main prints a line for every check, see Checks.java; they become test cases. A main that ends before its last check
counts as a failure."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import clients
import servers

SECONDS_MAX = 300
MAINS = {"SdkChecks": "a repository is deleted", "HadoopChecks": "a commit of nothing says so"}  # with their last checks


def run(main, class_path, server, *more):
    """(name, failure or "", reason to skip or "") of each check."""
    try:
        ended = subprocess.run(
            ["java", "-cp", class_path, main, server.url, server.access_key, server.secret_key, *more],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [(main, f"did not end in {SECONDS_MAX} s", "")]
    print(ended.stdout + ended.stderr, file=sys.stderr, end="")
    cases = []
    for line in ended.stdout.splitlines():
        word, _, rest = line.partition(" ")
        name, _, why = rest.partition(": ")
        if word == "ok":
            cases.append((rest, "", ""))
        elif word == "skipped":
            cases.append((name, "", why))
        elif word == "FAILED":
            cases.append((name, why or "failed", ""))
    if MAINS[main] not in [name for name, _, _ in cases]:
        cases.append((main, f"ended with {ended.returncode} before its last check", ""))
    return cases


def write(cases, path):
    suite = ElementTree.Element("testsuite", name="java")
    for kind, name, failure, reason in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=f"java.{kind}", name=name)
        if failure:
            ElementTree.SubElement(case, "failure", message=failure)
        elif reason:
            ElementTree.SubElement(case, "skipped", message=reason)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(path)


def main():
    class_path, results = sys.argv[1], Path(sys.argv[2])
    scratch = servers.scratch_directory("java", on_disk=True)
    running, cases = [], []
    try:
        local = servers.Tarnd(scratch / "local").start()
        running.append(local)
        versitygw = servers.Versitygw(scratch / "versitygw").start()
        running.append(versitygw)
        store = clients.boto3_client(versitygw)
        store.create_bucket(Bucket="lake")
        store.create_bucket(Bucket="import")
        for name in ("one", "two"):
            (local.import_root / name).write_text(name)
            store.put_object(Bucket="import", Key=name, Body=name.encode())
        s3 = servers.Tarnd(scratch / "s3", environment=versitygw.tarnd_environment()).start()
        running.append(s3)
        for server, scheme, source in ((local, "local://", f"local://{local.import_root}/"), (s3, "s3://", "s3://import/")):
            for program in MAINS:
                print(f"-- {program} {scheme}", file=sys.stderr)
                more = [scheme, source] if program == "SdkChecks" else [scheme]
                cases += [(f"{program} {scheme}", *case) for case in run(program, class_path, server, *more)]
    finally:
        for server in reversed(running):
            server.stop()
        if os.environ.get("TARN_TEST_KEEP") != "1":
            shutil.rmtree(scratch, ignore_errors=True)
    write(cases, results)
    return 1 if any(failure for _, _, failure, _ in cases) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Completes the packages of a version: provenance, checksums of every file, and their signature.

usage: release.py --key FILE [--packages DIR]

The commit must be tagged vVERSION and no file may differ from it. The key is one of minisign without a password
(`minisign -G -W`): whoever can read it can release.
"""

import argparse
import hashlib
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.minisig"
# The address of the repository, which forks set to their own.
SOURCE = os.environ.get("TARN_SOURCE", "urn:tarn:source")


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def tagged_commit(version):
    commit = output_of("git", "rev-parse", "HEAD")
    if f"v{version}" not in output_of("git", "tag", "--points-at", "HEAD").split():
        raise SystemExit(f"commit {commit} is not tagged v{version}: tag it, or change VERSION")
    if changes := output_of("git", "status", "--porcelain"):
        raise SystemExit(f"files differ from commit {commit}: commit or remove them first\n{changes}")
    return commit


def digests_of(packages):
    """(name, SHA-256) of each file that is released."""
    files = sorted(path for path in packages.iterdir() if path.name not in (SUMS, SIGNATURE))
    return [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


def provenance(commit, version, subjects):
    """An in-toto statement with SLSA's provenance. It has no time, so that a second build gives the same bytes."""
    epoch = output_of("git", "log", "-1", "--format=%ct", commit)
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:tarn:package-release:1",
                "externalParameters": {"command": "./dev package --release KEY", "SOURCE_DATE_EPOCH": int(epoch)},
                "resolvedDependencies": [{"uri": SOURCE, "digest": {"gitCommit": commit}}],
            },
            "runDetails": {"builder": {"id": os.environ.get("TARN_BUILDER", "urn:tarn:builder")}},
        },
    }


def main():
    parser = argparse.ArgumentParser(description="Completes and signs the packages of a version.")
    parser.add_argument("--packages", type=Path, default=ROOT / "build" / "packages")
    parser.add_argument("--key", type=Path, required=True)
    given = parser.parse_args()
    packages, key = given.packages.resolve(), given.key.resolve()
    version = (ROOT / "VERSION").read_text().strip()
    commit = tagged_commit(version)
    if strangers := [path.name for path in packages.iterdir() if "dev" in path.name]:
        raise SystemExit(f"{packages} has packages of another commit: {' '.join(strangers)}")
    statement = packages / f"tarn_{version}.intoto.json"
    statement.unlink(missing_ok=True)
    statement.write_text(json.dumps(provenance(commit, version, digests_of(packages)), indent=1, sort_keys=True) + "\n")
    (packages / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in digests_of(packages)))
    comment = f"tarn {version} {commit}"
    output_of("minisign", "-S", "-W", "-s", key, "-m", packages / SUMS, "-x", packages / SIGNATURE, "-c", comment, "-t", comment)
    print(f"{packages}: {len(digests_of(packages))} files of commit {commit}, signed")


if __name__ == "__main__":
    main()

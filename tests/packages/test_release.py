"""Releases of packages: provenance, checksums and signature, of a small repository."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "packaging" / "release.py"
pytestmark = pytest.mark.skipif(not shutil.which("minisign"), reason="needs minisign")


def run(*command, cwd):
    return subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def source(tmp_path):
    """A repository that is tagged, its packages and a key."""
    root = tmp_path / "source"
    (root / "packaging").mkdir(parents=True)
    shutil.copy(SCRIPT, root / "packaging")
    (root / "VERSION").write_text("0.1.0\n")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first"],
        ["tag", "v0.1.0"],
    ):
        assert run("git", *words, cwd=root).returncode == 0
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "tarn_0.1.0_amd64.deb").write_bytes(b"deb")
    (packages / "tarn_0.1.0.cdx.json").write_text("{}\n")
    assert run("minisign", "-G", "-W", "-p", tmp_path / "public", "-s", tmp_path / "secret", cwd=tmp_path).returncode == 0
    return root


def release(source):
    return run(
        *(sys.executable, source / "packaging" / "release.py"),
        *("--packages", source.parent / "packages", "--key", source.parent / "secret"),
        cwd=source,
    )


def verified(source):
    packages = source.parent / "packages"
    signed = run("minisign", "-V", "-p", source.parent / "public", "-m", "SHA256SUMS", cwd=packages).returncode == 0
    return signed and run("sha256sum", "-c", "--strict", "SHA256SUMS", cwd=packages).returncode == 0


def contents(source):
    return {path.name: path.read_bytes() for path in (source.parent / "packages").iterdir()}


def test_a_release_is_complete_and_the_same_when_it_is_made_again(source):
    assert release(source).returncode == 0
    assert verified(source)
    first = contents(source)
    assert {line.split()[1] for line in first["SHA256SUMS"].decode().splitlines()} == set(first) - {
        "SHA256SUMS",
        "SHA256SUMS.minisig",
    }
    statement = json.loads(first["tarn_0.1.0.intoto.json"])
    assert {part["name"] for part in statement["subject"]} == {"tarn_0.1.0_amd64.deb", "tarn_0.1.0.cdx.json"}
    commit = run("git", "rev-parse", "HEAD", cwd=source).stdout.strip()
    assert statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"] == {"gitCommit": commit}
    assert release(source).returncode == 0
    assert contents(source) == first


@pytest.mark.parametrize("name", ["tarn_0.1.0_amd64.deb", "SHA256SUMS", "tarn_0.1.0.intoto.json"])
def test_a_changed_file_is_noticed(source, name):
    assert release(source).returncode == 0
    path = source.parent / "packages" / name
    path.write_bytes(path.read_bytes() + b"\n")
    assert not verified(source)


@pytest.mark.parametrize("fault", ["no tag", "a changed file", "a new file", "packages of another commit"])
def test_only_a_tagged_commit_is_released(source, fault):
    if fault == "no tag":
        run("git", "tag", "-d", "v0.1.0", cwd=source)
    elif fault == "a changed file":
        with (source / "packaging" / "release.py").open("a") as file:
            file.write("\n")
    elif fault == "a new file":
        (source / "new").touch()
    else:
        (source.parent / "packages" / "tarn_0.1.0~dev7_amd64.deb").touch()
    assert release(source).returncode != 0
    assert "SHA256SUMS" not in contents(source)

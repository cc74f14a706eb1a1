"""The alert rules and the dashboard of packaging/monitoring, and the series that their expressions select."""

import json
import re

import clients
import requests
import servers
import yaml

PLACE = servers.ROOT / "packaging" / "monitoring"
RULES = PLACE / "tarn.rules.yaml"
DASHBOARD = PLACE / "tarn.dashboard.json"
SELECTOR = re.compile(r"\b(up|(?:tarn|process)_\w+)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? ", re.MULTILINE)


def rules():
    """{alert: expression}"""
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def queries():
    """{title of a panel and letter of the query: expression}, with Grafana's variables replaced."""
    out = {}
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$instance", ".*").replace("$__rate_interval", "10s").replace("$__range", "1m")
            assert "$" not in text, text
            out[f"{panel['title']} {target['refId']}"] = text
    return out


def selectors(expression):
    """[(name, [(label, operator, value)])] of the series that an expression reads."""
    return [(name, MATCHER.findall(labels)) for name, labels in SELECTOR.findall(expression)]


def samples(text):
    """[(name, labels)] of the samples in the text of /metrics."""
    return [(name, dict(re.findall(r'(\w+)="([^"]*)"', labels))) for name, labels in SAMPLE.findall(text)]


def selects(selector, sample):
    """Whether a scraped sample is of the selector; the scrape itself adds the labels job and instance."""
    name, matchers = selector
    labels = {"job": "tarn", "instance": "127.0.0.1:8000", **sample[1]}
    tests = {
        "=": lambda value, wanted: value == wanted,
        "!=": lambda value, wanted: value != wanted,
        "=~": lambda value, wanted: re.fullmatch(wanted, value),
    }
    return name == sample[0] and all(tests[operator](labels.get(label, ""), wanted) for label, operator, wanted in matchers)


def use(server, repository):
    """Requests of each kind that the dashboard shows, two of which are refused."""
    rest, s3 = clients.Rest(server), clients.boto3_client(server)
    rest("POST", "/repositories", json={"name": repository, "storage_namespace": f"local://{repository}"}).raise_for_status()
    for number in range(3):
        s3.put_object(Bucket=repository, Key=f"main/{number}", Body=b"bytes")
        assert s3.get_object(Bucket=repository, Key=f"main/{number}")["Body"].read() == b"bytes"
    rest("POST", f"/repositories/{repository}/branches/main/commits", json={"message": "first"}).raise_for_status()
    assert rest("GET", f"/repositories/{repository}/branches/none").status_code == 404
    assert requests.get(f"{server.url}/api/v1/repositories", auth=(server.access_key, "wrong"), timeout=20).status_code == 401

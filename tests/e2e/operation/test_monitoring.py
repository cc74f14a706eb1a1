"""packaging/monitoring: its alerts and its dashboard read series that tarnd has, and the documents name each alert."""

import re
import subprocess
import time

import monitoring
import pytest
import requests
import servers

OPERATIONS = (servers.ROOT / "docs/operations.md").read_text()


@pytest.fixture
def samples(scratch_dir, initialised_data, name):
    """Of a server that was just started, then used."""
    server = servers.Tarnd(scratch_dir).copy_data_of(initialised_data).start()
    yield lambda: monitoring.samples(requests.get(f"{server.url}/metrics", timeout=20).text), server
    server.stop()


def missing(expressions, samples):
    return [
        (place, selector)
        for place, expression in expressions.items()
        for selector in monitoring.selectors(expression)
        if selector[0] != "up" and not any(monitoring.selects(selector, sample) for sample in samples)
    ]


def test_alerts_and_dashboard_read_series_that_a_used_server_has(samples, name):
    scrape, server = samples
    # Counters that count nothing yet are there: an increase from nothing to 1 would raise no alert.
    increases = {alert: text for alert, text in monitoring.rules().items() if "increase(" in text}
    assert len(increases) >= 4
    assert missing(increases, scrape()) == []
    monitoring.use(server, name)
    assert missing(monitoring.rules(), scrape()) == []
    assert missing(monitoring.queries(), scrape()) == []


def test_every_server_shows_when_the_newest_backup_was_complete(samples, scratch_dir):
    _, server = samples

    def shown():
        text = requests.get(f"{server.url}/metrics", timeout=20).text
        return {kind: float(value) for kind, value in re.findall(r'^tarn_backup_\w+{kind="(\w+)"} (.*)$', text, re.MULTILINE)}

    def backup(*options):
        words = [servers.program("tarnd"), "--backup", scratch_dir / "backups", *options, "--data", server.data_dir]
        subprocess.run(words, env=servers.clean_environment({}), capture_output=True, timeout=60, check=True)
        server.stop()  # a server reads the times at its start, then every 20 s
        server.start()
        return shown()

    assert shown() == {"objects": 0, "listing": 0}
    began = time.time()
    first = backup("--objects")
    assert began - 1 <= first["objects"] <= time.time() + 1 and first["listing"] == 0
    second = backup()
    assert second["objects"] == first["objects"] <= second["listing"]


def test_a_name_or_label_that_is_not_there_would_be_noticed():
    samples = monitoring.samples('# HELP a b\ntarn_jobs{state="queued"} 0\ntarn_read_leases 0\n')
    right = {"a": 'tarn_jobs{state="queued"} > tarn_read_leases', "b": 'tarn_jobs{state=~"que.*", job="tarn"}', "c": "up == 0"}
    assert missing(right, samples) == []
    for wrong in (
        'tarn_jobs{state="waits"}',
        "tarn_job",
        'tarn_jobs{state!="queued"}',
        'rate(tarn_read_leases{user=~"a.*"}[5m])',
    ):
        assert len(missing({"a": wrong}, samples)) == 1, wrong


def test_the_operator_finds_each_alert_in_the_documents():
    section = OPERATIONS.split("\n### Alerts\n", 1)[1].split("\n## ", 1)[0]
    named = [alert for row in re.findall(r"^\| (`Tarn.*?) \|", section, re.MULTILINE) for alert in re.findall(r"`(\w+)`", row)]
    assert named == list(monitoring.rules())

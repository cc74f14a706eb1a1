"""packaging/monitoring with the real Prometheus: each alert fires for its own fault alone, and each query of the dashboard has data."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import monitoring  # noqa: E402
import servers  # noqa: E402

# Debian's package, unpacked by ./dev test --packages; installing it would start a service.
PROGRAMS = Path(os.environ.get("TARN_PROMETHEUS", "/usr/bin"))
pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "promtool").exists(), reason=f"there is no promtool in {PROGRAMS}: apt-get install prometheus"
)

# Two hours in the life of a healthy server, a sample each minute.
HOURS = 'instance="a:1", job="tarn"'
HEALTHY = {
    'up{job="tarn", instance="a:1"}': "1x120",
    f'tarn_build_info{{version="1", {HOURS}}}': "1x120",
    f'tarn_http_requests_total{{class="2xx", {HOURS}}}': "0+600x120",
    f'tarn_http_requests_total{{class="5xx", {HOURS}}}': "0+1x120",
    f'tarn_http_refusals_total{{reason="server_full", {HOURS}}}': "0x120",
    f"tarn_object_corruption_total{{{HOURS}}}": "0x120",
    f"tarn_database_went_back{{{HOURS}}}": "0x120",
    f"tarn_lost_commits_total{{{HOURS}}}": "0x120",
    f'tarn_sql_seconds_bucket{{query="q", le="0.1", {HOURS}}}': "0+600x120",
    f'tarn_sql_seconds_bucket{{query="q", le="30", {HOURS}}}': "0+600x120",
    f'tarn_sql_seconds_bucket{{query="q", le="+Inf", {HOURS}}}': "0+600x120",
    f"tarn_database_waiting_requests{{{HOURS}}}": "0x120",
    f"tarn_store_free_bytes{{{HOURS}}}": "100000000000-10000x120",
    f"tarn_database_free_bytes{{{HOURS}}}": "100000000000-10000x120",
    f'tarn_backup_last_success_timestamp_seconds{{kind="objects", {HOURS}}}': "0x120",
    f'tarn_backup_last_success_timestamp_seconds{{kind="listing", {HOURS}}}': "0x120",
    f'tarn_jobs{{state="queued", {HOURS}}}': "3x120",
    f'tarn_jobs{{state="running", {HOURS}}}': "1x120",
    f"tarn_hook_runs_queued{{{HOURS}}}": "1x120",
    f'tarn_webhook_deliveries_total{{outcome="dead", {HOURS}}}': "0x120",
    f'tarn_gc_runs_total{{state="failed", {HOURS}}}': "0x120",
    f"tarn_clock_offset_seconds{{{HOURS}}}": "0.1x120",
    f"process_open_fds{{{HOURS}}}": "100x120",
    f"process_max_fds{{{HOURS}}}": "65536x120",
    f"process_start_time_seconds{{{HOURS}}}": "5x120",
    f'tarn_login_failures_total{{reason="wrong_secret", {HOURS}}}': "0+2x120",
}
# {alert: what differs from the healthy server}
FAULTS = {
    "TarnDown": {"up{": "1x100 0x20"},
    "TarnServerErrors": {'class="5xx"': "0+30x120"},
    "TarnRequestsRefused": {"tarn_http_refusals_total": "0+60x120"},
    "TarnObjectCorrupt": {"tarn_object_corruption_total": "0x100 1x20"},
    "TarnDatabaseWentBack": {"tarn_database_went_back": "0x119 1"},
    "TarnCommitsLost": {"tarn_lost_commits_total": "0x100 7x20"},
    "TarnDatabaseSlow": {'le="0.1"': "0+500x120"},
    "TarnDatabaseConnectionsUsedUp": {"tarn_database_waiting_requests": "4x120"},
    "TarnDiskFull": {"tarn_database_free_bytes": "4000000000x120"},
    "TarnDiskFillsUp": {"tarn_store_free_bytes": "100000000000-100000000x120"},
    "TarnBackupOld": {'kind="objects"': "-100000x120", 'kind="listing"': "-200000x120"},
    "TarnJobsWait": {'state="running"': "0x120"},
    "TarnHooksWait": {"tarn_hook_runs_queued": "70x120"},
    "TarnWebhookEventsGivenUp": {'outcome="dead"': "0x100 1x20"},
    "TarnCollectionFailed": {'state="failed"': "0x60 1x60"},
    "TarnClockDiffers": {"tarn_clock_offset_seconds": "-7x120"},
    "TarnDescriptorsUsedUp": {"process_open_fds": "60000x120"},
    "TarnRestarts": {"process_start_time_seconds": "5x100 6x5 7x5 8x10"},
    "TarnSignInsRefused": {"tarn_login_failures_total": "0+60x120"},
    "TarnVersionsDiffer": {"tarn_build_info": "1x120", 'tarn_build_info{version="2", instance="b:1", job="tarn"}': "1x120"},
}


def changed(fault):
    series = dict(HEALTHY)
    for part, values in fault.items():
        names = [name for name in HEALTHY if part in name] if not part.endswith("}") else [part]
        assert len(names) == 1, part
        series[names[0]] = values
    return series


def test_each_alert_has_a_fault():
    assert list(FAULTS) == list(monitoring.rules())


@pytest.mark.parametrize("alert", [None, *FAULTS])
def test_a_fault_raises_its_alert_alone(alert, tmp_path):
    fired = [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if alert else []
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in changed(FAULTS.get(alert, {})).items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": "120m",
                "exp_samples": fired,
            }
        ],
    }
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(monitoring.RULES)], "evaluation_interval": "1m", "tests": [case]}))
    done = subprocess.run([PROGRAMS / "promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_finds_no_fault_with_the_rules():
    done = subprocess.run(
        [PROGRAMS / "promtool", "check", "rules", monitoring.RULES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and f"{len(FAULTS)} rules found" in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def prometheus():
    """A query to a Prometheus that scrapes a server which is used."""
    place = servers.scratch_directory("monitoring")
    server = servers.Tarnd(place).start()
    port = servers.free_port()
    (place / "prometheus.yaml").write_text(
        yaml.safe_dump(
            {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(monitoring.RULES)],
                "scrape_configs": [{"job_name": "tarn", "static_configs": [{"targets": [server.listen]}]}],
            }
        )
    )
    process = servers.Process(
        [
            PROGRAMS / "prometheus",
            f"--config.file={place}/prometheus.yaml",
            f"--storage.tsdb.path={place}/tsdb",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        place / "prometheus.log",
        servers.clean_environment({}),
    )

    def ask(path, **parameters):
        answer = requests.get(f"http://127.0.0.1:{port}/api/v1/{path}", params=parameters, timeout=20).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    def is_up():
        try:
            return any(float(sample["value"][1]) == 1 for sample in ask("query", query="up")["result"])
        except requests.RequestException:
            return False

    process.wait_until(is_up, "prometheus")
    for number in range(6):  # over several scrapes, so that rates have data
        monitoring.use(server, f"lake-{number}")
        time.sleep(1)
    yield ask
    process.stop()
    server.stop()
    shutil.rmtree(place)


def test_each_query_of_the_dashboard_has_data(prometheus):
    empty = [
        place
        for place, text in monitoring.queries().items()
        if not any(sample["value"][1] != "NaN" for sample in prometheus("query", query=text)["result"])
    ]
    assert empty == []
    assert prometheus("query", query="tarn_no_such_series")["result"] == []


def test_each_rule_is_evaluated_over_series_that_are_there(prometheus):
    (group,) = prometheus("rules")["groups"]
    assert {rule["name"]: rule["health"] for rule in group["rules"]} == dict.fromkeys(FAULTS, "ok")
    for alert, text in monitoring.rules().items():
        for name, matchers in monitoring.selectors(text):
            labels = ", ".join(f'{label}{operator}"{value}"' for label, operator, value in matchers)
            assert prometheus("query", query=f"{name}{{{labels}}}")["result"], (alert, name, labels)

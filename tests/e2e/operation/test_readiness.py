"""Whether /_ready and /metrics tell the truth about the stores."""

import threading
import time

import clients
import pytest
import requests
import servers
from s3_requests import rest, signed

SECONDS = 30


def ready(server):
    answer = requests.get(server.url + "/_ready", timeout=60)
    return answer.status_code, answer.text


def becomes(server, expected):
    deadline = time.monotonic() + SECONDS
    while (now := ready(server)) != expected:
        assert time.monotonic() < deadline, now
        time.sleep(0.1)


@pytest.fixture
def store(scratch_dir):
    gateway = servers.Versitygw(scratch_dir / "versitygw")
    (gateway.buckets / "lake").mkdir()
    (gateway.buckets / "pond").mkdir()
    gateway.start()
    yield gateway
    gateway.stop()


@pytest.fixture
def server(scratch_dir, initialised_data, store):
    started = servers.Tarnd(scratch_dir / "tarnd", environment=store.tarnd_environment()).copy_data_of(initialised_data).start()
    for bucket in ("lake", "pond"):
        rest(started, "POST", "/repositories", json={"name": bucket, "storage_namespace": f"s3://{bucket}/tarn"})
    yield started
    started.stop()


def test_a_dead_store_makes_the_server_not_ready(server, store):
    assert ready(server) == (200, "ready\n")
    store.stop()
    deadline = time.monotonic() + SECONDS
    while ready(server)[0] == 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    status, text = ready(server)
    assert status == 503 and text.startswith("not ready\nstore s3://lake: ") and "\nstore s3://pond: " in text
    assert "store local" not in text
    assert "store=s3://lake" in server.process.log.read_text()


def test_a_missing_bucket_is_named(server, store):
    (store.buckets / "pond").rename(store.buckets / "elsewhere")
    becomes(server, (503, "not ready\nstore s3://pond: bucket_not_found\n"))
    (store.buckets / "elsewhere").rename(store.buckets / "pond")
    becomes(server, (200, "ready\n"))


def test_a_store_that_is_not_configured_makes_the_server_not_ready(server):
    server.stop()
    for name in list(server.environment):
        if name.startswith("TARN_STORE_S3"):
            del server.environment[name]
    server.start()
    assert ready(server) == (503, "not ready\nstore s3://lake: not_configured\nstore s3://pond: not_configured\n")
    for name in ("lake", "pond"):
        rest(server, "DELETE", f"/repositories/{name}?force=true")
    assert ready(server) == (200, "ready\n")


def test_many_probes_at_once_cost_the_store_one_look_a_second(server, store):
    def looks():
        text = requests.get(server.url + "/metrics", timeout=60).text
        return sum(
            float(line.split()[-1])
            for line in text.splitlines()
            if line.startswith("tarn_store_seconds_count") and ("s3_head" in line or "s3_stat" in line)
        )

    before, began = looks(), time.monotonic()
    threads = [threading.Thread(target=lambda: [ready(server) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began
    made = looks() - before
    # Two buckets, each with at most two requests in a look.
    assert 0 < made <= 4 * (seconds + 1), (made, seconds)


def test_an_idle_server_shows_few_series_and_what_operators_need(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    try:
        text = requests.get(server.url + "/metrics", timeout=60).text
        assert len(text.splitlines()) < 1200, len(text.splitlines())
        samples = {
            line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")
        }
        version = (servers.ROOT / "VERSION").read_text().strip()
        assert samples[f'tarn_build_info{{version="{version}"}}'] == 1
        assert 0 < samples["process_resident_memory_bytes"] < 4e9 and samples["process_open_fds"] > 5
        assert samples["process_cpu_seconds_total"] > 0 and samples["process_threads"] > 10
        assert abs(samples["process_start_time_seconds"] - time.time()) < 600
        assert samples["tarn_database_connections_max"] == 16 and 0 <= samples["tarn_database_connections_used"] <= 16
        assert samples["tarn_store_free_bytes"] > 0 and samples["tarn_database_free_bytes"] > 0
        assert {'tarn_jobs{state="queued"}', 'tarn_jobs{state="running"}', "tarn_webhook_deliveries_pending"} <= set(samples)
        assert not [name for name in samples if "listRepositories" in name]
        clients.Rest(server)("GET", "/repositories")
        signed(server, "GET", "/")
        text = requests.get(server.url + "/metrics", timeout=60).text
        assert 'tarn_http_requests_total{operation="listRepositories",status="2xx"} 1' in text
        assert 'tarn_s3_requests_total{code="OK",operation="ListBuckets"} 1' in text
    finally:
        server.stop()

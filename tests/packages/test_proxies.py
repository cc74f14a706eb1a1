"""The recipes of docs/proxy.md, each with the real proxy and TLS: only names, ports and certificates are replaced."""

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
import requests
from botocore.config import Config

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import servers  # noqa: E402

RECIPES = ROOT / "packaging" / "proxies"
MIB = 1024 * 1024
KEYS = ["plain", "a b+c%2F/ü/~!()*'", "double//slash", "dots/..here", "q?x=1&y#z"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """(certificate, key, both in one file) for localhost; it is its own authority."""
    place = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout",
            place / "key.pem",
            "-out",
            place / "cert.pem",
        ],
        check=True,
        capture_output=True,
    )
    (place / "both.pem").write_text((place / "cert.pem").read_text() + (place / "key.pem").read_text())
    return place / "cert.pem", place / "key.pem", place / "both.pem"


@pytest.fixture(scope="module")
def tarnd():
    place = servers.scratch_directory("proxies")
    port = servers.free_port()
    server = servers.Tarnd(place, environment={"TARN_HTTP_TRUSTED_PROXIES": "127.0.0.1"}, listen=f"127.0.0.1:{port}").start()
    yield server
    server.stop()
    shutil.rmtree(place)


def nginx(place, recipe, port, upstream, certificate):
    text = recipe.replace("listen 443 ssl http2", f"listen 127.0.0.1:{port} ssl http2").replace("127.0.0.1:8000", upstream)
    text = text.replace("/etc/ssl/lake.pem", str(certificate[0])).replace("/etc/ssl/lake.key", str(certificate[1]))
    text = text.replace("lake.example.com *.s3.lake.example.com", "localhost")
    user = "user root;" if os.geteuid() == 0 else ""
    (place / "nginx.conf").write_text(
        f"{user}\npid {place}/pid;\nerror_log {place}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n"
        + "".join(f"{kind}_temp_path {place}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        + text
        + "}\n"
    )
    return ["nginx", "-c", str(place / "nginx.conf"), "-g", "daemon off;"]


def haproxy(place, recipe, port, upstream, certificate):
    text = recipe.replace("bind :443", f"bind 127.0.0.1:{port}").replace("127.0.0.1:8000", upstream)
    (place / "haproxy.cfg").write_text(text.replace("/etc/ssl/lake-both.pem", str(certificate[2])))
    return ["haproxy", "-f", str(place / "haproxy.cfg"), "-db"]


def caddy(place, recipe, port, upstream, certificate):
    text = recipe.replace(
        "lake.example.com {", f"https://localhost:{port} {{\n\ttls {certificate[0]} {certificate[1]}\n\tbind 127.0.0.1"
    )
    (place / "Caddyfile").write_text(
        "{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text.replace("127.0.0.1:8000", upstream)
    )
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(place / "Caddyfile")]


PROXIES = {"nginx": (nginx, "nginx.conf"), "haproxy": (haproxy, "haproxy.cfg"), "caddy": (caddy, "Caddyfile")}


@pytest.fixture(scope="module", params=sorted(PROXIES))
def proxy(request, tarnd, certificate, tmp_path_factory):
    """The URL of a proxy that runs, with a path of the certificate."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    place = tmp_path_factory.mktemp(request.param)
    port = servers.free_port()
    make, recipe = PROXIES[request.param]
    command = make(place, (RECIPES / recipe).read_text(), port, tarnd.url.removeprefix("http://"), certificate)
    process = servers.Process(command, place / "log", {**os.environ, "HOME": str(place), "XDG_DATA_HOME": str(place)})

    def serves():
        try:
            return requests.get(f"https://localhost:{port}/_health", verify=certificate[0], timeout=5).status_code == 200
        except OSError:
            return False

    process.wait_until(serves, request.param)
    name = f"behind-{request.param}"
    over_rest(tarnd, "POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"})
    yield f"https://localhost:{port}", str(certificate[0]), name
    process.stop()


def over_rest(tarnd, method, path, url=None, verify=True, **options):
    answer = requests.request(
        method,
        (url or tarnd.url) + "/api/v1" + path,
        auth=(tarnd.access_key, tarnd.secret_key),
        verify=verify,
        timeout=60,
        **options,
    )
    assert answer.ok, answer.text
    return answer


@pytest.fixture
def s3(proxy, tarnd):
    url, authority, _ = proxy
    return boto3.client(
        "s3",
        endpoint_url=url,
        verify=authority,
        aws_access_key_id=tarnd.access_key,
        aws_secret_access_key=tarnd.secret_key,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


@pytest.mark.parametrize("key", KEYS)
def test_signed_requests_arrive_as_they_were_signed(proxy, s3, key):
    s3.put_object(Bucket=proxy[2], Key=f"main/{key}", Body=b"bytes")
    assert s3.get_object(Bucket=proxy[2], Key=f"main/{key}")["Body"].read() == b"bytes"
    assert f"main/{key}" in [item["Key"] for item in s3.list_objects_v2(Bucket=proxy[2], Prefix="main/")["Contents"]]


def test_large_objects_pass_in_both_directions(proxy, s3):
    body = os.urandom(40 * MIB)
    s3.upload_fileobj(io.BytesIO(body), proxy[2], "main/large")
    assert s3.get_object(Bucket=proxy[2], Key="main/large")["Body"].read() == body
    part = s3.get_object(Bucket=proxy[2], Key="main/large", Range="bytes=1000000-2000000")["Body"].read()
    assert part == body[1000000:2000001]


def test_a_body_of_unknown_length_passes(proxy, tarnd):
    url, authority, name = proxy
    pieces = [os.urandom(100_000) for _ in range(50)]
    over_rest(
        tarnd,
        "POST",
        f"/repositories/{name}/branches/main/objects?path=pieces",
        url,
        authority,
        data=iter(pieces),
        headers={"Content-Type": "application/octet-stream"},
    )
    read = over_rest(tarnd, "GET", f"/repositories/{name}/refs/main/objects?path=pieces", url, authority)
    assert read.content == b"".join(pieces)


def test_presigned_urls_have_the_proxys_name_and_scheme(proxy, tarnd):
    url, authority, name = proxy
    over_rest(
        tarnd,
        "POST",
        f"/repositories/{name}/branches/main/objects?path=signed",
        data=b"signed",
        headers={"Content-Type": "application/octet-stream"},
    )
    stat = over_rest(tarnd, "GET", f"/repositories/{name}/refs/main/objects/stat?path=signed&presign=true", url, authority).json()
    assert stat["physical_address"].startswith(url + "/_blocks/")
    assert requests.get(stat["physical_address"], verify=authority, timeout=60).content == b"signed"


def test_the_clients_address_is_known_and_cannot_be_chosen(proxy, tarnd):
    url, authority, _ = proxy
    answer = over_rest(tarnd, "GET", "/repositories", url, authority, headers={"X-Forwarded-For": "192.0.2.1"})
    (line,) = [
        line
        for line in tarnd.process.log.read_text().splitlines()
        if f"request_id={answer.headers['X-Request-Id']} " in line and " request " in line
    ]
    assert re.search(r"address=(\S+)", line).group(1) == "127.0.0.1"


def test_pages_of_operators_stay_inside(proxy):
    url, authority, _ = proxy
    for path in ("/metrics", "/_ready"):
        assert requests.get(url + path, verify=authority, timeout=60).status_code == 404, path
    assert requests.get(url + "/_health", verify=authority, timeout=60).text == "alive\n"

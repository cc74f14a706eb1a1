"""A real browser: a page of another origin reads and writes with presigned URLs."""

import functools
import http.server
import json
import shutil
import subprocess
import threading

import clients
import pytest
import s3_requests
import servers

CHROMIUM = (
    shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
SECONDS_MAX = 120

PAGE = """<!doctype html><body>waiting<script>
const urls = %s;
async function attempt(call) { try { return await call(); } catch (error) { return "refused"; } }
(async () => {
  const put = await attempt(() => fetch(urls.put, {method: "PUT", body: "from a page",
                                                   headers: {"Content-Type": "text/plain"}}));
  const got = await attempt(() => fetch(urls.get));
  const absent = await attempt(() => fetch(urls.absent));
  document.body.textContent = JSON.stringify({
    put: put.status || put, etag: put.headers ? put.headers.get("ETag") : null,
    got: got.text ? await got.text() : got, absent: absent.status || absent});
})();
</script></body>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def site(tmp_path):
    """The directory of a web site, and its origin."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield tmp_path, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def shown_by_browser(url, profile):
    """The JSON that the page shows when it has settled."""
    run = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=20000",
            "--dump-dom",
            url,
        ],
        capture_output=True,
        timeout=SECONDS_MAX,
        check=False,
        text=True,
    )
    text = run.stdout.rpartition("</script>")[2] or run.stdout
    begin, end = text.find("{"), text.rfind("}")
    assert begin >= 0, (run.stdout[-500:], run.stderr[-500:])
    return json.loads(text[begin : end + 1])


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here; apt-get install chromium-headless-shell")
def test_a_page_of_another_origin_uses_presigned_urls(scratch_dir, initialised_data, site):
    directory, origin = site
    server = (
        servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_S3_CORS_ALLOWED_ORIGINS": origin})
        .copy_data_of(initialised_data)
        .start()
    )
    try:
        s3_requests.rest(
            server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake", "default_branch": "main"}
        )
        s3 = clients.boto3_client(server, signature_version="s3v4")

        def url(method, key, **more):
            return s3.generate_presigned_url(method, Params={"Bucket": "lake", "Key": key, **more})

        (directory / "page.html").write_text(
            PAGE
            % json.dumps(
                {
                    "put": url("put_object", "main/page", ContentType="text/plain"),
                    "get": url("get_object", "main/page"),
                    "absent": url("get_object", "main/absent"),
                }
            )
        )
        shown = shown_by_browser(f"{origin}/page.html", scratch_dir / "profile")
        stored = s3.get_object(Bucket="lake", Key="main/page")
        assert stored["Body"].read() == b"from a page"
        assert shown == {"put": 200, "etag": stored["ETag"], "got": "from a page", "absent": 404}
        # The same page from an origin that is not allowed reads and writes nothing.
        s3.delete_object(Bucket="lake", Key="main/page")
        elsewhere = origin.replace("127.0.0.1", "localhost")
        shown = shown_by_browser(f"{elsewhere}/page.html", scratch_dir / "profile")
        assert shown == {"put": "refused", "etag": None, "got": "refused", "absent": "refused"}
        assert "Contents" not in s3.list_objects_v2(Bucket="lake", Prefix="main/")
    finally:
        server.stop()

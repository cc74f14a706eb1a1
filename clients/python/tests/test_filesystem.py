"""tarn:// paths against servers of the tests' own; those with a real one are in tests/e2e/sdk/test_tarn_paths.py."""

import contextlib
import http.server
import io
import json
import ssl
import subprocess
import tarfile
import threading
import urllib.parse

import pytest
from tarn_data import transport
from tarn_data.filesystem import TarnFileSystem


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        self.answer(path, dict(urllib.parse.parse_qsl(query)), content)

    do_POST = do_GET

    def say(self, body, size=None):
        self.send_response(200)
        self.send_header("Content-Length", str(size or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(answer, certificate=None):
    """A file system at a server that answers so; `certificate`: files of it and its key, for https."""
    handler = type("Answering", (Handler,), {"answer": answer})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"
        yield TarnFileSystem(endpoint=endpoint, access_key="k", secret_key="s", skip_instance_cache=True)
        server.shutdown()


STATS = {"path": "x", "size_bytes": 1, "checksum": "c", "mtime": 1}


@pytest.mark.parametrize("operation", ["put", "cat", "info"])
def test_requests_are_sent_in_parallel(operation, tmp_path):
    """Each answer waits for the other requests."""
    together = threading.Barrier(8, timeout=10)

    def answer(self, path, query, content):
        together.wait()
        self.say(json.dumps(STATS).encode())

    with serving(answer) as fs:
        paths = [f"lake/main/{number}" for number in range(8)]
        for number in range(8):
            (tmp_path / str(number)).write_bytes(b"x")
        if operation == "put":
            fs.put([str(tmp_path / str(number)) for number in range(8)], paths)
        elif operation == "cat":
            assert len(fs.cat(paths)) == 8
        else:
            assert fs.sizes(paths) == [1] * 8


def archive_of(paths, content_of):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in paths:
            member = tarfile.TarInfo(path)
            member.size = len(content_of(path))
            archive.addfile(member, io.BytesIO(content_of(path)))
    return out.getvalue()


@pytest.mark.parametrize("broken", ["cut", "garbage", "refused"])
def test_what_a_broken_archive_did_not_bring_is_fetched_alone(broken, tmp_path):
    def content_of(path):
        return path.encode() * 100

    archives, singles = [], []

    def answer(self, path, query, content):
        if path.endswith("/objects"):
            singles.append(query["path"])
            self.say(content_of(query["path"]))
            return
        paths = json.loads(content)["paths"]
        archives.append(paths)
        whole = archive_of(paths, content_of)
        if broken == "refused":
            self.send_response(400)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif broken == "garbage":
            self.say(whole[:10240] + b"\xff" * (len(whole) - 10240))
        else:
            self.say(whole[:10240], size=len(whole))
            self.close_connection = True

    with serving(answer) as fs:
        keys = [f"d/{number}" for number in range(40)]
        assert fs.cat([f"lake/main/{key}" for key in keys]) == {f"lake/main/{key}": content_of(key) for key in keys}
        assert archives == [sorted(keys)]
        brought = 0 if broken == "refused" else 10
        assert len(singles) == len(set(singles)) == 40 - brought
        fs.get([f"lake/main/{key}" for key in keys], [str(tmp_path / key) for key in keys])
        assert {key: (tmp_path / key).read_bytes() for key in keys} == {key: content_of(key) for key in keys}


def test_a_download_that_breaks_begins_again(tmp_path):
    cuts = []

    def answer(self, path, query, content):
        if not cuts:
            cuts.append(path)
            self.say(b"ha", size=4)
            self.close_connection = True
        else:
            self.say(b"whole")

    with serving(answer) as fs:
        fs.get_file("lake/main/a", str(tmp_path / "a"))
        assert (tmp_path / "a").read_bytes() == b"whole"
        cuts.clear()
        assert fs.cat("lake/main/a") == b"whole"


def test_half_a_file_is_not_left(tmp_path, monkeypatch):
    monkeypatch.setattr(transport, "RETRY_SECONDS", 0.5)

    def answer(self, path, query, content):
        self.say(b"half", size=8)
        self.close_connection = True

    with serving(answer) as fs:
        with pytest.raises(OSError, match="tried"):
            fs.get_file("lake/main/a", str(tmp_path / "a"))
        assert not (tmp_path / "a").exists()


def test_certificates_and_netrc_count_as_for_requests(tmp_path, monkeypatch):
    """An authority that REQUESTS_CA_BUNDLE names is trusted, others are not; keys of a netrc file do not win."""
    seen = []

    def answer(self, path, query, content):
        seen.append(self.headers["Authorization"])
        self.say(b"x")

    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    words += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-out", "own.pem", "-keyout", "own.key"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login other password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with serving(answer, (tmp_path / "own.pem", tmp_path / "own.key")) as fs:
        with pytest.raises(OSError, match=r"(?i)certificate"):
            fs.cat("lake/main/a")
        assert seen == []
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "own.pem"))
        assert type(fs)(*fs.storage_args, **fs.storage_options).cat("lake/main/a") == b"x"
        assert seen == ["Basic azpz"]

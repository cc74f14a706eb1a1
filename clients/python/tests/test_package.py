"""Tests of the package without a server; those with one are in tests/e2e/sdk/test_python_package.py."""

import http.server
import json
import math
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest
import tarn_data as tarn
from tarn_data import transport
from tarn_data.filesystem import TarnFileSystem
from tarn_data.numbers import from_json, metric_number, to_json
from tarn_data.promotions import Promotion
from tarn_data.runs import _param_value
from tarn_data.settings import load_settings
from tarn_data.tables import _columns
from tarn_data.transport import Server, list_of_refs, repository_name

PACKAGE = Path(__file__).resolve().parents[1]


def test_every_file_that_names_the_version_names_the_same():
    version = (PACKAGE.parents[1] / "VERSION").read_text().strip()
    assert tarn.__version__ == version
    assert f'\nversion = "{version}"\n' in (PACKAGE / "pyproject.toml").read_text()


def test_types_are_whole():
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir=/dev/null"], cwd=PACKAGE, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("value, text", [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
def test_what_is_not_finite_travels_as_words(value, text):
    assert to_json(value) == text
    back = from_json(text)
    assert back == value or (math.isnan(back) and math.isnan(value))


def test_metrics_are_numbers():
    assert metric_number("m", numpy.float32(0.5)) == 0.5
    assert metric_number("m", numpy.array([3])[0]) == 3.0
    assert metric_number("m", 10**20) == 1e20
    for wrong in (True, "0.5", None, [0.5], {}, 10**400):
        with pytest.raises(TypeError, match="metric m"):
            metric_number("m", wrong)


def test_params_keep_their_values():
    given = {
        "s": "x",
        "b": True,
        "i": 3,
        "f": 0.1,
        "big": 2**60,
        "nan": math.nan,
        "none": None,
        "list": [1, "a"],
        "np": numpy.int64(7),
        "path": Path("a/b"),
    }
    kept = {name: _param_value(value) for name, value in given.items()}
    assert kept == {
        "s": "x",
        "b": True,
        "i": 3,
        "f": 0.1,
        "big": str(2**60),
        "nan": "NaN",
        "none": "None",
        "list": '[1, "a"]',
        "np": 7,
        "path": "a/b",
    }
    json.dumps(kept, allow_nan=False)


def test_settings_in_the_order_of_the_command(tmp_path):
    lakectl = tmp_path / ".lakectl.yaml"
    lakectl.write_text("server:\n  endpoint_url: http://old:1/api/v1\ncredentials:\n  access_key_id: k\n  secret_access_key: s\n")
    home = {"HOME": str(tmp_path)}
    found = load_settings(home)
    assert (found.endpoint, found.access_key, found.secret_key) == ("http://old:1", "k", "s")
    own = tmp_path / ".config" / "tarn" / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("endpoint: http://own:2\naccess_key: ok\nrepo: lake\n")
    found = load_settings(home)
    assert (found.endpoint, found.access_key, found.secret_key, found.repo) == ("http://own:2", "ok", "", "lake")
    lakefs = {**home, "LAKEFS_ENDPOINT": "fs:4/", "LAKEFS_ACCESS_KEY_ID": "fk", "LAKEFS_SECRET_ACCESS_KEY": "fs"}
    assert load_settings(lakefs).endpoint == "http://fs:4"
    assert load_settings(lakefs).secret_key == "fs"
    older = {**lakefs, "LAKECTL_SERVER_ENDPOINT_URL": "http://ctl:3"}
    assert load_settings(older).endpoint == "http://ctl:3"
    ours = {**older, "TARN_ENDPOINT": "https://ours", "TARN_TOKEN": "t", "TARN_REPO": ""}
    assert (load_settings(ours).endpoint, load_settings(ours).repo) == ("https://ours", "lake")
    assert load_settings(ours, endpoint="http://given", repo="r").endpoint == "http://given"
    assert load_settings({**home, "TARN_CONFIG": str(tmp_path / "absent")}).endpoint == "http://127.0.0.1:8000"
    own.write_text("just text")
    with pytest.raises(tarn.NotConfigured, match=r"config\.yaml"):
        load_settings(home)
    with pytest.raises(tarn.NotConfigured, match="not one of"):
        load_settings(home, endpont="x")


def test_secrets_are_not_printed():
    settings = load_settings({"HOME": "/nonexistent", "TARN_SECRET_KEY": "hidden", "TARN_TOKEN": "also"})
    assert "hidden" not in repr(settings) and "also" not in repr(settings)


def test_without_keys_it_says_which_to_set():
    server = Server(load_settings({"HOME": "/nonexistent"}))
    with pytest.raises(tarn.NotConfigured, match="TARN_ACCESS_KEY"):
        server.call("GET", "repositories")
    with pytest.raises(tarn.NotConfigured, match="TARN_REPO"):
        repository_name(server, None)
    assert repository_name(server, "tarn://lake/") == "lake"


def test_a_server_can_be_handed_to_other_processes():
    server = Server(load_settings({"HOME": "/nonexistent", "TARN_ENDPOINT": "http://x", "TARN_TOKEN": "t"}))
    assert pickle.loads(pickle.dumps(server)).settings == server.settings


def test_columns_of_a_comparison():
    first = {"name": "a", "goal": "max", "primary": True}
    assert _columns({"a": "max", "b": "min"}) == [first, {"name": "b", "goal": "min"}]
    assert _columns(["a:max", "b"]) == [first, {"name": "b"}]
    assert _columns("val:loss:min") == [{"name": "val:loss", "goal": "min", "primary": True}]
    assert _columns(["val:loss"]) == [{"name": "val:loss"}]
    assert _columns([{"name": "b", "goal": "min", "primary": True}, "a:max"]) == [
        {"name": "b", "goal": "min", "primary": True},
        {"name": "a", "goal": "max"},
    ]
    with pytest.raises(ValueError, match="must be max or min"):
        _columns({"a": "more"})
    assert list_of_refs("exp-*") == ["exp-*"]
    with pytest.raises(ValueError, match="candidates"):
        list_of_refs([])


@pytest.mark.parametrize(
    "state, code, error",
    [
        ("rejected", "gate_failed", tarn.GateFailed),
        ("rejected", "check_timeout", tarn.GateFailed),
        ("rejected", "", tarn.GateFailed),
        ("rejected", "metric_missing", tarn.MetricMissing),
        ("failed", "destination_moved", tarn.DestinationMoved),
        ("failed", "merge_conflict", tarn.MergeConflict),
        ("failed", "destination_dirty", tarn.MergeConflict),
        ("failed", "hook_failed", tarn.HookFailed),
        ("cancelled", "cancelled", tarn.Cancelled),
        ("failed", "tag_exists", tarn.PromotionError),
    ],
)
def test_every_end_of_a_promotion_has_its_error(state, code, error):
    server = Server(load_settings({"HOME": "/nonexistent"}))
    rules = [
        {"rule": "metrics.a.min", "outcome": "fail", "reason": "too low", "code": "below_min"},
        {"rule": "metrics.a", "outcome": "pass", "reason": "there"},
    ]
    ended = Promotion(
        server,
        "lake",
        {
            "id": "p",
            "state": state,
            "code": code,
            "message": "why",
            "evidence": {"candidates": [{"ref": "exp-1", "rules": rules}]},
        },
    )
    with pytest.raises(tarn.PromotionError, match=r"promotion p: .*why") as caught:
        ended.wait()
    assert type(caught.value) is error
    assert caught.value.code == code and caught.value.promotion is ended
    assert [str(reason) for reason in caught.value.reasons] == ["exp-1: metrics.a.min: too low"]


ANSWERS = [  # status, code, error, requests for a GET, for a POST
    (423, "branch_locked", tarn.Unavailable, 3, 3),
    (429, "", tarn.Unavailable, 3, 3),
    (429, "too_many_uploads", tarn.LimitReached, 1, 1),
    (429, "too_many_failures", tarn.NotAllowed, 1, 1),
    (413, "body_too_large", tarn.LimitReached, 1, 1),
    (502, "", tarn.Unavailable, 3, 1),
    (503, "overloaded", tarn.Unavailable, 3, 3),
    (503, "in_doubt", tarn.Unavailable, 3, 1),
    (504, "", tarn.Unavailable, 3, 1),
    (507, "quota_exceeded", tarn.LimitReached, 1, 1),
    (507, "store_full", tarn.LimitReached, 1, 1),
]


@pytest.mark.parametrize("status, code, error, gets, posts", ANSWERS)
def test_what_may_succeed_later_and_was_not_done_is_repeated(status, code, error, gets, posts, monkeypatch):
    asked = []

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.command)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.send_header("X-Tarn-Error", code)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_):
            pass

    monkeypatch.setattr(transport, "RETRY_SECONDS", 0.25)
    monkeypatch.setattr(transport, "FIRST_PAUSE_SECONDS", 0.05)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        one = Server(load_settings(endpoint=f"http://127.0.0.1:{server.server_address[1]}", access_key="k", secret_key="s"))
        for method, times in (("GET", gets), ("POST", posts)):
            asked.clear()
            with pytest.raises(error) as caught:
                one.request(method, "x")
            assert type(caught.value) is error and caught.value.code == code
            assert len(asked) == times if times == 1 else len(asked) > 1, (method, asked)
        server.shutdown()


def test_an_address_without_a_server_is_given_up_soon_and_a_server_that_restarts_is_not(monkeypatch):
    class Answering(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        known = Server(load_settings(endpoint=endpoint, access_key="k", secret_key="s"))
        known.call("GET", "x")
        server.shutdown()
    began = time.monotonic()
    with pytest.raises(tarn.Unavailable, match=rf"{endpoint}, tried 4 times in [12]\.\d s: is TARN_ENDPOINT right"):
        Server(known.settings).call("POST", "x")
    assert time.monotonic() - began < 3
    monkeypatch.setattr(transport, "RETRY_SECONDS", 3.5)
    with pytest.raises(tarn.Unavailable, match="tried 5 times"):
        known.call("GET", "x")


def test_paths():
    assert TarnFileSystem._strip_protocol("tarn://lake/@champion/a/b.parquet") == "lake/@champion/a/b.parquet"
    assert TarnFileSystem._strip_protocol(["lakefs://lake/main/"]) == ["lake/main"]
    fs = TarnFileSystem(endpoint="http://127.0.0.1:9", access_key="k", secret_key="s")
    with pytest.raises(ValueError, match="tarn://repository/ref/path"):
        fs.open("tarn://lake/main", "rb")
    with pytest.raises(ValueError, match="mode 'ab'"):
        fs.open("tarn://lake/main/a", "ab")

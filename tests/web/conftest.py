"""Fixtures: a server for each file of tests, empty at its start, and windows of a real browser."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import browser as browsers
import clients
import left_to_ci
import outcome
import python_gc
import servers
from playwright.sync_api import sync_playwright

for name in list(os.environ):
    if name.startswith(("AWS_", "LAKECTL_", "LAKEFS_")) or name in ("TARN_ENDPOINT", "TARN_ACCESS_KEY", "TARN_CONFIG"):
        del os.environ[name]


def pytest_addoption(parser):
    parser.addoption("--screenshots", action="store_true", help="take the pictures of docs/images again")


# By the time that they take. Long files begin first: one that begins last leaves the other processes idle.
LONGEST_FILES = [
    f"test_{name}.py"
    for name in (
        "waiting",
        "sql",
        "preview",
        "whole_experiment",
        "promotion",
        "operations",
        "automation",
        "objects",
        "connect",
        "settings",
        "experiments",
        "hostile",
        "refs",
        "shell",
        "repositories",
        "login",
        "stale_branches",
        "changes",
        "access",
        "history",
        "reader",
    )
]


def pytest_collection_modifyitems(items):
    left_to_ci.leave(items)
    place = {name: number for number, name in enumerate(LONGEST_FILES)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


def pytest_collection_finish():
    python_gc.spare_modules()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file's tests stay together, on their server."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False  # as sorted above, instead of by the number of tests
    return LoadFileScheduling(config, log)


@pytest.fixture(scope="session")
def session_scratch():
    directory = servers.scratch_directory("web")
    yield directory
    if os.environ.get("TARN_TEST_KEEP") == "1":
        print(f"\nkept {directory}", file=sys.stderr)
    else:
        subprocess.run(["rm", "-rf", str(directory)], check=True)


@pytest.fixture(scope="session")
def initialised_data(session_scratch):
    """The data directory of a stopped, empty server: a copy of it starts in a fraction of the time."""
    server = servers.Tarnd(session_scratch / "template").start()
    server.stop()
    return server.data_dir


@pytest.fixture(scope="session")
def server_address():
    """Of the servers of this process, one after the other, so that the browser keeps the scripts of the page and their code."""
    return f"127.0.0.1:{servers.free_port()}"


@pytest.fixture(scope="module")
def tarn(request, session_scratch, initialised_data, server_address):
    """With the settings that the file has in ENVIRONMENT."""
    directory = session_scratch / request.module.__name__
    server = servers.Tarnd(directory, environment=getattr(request.module, "ENVIRONMENT", None), listen=server_address)
    server.copy_data_of(initialised_data).start()
    yield server
    server.stop()


@pytest.fixture
def rest(tarn):
    """The REST API, for preparing things and for looking at the outcome."""
    return outcome.Outcome(tarn)


@pytest.fixture
def s3(tarn):
    return clients.boto3_client(tarn)


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        opened = browsers.launch(playwright)
        yield opened
        opened.close()


@pytest.fixture
def open_window(request, chromium, tarn):
    """Opens windows without a session. At the end none may have logged an error or asked another host."""
    made = []

    def open_one(**options):
        window = browsers.Window(chromium, tarn, screenshots=request.config.getoption("--screenshots"), **options)
        made.append(window)
        return window

    yield open_one
    problems = [problem for window in made for problem in window.unexpected_problems()]
    for window in made:
        window.close()
    assert not problems, "\n".join(problems)


@pytest.fixture(scope="session")
def window_of_process(chromium):
    """At most one."""
    kept = []
    yield kept
    for window in kept:
        window.close()


@pytest.fixture(scope="module")
def kept_windows(window_of_process, tarn):
    yield window_of_process
    for window in window_of_process:
        window.leave()


@pytest.fixture
def window(request, chromium, tarn, kept_windows):
    """A window of the administrator. It goes on to the next test, whose page then is not loaded again, or for a third of the processor time.

    Tests that change more than Window.reset() takes back have one of their own, of open_window: a clock, scripts that run first.
    """
    failures = request.session.testsfailed
    made = (
        kept_windows.pop()
        if kept_windows
        else browsers.Window(chromium, tarn, screenshots=request.config.getoption("--screenshots"))
    )
    made.begin(tarn)
    yield made
    problems = made.unexpected_problems()
    if request.session.testsfailed == failures and not problems and made.reset():
        kept_windows.append(made)
    else:
        made.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def page(window):
    return window.page

"""The package of clients/python, installed by pip in a directory of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from servers import ROOT

PACKAGE = ROOT / "clients" / "python"


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The package as pip installs it, in a directory of its own."""
    place = tmp_path_factory.mktemp("site")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-index",
            "--no-deps",
            "--no-build-isolation",
            "--no-compile",
            "--target",
            str(place),
            str(PACKAGE),
        ],
        check=True,
        capture_output=True,
    )
    assert (place / "tarn_data" / "py.typed").exists()
    sys.path.insert(0, str(place))
    yield place
    sys.path.remove(str(place))


@pytest.fixture
def package_settings(tarn, repo, tmp_path):
    return {
        "TARN_ENDPOINT": tarn.url,
        "TARN_ACCESS_KEY": tarn.access_key,
        "TARN_SECRET_KEY": tarn.secret_key,
        "TARN_REPO": repo.id,
        "HOME": str(tmp_path),
    }


@pytest.fixture
def package(installed, package_settings, monkeypatch):
    """The module, which finds `repo` on `tarn` by its environment."""
    for name, value in package_settings.items():
        monkeypatch.setenv(name, value)
    import tarn_data as module

    assert Path(module.__file__).parent.parent == installed
    return module

"""The package of clients/python, installed by pip in a directory of its own."""

import subprocess
import sys

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

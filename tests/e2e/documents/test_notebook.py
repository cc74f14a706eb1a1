"""The notebook of docs/notebooks, run by Jupyter with the Python package as pip installs it."""

import json
import sys
import uuid

import pytest
from servers import ROOT

NOTEBOOK = ROOT / "docs" / "notebooks" / "promotion.ipynb"
NOTEBOOK_SECONDS = 120


@pytest.fixture
def notebook_settings(tarn, tmp_path, installed, client, monkeypatch):
    """The notebook makes its own repository, of this name."""
    name = f"wines-{uuid.uuid4().hex[:12]}"
    for key, value in {
        "TARN_ENDPOINT": tarn.url,
        "TARN_ACCESS_KEY": tarn.access_key,
        "TARN_SECRET_KEY": tarn.secret_key,
        "TARN_REPO": name,
        "HOME": str(tmp_path),
        "PYTHONPATH": str(installed),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_DATA_DIR": str(tmp_path / "jupyter"),
    }.items():
        monkeypatch.setenv(key, value)
    return name


def test_the_notebook_runs(notebook_settings, client, tmp_path):
    import lakefs
    import nbclient
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    # The kernel of this interpreter, whatever the machine has registered.
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(
        json.dumps(
            {
                "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": "Python 3",
                "language": "python",
            }
        )
    )
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(kernel.parent)]))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs of one run are not kept in the repository"
    nbclient.NotebookClient(
        notebook, km=manager, timeout=NOTEBOOK_SECONDS, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    repo = lakefs.repository(notebook_settings, client=client)
    messages = [commit.message for commit in repo.ref("main").log(max_amount=20)]
    assert any("evert" in message or "oll" in message for message in messages), messages
    text = json.dumps(notebook)
    assert "below_min" in text and "promoted" in text

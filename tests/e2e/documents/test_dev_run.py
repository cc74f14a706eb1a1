"""`./dev run` on what `./dev demo` left, and `./dev demo` while it runs."""

import subprocess
import sys

import clients
import lakefs
import servers

# The server alone: the programs are built.
SERVE = """source .ci/dev/common.sh
source .ci/dev/run.sh
build_programs() { :; }
dev_run -- --listen 127.0.0.1:0 --ready-file "$READY"
"""


def test_images_that_the_demo_imported_can_be_read(scratch_dir, initialised_data):
    demo = servers.Tarnd(scratch_dir / "x-demo" / "tarnd").copy_data_of(initialised_data).start()
    try:
        source = demo.import_root / "digits"
        source.mkdir()
        (source / "0.png").write_bytes(b"an image")
        repo = lakefs.repository("digits", client=clients.lakefs_client(demo)).create(storage_namespace="local://digits")
        importer = repo.branch("main").import_data(commit_message="Import the digits")
        assert importer.prefix(f"local://{source}/", destination="raw/").run().completed
    finally:
        demo.stop()

    demo.ready_file.unlink(missing_ok=True)
    environment = servers.clean_environment({"ROOT": servers.ROOT, "TARN_SCRATCH": scratch_dir / "x", "READY": demo.ready_file})
    served = servers.Process(
        ["bash", "-euo", "pipefail", "-c", f"cd {servers.ROOT}\n{SERVE}"], scratch_dir / "run.log", environment
    )
    try:
        served.wait_until(demo.ready_file.exists, "./dev run")
        demo.url = demo.ready_file.read_text().strip()
        again = lakefs.repository("digits", client=clients.lakefs_client(demo))
        assert again.branch("main").object("raw/0.png").reader(mode="rb").read() == b"an image"
    finally:
        assert served.stop() == 0


def test_the_demo_refuses_to_remove_the_data_of_a_running_server(scratch_dir, initialised_data):
    served = servers.Tarnd(scratch_dir / "demo" / "tarnd").copy_data_of(initialised_data).start()
    try:
        client = clients.lakefs_client(served)
        lakefs.repository("mine", client=client).create(storage_namespace="local://mine")
        demo = subprocess.run(
            [sys.executable, servers.ROOT / "tests/demo/digits_demo.py", "--directory", scratch_dir / "demo"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert demo.returncode == 1
        assert "stop that server first" in demo.stderr
        assert lakefs.repository("mine", client=client).metadata == {}
    finally:
        served.stop()

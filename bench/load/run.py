"""Starts a tarnd with an import source of a million empty files and lets load_bench drive it."""

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import servers

DIRECTORIES = 1_000
FILES_EACH = 1_000


def main():
    directory = servers.scratch_directory("bench")
    server = servers.Tarnd(directory)
    try:
        for folder in range(DIRECTORIES):
            path = server.import_root / "big" / f"d{folder:03}"
            path.mkdir(parents=True)
            for file in range(FILES_EACH):
                (path / f"f{file:03}").touch()
        server.start()
        subprocess.run(
            [
                servers.program("load_bench"),
                "--url",
                server.url,
                "--key",
                server.access_key,
                "--secret",
                server.secret_key,
                "--import-url",
                f"local://{server.import_root}/big/",
            ],
            check=True,
        )
        server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

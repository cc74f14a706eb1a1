"""A tarnd with its own PostgreSQL on disk, as it is installed, whose memory and space can be asked for."""

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import clients
import servers


class MeasuredServer:
    def __init__(self, name, **environment):
        self.directory = servers.scratch_directory(name, on_disk=True)
        self.directory.chmod(0o755)
        self.tarnd = servers.Tarnd(self.directory / "tarnd", environment=environment)

    def __enter__(self):
        self.tarnd.start()
        self.rest = clients.Rest(self.tarnd)
        return self

    def __exit__(self, *_):
        if self.tarnd.alive():
            self.tarnd.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def ask(self, want, method, path, **options):
        """The answer to a request that must have the status `want`."""
        answer = self.rest(method, path, **options)
        if answer.status_code != want:
            sys.exit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer

    def make_repository(self, name):
        self.ask(201, "POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"})

    def sql(self, statement):
        """The rows of its answer, columns with commas between them."""
        file = next(self.tarnd.data_dir.glob("pg/*/postmaster.pid")).read_text().splitlines()
        command = [
            "psql",
            "-X",
            "-A",
            "-t",
            "-q",
            "-F",
            ",",
            "-h",
            file[4],
            "-p",
            file[3],
            "-U",
            "postgres",
            "-d",
            "postgres",
            "-c",
            statement,
        ]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    def database_bytes(self):
        return int(self.sql("SELECT pg_database_size(current_database())")[0])

    def wal_bytes(self):
        return int(self.sql("SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint")[0])

    def forget_peak(self):
        Path(f"/proc/{self.tarnd.process.pid}/clear_refs").write_text("5")

    def peak_bytes(self):
        """Memory of the server itself since forget_peak(); PostgreSQL's is its own."""
        status = Path(f"/proc/{self.tarnd.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

"""Starts a tarnd with two users and lets fairness_bench be both."""

import base64
import json
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import servers

REPOSITORY = "fairness"
OBJECT_BYTES = 1024
USER = "paced"


def ask(server, method, path, body=None, content_type="application/json"):
    keys = base64.b64encode(f"{server.access_key}:{server.secret_key}".encode()).decode()
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        server.url + "/api/v1" + path,
        data=data,
        method=method,
        headers={"Authorization": "Basic " + keys, "Content-Type": content_type},
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
        return json.loads(text) if text else None


def main(seconds):
    directory = servers.scratch_directory("fairness")
    server = servers.Tarnd(directory, environment=dict(SETTINGS))
    try:
        server.start()
        ask(server, "POST", "/repositories", {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"})
        ask(
            server,
            "POST",
            f"/repositories/{REPOSITORY}/branches/main/objects?path=k",
            b"x" * OBJECT_BYTES,
            "application/octet-stream",
        )
        ask(server, "POST", "/auth/users", {"id": USER})
        ask(server, "PUT", f"/auth/groups/Admins/members/{USER}")
        keys = ask(server, "POST", f"/auth/users/{USER}/credentials")
        subprocess.run(
            [
                servers.program("fairness_bench"),
                "--port",
                server.url.rsplit(":", 1)[1],
                "--path",
                f"/{REPOSITORY}/main/k",
                "--busy-key",
                server.access_key,
                "--busy-secret",
                server.secret_key,
                "--paced-key",
                keys["access_key_id"],
                "--paced-secret",
                keys["secret_access_key"],
                "--seconds",
                seconds,
            ],
            check=True,
        )
        server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


# More arguments are settings of the server: TARN_HTTP_CONTENDED_WORKERS=64 takes the protection out.
SETTINGS = [setting.split("=", 1) for setting in sys.argv[2:]]

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "5")

"""The `tarn` command, run as scripts run it."""

import json
import subprocess
from types import SimpleNamespace

import servers


class Cli:
    """Runs the command with an environment of its own."""

    def __init__(self, tarn, home, repo=None):
        self.environment = servers.clean_environment(
            {
                "HOME": home,
                "TARN_ENDPOINT": tarn.url,
                "TARN_ACCESS_KEY": tarn.access_key,
                "TARN_SECRET_KEY": tarn.secret_key,
                **({"TARN_REPO": repo} if repo else {}),
            }
        )
        self.environment.pop("XDG_CONFIG_HOME", None)
        self.environment.pop("CI", None)

    def run(self, *words, status=0, stdin=None, cwd=None, below=(), **environment):
        """Returns stdout and stderr after checking the exit status; `below`: a command that runs it."""
        ended = subprocess.run(
            [*below, servers.program("tarn"), *map(str, words)],
            env={**self.environment, **environment},
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            cwd=cwd,
            check=False,
        )
        out = SimpleNamespace(
            out=ended.stdout, text=ended.stdout.decode(errors="replace"), talk=ended.stderr.decode(errors="replace")
        )
        assert ended.returncode == status, (words, ended.returncode, out.text, out.talk)
        return out

    def reason(self, *words, status, **options):
        """The code of the error that the command ends with (docs/errors.md)."""
        error = json.loads(self.run(*words, "-o", "json", status=status, **options).talk.splitlines()[-1])
        assert (error["kind"], error["exitCode"]) == ("Error", status)
        return error["code"]

    def approve(self, id, *words, **options):
        """Approves what the promotion shows, as who has looked at it."""
        shown = self.json("promote", "show", id).get("review_digest", "0" * 64)
        return self.run("promote", "approve", id, "--review", shown, *words, **options)

    def json(self, *words, **options):
        document = json.loads(self.run(*words, "-o", "json", **options).text)
        assert document["apiVersion"] == "tarn/v1" and document["kind"]
        return document

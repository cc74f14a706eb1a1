"""The input of a client of tests/e2e/clients. Standard library only: see client_child.py."""

import base64
import functools
import json
import os
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import preloaded

COMMAND_SECONDS = 120
# Names that a decoding too many or too few mistakes for each other.
LOOK_ALIKES = ["both x", "both+x", "both%20x", "both%2Bx"]

program = functools.cache(preloaded.Program)


def run_process(words, input, **options):
    return subprocess.run(
        words, input=input, stdin=None if input is not None else subprocess.DEVNULL, capture_output=True, check=False, **options
    )


@dataclass(frozen=True)
class Box:
    """A server, keys for it, and a repository whose branch "main" belongs to this client."""

    url: str  # with scheme
    access_key: str
    secret_key: str
    repo: str
    scratch: str  # an empty directory, also the home of programs
    programs: str  # where the programs of the client's environment are
    ca: str = ""  # with https: the file of the certificate authority

    @property
    def address(self):
        """host:port"""
        return self.url.partition("://")[2]

    @property
    def secure(self):
        return self.url.startswith("https:")

    def run(self, *words, fails=False, stdin=None, imports=(), **environment):
        """Runs a program, first looked for in the client's own environment; returns its stdout as bytes. `fails`: it
        must end with another status than 0; returns stderr and stdout. `imports`: modules of a program in Python, which take most of
        the time of a run and are then imported once."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TARN_", "AWS_"))}
        path = f"{self.programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        run = program(shutil.which(words[0], path=path), imports).run if imports else run_process
        ended = run(
            [str(word) for word in words],
            input=stdin,
            timeout=COMMAND_SECONDS,
            cwd=self.scratch,
            env={**kept, "PATH": path, "HOME": self.scratch, **environment},
        )
        talk = ended.stderr + ended.stdout
        if fails:
            assert ended.returncode != 0, (words, "did not fail", talk)
            return talk
        assert ended.returncode == 0, (words, ended.returncode, talk.decode(errors="replace")[-2000:])
        return ended.stdout

    def rest(self, method, path, /, **query):
        """JSON of the repository over REST, for what S3 has no request for; `json`: the body."""
        body = query.pop("json", None)
        url = f"{self.url}/api/v1/repositories/{self.repo}{path}?{urllib.parse.urlencode(query)}"
        keys = base64.b64encode(f"{self.access_key}:{self.secret_key}".encode()).decode()
        request = urllib.request.Request(
            url,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Basic {keys}", "Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=COMMAND_SECONDS) as answer:
            return json.load(answer)

    def look_alikes(self, below):
        """{name: ETag} of the objects below dev/BELOW, without the marker of that directory."""
        page = self.rest("GET", "/refs/dev/objects/ls", prefix=below)
        return {entry["path"].removeprefix(below): entry["checksum"] for entry in page["results"] if entry["path"] != below}

    def tells_look_alikes_apart(self, copy, move, sync):
        """`copy` and `move` take a key and a new one, `sync` two directories with a slash at the end; of objects in the store."""
        for name in LOOK_ALIKES:
            self.rest("POST", "/branches/dev/objects", path="alike/" + name, json="bytes of " + name)
        made = self.look_alikes("alike/")
        assert len(set(made.values())) == len(LOOK_ALIKES)
        for name in made:
            copy(f"dev/alike/{name}", f"dev/alike-copied/{name}")
        assert self.look_alikes("alike-copied/") == made
        for count, name in enumerate(made, 1):
            move(f"dev/alike-copied/{name}", f"dev/alike-moved/{name}")
            assert self.look_alikes("alike-moved/") == dict(list(made.items())[:count])
            assert self.look_alikes("alike-copied/") == dict(list(made.items())[count:])
        sync("dev/alike/", "dev/alike-synced/")
        assert self.look_alikes("alike-synced/") == self.look_alikes("alike/") == made

    def tree(self, files):
        """A new directory in which each key of {key: path} is a file, for programs that copy directories."""
        top = Path(tempfile.mkdtemp(dir=self.scratch))
        for key, path in files.items():
            (top / key).parent.mkdir(parents=True, exist_ok=True)
            os.link(path, top / key)
        return top

    def spread(self, files, download):
        """For programs that copy directories: download(prefix, directory) fetches all below the last directory that
        the keys of {key: path} share; then each file goes to its path."""
        shared = os.path.commonpath([os.path.dirname(key) for key in files]) + "/"
        top = Path(tempfile.mkdtemp(dir=self.scratch))
        download(shared, top)
        for key, path in files.items():
            os.rename(top / key.removeprefix(shared), path)

    def write(self, name, text):
        """A file in the home of the client."""
        file = Path(self.scratch) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def keys_in_environment(self):
        """The variables that AWS's own tools and many others read."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
            **({"AWS_CA_BUNDLE": self.ca} if self.ca else {}),
        }

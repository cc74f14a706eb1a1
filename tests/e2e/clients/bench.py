"""The repository that a client works on, and a look at it that does not pass through the client."""

import hashlib
import random
import time
from pathlib import Path

import client_box
import requests
from checks import MIB

MANY = 1002  # what must be deleted takes more than one request of 1,000
IMPORT_SECONDS = 60
SEEDED = {
    "main/small.txt": 100,
    "main/large.bin": 20 * MIB,
    "main/tree/1.txt": 1000,
    "main/tree/2.txt": 0,
    "main/tree/below/3.txt": 3000,
}


class Bench:
    """Branches: "main" with known content, tagged v1.0; "dev" to write to; "many" for many objects."""

    def __init__(self, client, way, tarn, url, ca, repo, directory):
        self.client = client
        self.way = way
        self.tarn = tarn
        self.directory = Path(directory)
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.auth = (tarn.access_key, tarn.secret_key)
        home = self.directory / "home"
        home.mkdir(parents=True)
        self.box = client_box.Box(
            url=url,
            access_key=tarn.access_key,
            secret_key=tarn.secret_key,
            repo=repo,
            scratch=str(home),
            programs=str(client.programs()),
            ca=ca,
        )
        self.rest("POST", "/repositories", json={"name": repo, "storage_namespace": f"local://{repo}"})
        for branch in ("dev", "many"):
            self.rest("POST", self.path("/branches"), json={"name": branch, "source": "main"})
        self.seeded = {key: self.file(f"seeded/{key}", size) for key, size in SEEDED.items()}
        for key, path in self.seeded.items():
            self.put(key, Path(path).read_bytes())
        self.commit = self.commit_branch("main")
        self.tag("v1.0", self.commit)

    def branches(self, repo):
        """Names; None: there is no such repository."""
        answer = self.session.get(f"{self.tarn.url}/api/v1/repositories/{repo}/branches", timeout=60)
        assert answer.status_code in (200, 404), answer.text
        return [branch["id"] for branch in answer.json()["results"]] if answer.ok else None

    # Files on our side

    def file(self, name, size):
        """A file of random bytes, the same in every run; the clients have links to one, which none of them changes."""
        shared, path = self.directory.parent / "content" / name, self.directory / "files" / name
        for file in (shared, path):
            file.parent.mkdir(parents=True, exist_ok=True)
        if not shared.exists():
            shared.write_bytes(random.Random(name).randbytes(size))
        path.unlink(missing_ok=True)
        path.hardlink_to(shared)
        return str(path)

    def target(self, name):
        """Where a client may put a file."""
        path = self.directory / "got" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return str(path)

    # The repository, over REST

    def path(self, rest):
        return f"/repositories/{self.box.repo}{rest}"

    def rest(self, method, path, **options):
        answer = self.session.request(method, f"{self.tarn.url}/api/v1{path}", timeout=60, **options)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def commit_branch(self, branch):
        return self.rest("POST", self.path(f"/branches/{branch}/commits"), json={"message": "state"}).json()["id"]

    def tag(self, name, ref):
        self.rest("POST", self.path("/tags"), json={"id": name, "ref": ref})
        return name

    def object(self, method, key, what="/objects", **options):
        ref, _, path = key.partition("/")
        kind = "branches" if method == "POST" else "refs"
        return self.rest(method, self.path(f"/{kind}/{ref}{what}"), params={"path": path}, **options)

    def put(self, key, body):
        self.object("POST", key, data=body, headers={"Content-Type": "application/octet-stream"})

    def read(self, key):
        return self.object("GET", key).content

    def stat(self, key):
        return self.object("GET", key, "/objects/stat").json()

    def same_bytes(self, key, path):
        hashed = hashlib.sha256()
        for piece in self.object("GET", key, stream=True).iter_content(MIB):
            hashed.update(piece)
        return hashed.digest() == hashlib.sha256(Path(path).read_bytes()).digest()

    def keys(self, prefix):
        """All keys below ref/prefix, without directory markers."""
        ref, _, path = prefix.partition("/")
        page = self.rest("GET", self.path(f"/refs/{ref}/objects/ls"), params={"prefix": path, "amount": 1000}).json()
        found = [f"{ref}/{entry['path']}" for entry in page["results"]]
        return [key for key in found if not key.endswith("/")]

    def many_objects(self):
        """Fills the branch "many" and returns its keys."""
        source = self.tarn.import_root / "many"
        if not source.exists():
            source.mkdir()
            for number in range(MANY):
                (source / f"{number:04}").write_bytes(b"x")
        paths = [{"type": "common_prefix", "path": f"local://{source}/", "destination": ""}]
        job = self.rest("POST", self.path("/branches/many/import"), json={"paths": paths, "commit": {"message": "many"}}).json()[
            "id"
        ]
        deadline = time.monotonic() + IMPORT_SECONDS
        while True:
            state = self.rest("GET", self.path("/branches/many/import"), params={"id": job}).json()
            assert "error" not in state and time.monotonic() < deadline, state
            if state["completed"]:
                return [f"many/{number:04}" for number in range(MANY)]
            time.sleep(0.02)

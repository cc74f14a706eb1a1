"""The REST API as tests of the page use it: preparing things, and looking at what the page did."""

import clients


class Outcome(clients.Rest):
    """Each method fails unless the answer is a success, and returns its JSON."""

    def ask(self, method, path, **options):
        answer = self(method, path, **options)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.headers.get("Content-Type", "").startswith("application/json") else answer.content

    def get(self, address, /, **parameters):
        return self.ask("GET", address, params=parameters)

    def post(self, path, body):
        return self.ask("POST", path, json=body)

    def status(self, address, /, **parameters):
        return self("GET", address, params=parameters).status_code

    def repository(self, name, **members):
        return self.post("/repositories", {"name": name, "storage_namespace": f"local://{name}", **members})

    def branch(self, repository, name, source="main"):
        self.ask("POST", f"/repositories/{repository}/branches", json={"name": name, "source": source})

    def upload(self, repository, path, data=b"data", branch="main", content_type="application/octet-stream", **metadata):
        body = data.encode() if isinstance(data, str) else data
        headers = {"Content-Type": content_type, **{f"x-lakefs-meta-{key}": value for key, value in metadata.items()}}
        return self.ask(
            "POST", f"/repositories/{repository}/branches/{branch}/objects", params={"path": path}, data=body, headers=headers
        )

    def commit(self, repository, message="commit", branch="main", **metadata):
        return self.post(f"/repositories/{repository}/branches/{branch}/commits", {"message": message, "metadata": metadata})

    def record(self, repository, branch, experiment="e", **members):
        """A run of the head of a branch."""
        head = self.get(f"/repositories/{repository}/branches/{branch}")["commit_id"]
        return self.post(
            f"/repositories/{repository}/experiments/{experiment}/runs", {"commit": head, "branch": branch, **members}
        )

    def paths(self, repository, ref="main", prefix=""):
        listed = self.get(f"/repositories/{repository}/refs/{ref}/objects/ls", prefix=prefix, amount=1000)
        return [item["path"] for item in listed["results"]]

    def read(self, repository, path, ref="main"):
        answer = self("GET", f"/repositories/{repository}/refs/{ref}/objects", params={"path": path})
        assert answer.ok, answer.text
        return answer.content

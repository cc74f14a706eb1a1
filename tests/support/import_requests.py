"""Imports over REST: the request that starts one, and its end."""

import time


def start(rest, repo, branch, source, destination="raw/", headers=None, **fields):
    return rest(
        "POST",
        f"/repositories/{repo}/branches/{branch}/import",
        headers=headers,
        json={
            "paths": [{"type": "common_prefix", "path": f"local://{source}/", "destination": destination}],
            "commit": {"message": "lake"},
            **fields,
        },
    )


def finished(rest, repo, branch, import_id):
    for _ in range(600):
        status = rest("GET", f"/repositories/{repo}/branches/{branch}/import?id={import_id}").json()
        if status["completed"] or "error" in status:
            return status
        time.sleep(0.05)
    raise AssertionError(f"import {import_id} does not end")

"""Icechunk: a repository of Zarr arrays below a branch, with commits of its own that need conditional writes."""

import icechunk
import zarr
from tool_options import commit, refused_without_branch

NAME = "icechunk 1.1.21"
ENVIRONMENT = "icechunk"
KIND = "tools"
HEAVY = True


def storage(box, ref):
    return icechunk.s3_storage(
        bucket=box.repo,
        prefix=f"{ref}/arrays",
        endpoint_url=box.url,
        region="us-east-1",
        allow_http=True,
        force_path_style=True,
        access_key_id=box.access_key,
        secret_access_key=box.secret_key,
    )


def also_commits_arrays(box):
    repository = icechunk.Repository.create(storage(box, "dev"))
    session = repository.writable_session("main")
    array = zarr.create_array(session.store, name="temperature", shape=(100, 10), chunks=(10, 10), dtype="f4")
    array[:] = 1.5
    first = session.commit("first")
    session = repository.writable_session("main")
    zarr.open_array(session.store, path="temperature")[0, 0] = 7
    session.commit("second")
    found = icechunk.Repository.open(storage(box, "dev"))
    assert [one.message for one in found.ancestry(branch="main")][:2] == ["second", "first"]
    assert zarr.open_array(found.readonly_session("main").store, path="temperature", mode="r")[0, 0] == 7
    assert zarr.open_array(found.readonly_session(snapshot_id=first).store, path="temperature", mode="r")[0, 0] == 1.5
    kept = icechunk.Repository.open(storage(box, commit(box)))
    session = repository.writable_session("main")
    zarr.open_array(session.store, path="temperature")[0, 0] = 9
    session.commit("third")
    assert zarr.open_array(kept.readonly_session("main").store, path="temperature", mode="r")[0, 0] == 7
    refused_without_branch(lambda: icechunk.Repository.create(storage(box, "nowhere")))


def also_refuses_the_later_of_two_writers(box):
    repository = icechunk.Repository.open_or_create(storage(box, "dev"))
    one, two = repository.writable_session("main"), repository.writable_session("main")
    for session, value in ((one, 1), (two, 2)):
        zarr.create_array(session.store, name="raced", shape=(1,), dtype="i4", overwrite=True)[:] = value
    one.commit("one")
    try:
        two.commit("two")
    except icechunk.ConflictError:
        pass
    else:
        raise AssertionError("both committed")
    store = icechunk.Repository.open(storage(box, "dev")).readonly_session("main").store
    assert zarr.open_array(store, path="raced", mode="r")[0] == 1


def also_reads_a_merged_repository_on_main(box):
    repository = icechunk.Repository.open_or_create(storage(box, "dev"))
    session = repository.writable_session("main")
    zarr.create_array(session.store, name="merged", shape=(3,), dtype="i4", overwrite=True)[:] = 3
    session.commit("to merge")
    box.rest("POST", "/branches/dev/commits", json={"message": "arrays"})
    box.rest("POST", "/refs/dev/merge/main", json={})
    store = icechunk.Repository.open(storage(box, "main")).readonly_session("main").store
    assert list(zarr.open_array(store, path="merged", mode="r")[:]) == [3, 3, 3]

"""DVC: a branch as the remote of its cache, from which another project pulls; and imports of objects."""

from pathlib import Path

from tool_options import commit, paths, refused_without_branch

NAME = "dvc 3.67.1"
ENVIRONMENT = "dvc"
KIND = "tools"
HEAVY = True


def project(box, name, remote):
    """A directory with a DVC project, and a function that runs dvc there."""
    place = Path(box.scratch) / name
    box.write(f"{name}/.dvc/tmp/.keep", "")
    box.write(
        f"{name}/.dvc/config",
        f"""[core]
    no_scm = true
    remote = tarn
    analytics = false
    site_cache_dir = {box.scratch}/site
['remote "tarn"']
    url = s3://{box.repo}/{remote}
    endpointurl = {box.url}
    access_key_id = {box.access_key}
    secret_access_key = {box.secret_key}
    region = us-east-1
""",
    )
    return place, lambda *words: box.run("dvc", "--cd", place, *words)


def also_pushes_and_pulls(box):
    place, dvc = project(box, "writer", "dev/dvc")
    content = {f"data/{number}.csv": f"id\n{number}\n" for number in range(20)} | {"data/deep/large.bin": "x" * (9 << 20)}
    for name, text in content.items():
        box.write(f"writer/{name}", text)
    dvc("add", "-q", "data")
    dvc("push", "-q")
    assert len(paths(box, "dev", "dvc/files/md5/")) == len(content) + 1  # and the directory's own list
    reader, dvc_there = project(box, "reader", f"{commit(box)}/dvc")
    (reader / "data.dvc").write_bytes((place / "data.dvc").read_bytes())
    dvc_there("pull", "-q")
    assert {str(file.relative_to(reader)): file.read_text() for file in (reader / "data").rglob("*.*")} == content


def also_refuses_to_push_where_no_branch_is(box):
    _, dvc = project(box, "lost", "nowhere/dvc")
    box.write("lost/a.csv", "id\n1\n")
    dvc("add", "-q", "a.csv")
    refused_without_branch(lambda: dvc("push"))


def also_imports_an_object(box):
    place, dvc = project(box, "importer", "main")
    dvc("import-url", "-q", "remote://tarn/small.txt", "small.txt")
    assert (place / "small.txt").stat().st_size == 100 and "etag" in (place / "small.txt.dvc").read_text()

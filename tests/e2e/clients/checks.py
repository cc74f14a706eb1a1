"""Checks that every S3 client must pass: one function per column of the table.

Each gets `client`, whose methods are the functions of the client's file, and `bench`: the box that the client has, and a
second look at the repository that does not pass through the client. Keys begin with the branch."""

import filecmp
import uuid
from pathlib import Path

import requests

MIB = 1 << 20
SIZES = {"empty": 0, "small": 100, "below": 8 * MIB - 1, "exact": 8 * MIB, "above": 8 * MIB + 1, "large": 64 * MIB}
ODD_KEYS = [
    "dev/odd/with space.txt",
    "dev/odd/100%25.txt",
    "dev/odd/plus+and&=.txt",
    "dev/odd/größe-火.txt",
    "dev/odd/(brackets) [1] {2}.txt",
    "dev/odd/tilde~'quote'.txt",
    "dev/odd/a space dir/x.txt",
]

COLUMNS = {
    "repositories": "repositories",
    "made_bucket": "make and remove a bucket",
    "list_root": "list root",
    "list_branch": "list branch",
    "list_recursive": "list all",
    "put": "put to 64 MiB",
    "get": "get",
    "get_range": "range",
    "overwrite": "overwrite",
    "empty": "empty object",
    "odd_keys": "odd keys",
    "rename": "rename directory",
    "delete_directory": "delete directory",
    "delete_many": "delete 1,001",
    "presign": "presign",
    "from_tag": "read tag",
    "from_commit": "read commit",
    "write_to_tag": "write to tag",
}


def of(client, way):
    """The checks of a row."""
    return [check for check in COLUMNS if check not in client.not_offered and (way == "http" or check in client.tls)]


def repositories(client, bench):
    assert bench.box.repo in client.repositories()


def made_bucket(client, bench):
    """Where CreateBucket makes repositories."""
    name = f"made-{uuid.uuid4().hex[:12]}"
    client.make_bucket(name)
    assert bench.branches(name) == ["main"]
    assert name in client.repositories()
    client.remove_bucket(name)
    assert bench.branches(name) is None
    assert name not in client.repositories()


def list_root(client, bench):
    assert same(client.list_directory(""), ["dev/", "main/", "many/"])


def list_branch(client, bench):
    assert same(client.list_directory("main/"), ["main/large.bin", "main/small.txt", "main/tree/"])


def list_recursive(client, bench):
    assert same(
        client.list_all("main/"),
        ["main/large.bin", "main/small.txt", "main/tree/1.txt", "main/tree/2.txt", "main/tree/below/3.txt"],
    )


def put(client, bench):
    files = {f"dev/sizes/{name}.bin": bench.file(f"sizes/{name}.bin", size) for name, size in SIZES.items()}
    client.put(files)
    for key, path in files.items():
        assert bench.same_bytes(key, path), key


def get(client, bench):
    targets = {"main/large.bin": bench.target("large.bin"), "main/small.txt": bench.target("small.txt")}
    client.get(targets)
    for key, path in targets.items():
        assert filecmp.cmp(path, bench.seeded[key], shallow=False), key


def get_range(client, bench):
    content = Path(bench.seeded["main/large.bin"]).read_bytes()
    assert client.get_range("main/large.bin", 9 * MIB - 3, 7) == content[9 * MIB - 3 : 9 * MIB + 4]


def overwrite(client, bench):
    bench.put("dev/again.txt", b"what was there before, longer")
    file = bench.file("again.txt", 13)
    client.put({"dev/again.txt": file})
    assert bench.same_bytes("dev/again.txt", file)


def empty(client, bench):
    client.put({"dev/empty.txt": bench.file("empty.txt", 0)})
    assert bench.stat("dev/empty.txt")["size_bytes"] == 0
    target = bench.target("empty.txt")
    client.get({"dev/empty.txt": target})
    assert Path(target).read_bytes() == b""


def odd_keys(client, bench):
    files = {key: bench.file(key, 50) for key in ODD_KEYS}
    client.put(files)
    for key, path in files.items():
        assert bench.same_bytes(key, path), key
    assert same(client.list_all("dev/odd/"), ODD_KEYS)
    targets = {key: bench.target(key) for key in ODD_KEYS}
    client.get(targets)
    for key, path in targets.items():
        assert filecmp.cmp(path, files[key], shallow=False), key


def rename(client, bench):
    content = {f"dev/old/{name}": name.encode() for name in ("1.txt", "2.txt", "below/3.txt")}
    for key, body in content.items():
        bench.put(key, body)
    client.rename("dev/old/", "dev/new/")
    assert bench.keys("dev/old/") == []
    for key, body in content.items():
        assert bench.read(key.replace("/old/", "/new/")) == body


def delete_directory(client, bench):
    for name in ("1.txt", "2.txt", "below/3.txt"):
        bench.put(f"dev/gone/{name}", b"x")
    bench.put("dev/gone.txt", b"x")
    client.delete_directory("dev/gone/")
    assert bench.keys("dev/gone") == ["dev/gone.txt"]


def delete_many(client, bench):
    keys = bench.many_objects()
    client.delete(keys[:-1])
    assert bench.keys("many/") == keys[-1:]


def presign(client, bench):
    answer = requests.get(client.presign("main/small.txt"), verify=bench.box.ca or True, timeout=60)
    assert (answer.status_code, answer.content) == (200, Path(bench.seeded["main/small.txt"]).read_bytes())


def from_tag(client, bench):
    bench.put("main/small.txt", b"after the tag")
    read_old(client, bench, "v1.0/small.txt")


def from_commit(client, bench):
    bench.put("main/small.txt", b"after the commit")
    read_old(client, bench, f"{bench.commit}/small.txt")


def read_old(client, bench, key):
    target = bench.target("old.txt")
    try:
        client.get({key: target})
        assert filecmp.cmp(target, bench.seeded["main/small.txt"], shallow=False)
    finally:
        bench.put("main/small.txt", Path(bench.seeded["main/small.txt"]).read_bytes())


def write_to_tag(client, bench):
    """The client's function catches its own type of error, fails on any other, and returns the text that a user sees."""
    said = client.refused("v1.0/small.txt", bench.file("refused.txt", 20))
    if not bench.client.quiet:
        assert '"v1.0" in repository' in said.replace("&#34;", '"').replace("&quot;", '"'), said
    assert bench.read("v1.0/small.txt") == Path(bench.seeded["main/small.txt"]).read_bytes()


def same(found, expected):
    """Lists of keys, in any order, each once."""
    assert sorted(found) == sorted(expected), found
    return True

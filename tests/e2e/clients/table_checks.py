"""Checks that every client that stores tables must pass; see checks.py.

The tables of the checks have `count` rows: id from 0, label "row ID", value ID / 2, part ID % 4. A client's functions
take "branch/directory" and choose names of files below it; they return what they read as [rows, sum of ids]."""

ROWS = 200_000
COLUMNS = {
    "write": "write",
    "read": "read",
    "read_some": "few rows and columns",
    "overwrite": "overwrite",
    "partitions": "partitions",
    "from_tag": "read tag",
    "from_commit": "read commit",
    "write_to_tag": "write to tag",
    "concurrent_appends": "concurrent appends",
}


def of(client, way):
    return [check for check in COLUMNS if check not in client.not_offered]


def summary(count):
    return [count, count * (count - 1) // 2]


def write(client, bench):
    client.write_table("dev/written", ROWS)
    keys = bench.keys("dev/written/")
    assert keys and sum(bench.stat(key)["size_bytes"] for key in keys) > ROWS


def read(client, bench):
    client.write_table("dev/read", ROWS)
    assert client.read_table("dev/read") == summary(ROWS)


def read_some(client, bench):
    client.write_table("dev/some", ROWS)
    assert client.read_ids("dev/some", 150_000, 150_005) == [150_000, 150_001, 150_002, 150_003, 150_004]


def overwrite(client, bench):
    client.write_table("dev/again", 1000)
    client.write_table("dev/again", 10)
    assert client.read_table("dev/again") == summary(10)


def partitions(client, bench):
    client.write_partitions("dev/parts", 1000)
    assert {part for key in bench.keys("dev/parts/") for part in key.split("/") if part.startswith("part=")} == {
        "part=0",
        "part=1",
        "part=2",
        "part=3",
    }
    assert client.read_table("dev/parts") == summary(1000)


def from_tag(client, bench):
    at_an_earlier_state(client, bench, "tagged", lambda commit: bench.tag("tables", commit))


def from_commit(client, bench):
    at_an_earlier_state(client, bench, "committed", lambda commit: commit)


def at_an_earlier_state(client, bench, directory, ref_of):
    client.write_table(f"dev/{directory}", 500)
    ref = ref_of(bench.commit_branch("dev"))
    client.write_table(f"dev/{directory}", 7)
    assert client.read_table(f"{ref}/{directory}") == summary(500)


def write_to_tag(client, bench):
    said = client.refused("v1.0/table", 10)
    if not bench.client.quiet:
        assert '"v1.0" in repository' in said.replace("&#34;", '"').replace("&quot;", '"').replace('\\"', '"'), said
    assert bench.keys("v1.0/table") == []


def concurrent_appends(client, bench):
    """Six writers append 100 rows each at once; none is lost."""
    client.write_table("dev/appended", 100)
    client.append_at_once("dev/appended", 100, 6)
    assert client.read_table("dev/appended") == [700, 7 * 4950]

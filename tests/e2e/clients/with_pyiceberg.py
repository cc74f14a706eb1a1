"""pyiceberg: manifests and metadata through pyarrow's file system, a catalog in SQLite."""

import functools

from arrow_rows import rows, summary
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import StaticTable
from table_rows import refusal

NAME = "pyiceberg 0.12.0"
ENVIRONMENT = "tables"
KIND = "tables"
HEAVY = True
NOT_OFFERED = {
    "concurrent_appends": "its catalog decides who commits, not the object store",
    "partitions": "rewrites need transforms of another package",
    "from_tag": "metadata names its files by the branch they were written to",
    "from_commit": "metadata names its files by the branch they were written to",
}


def properties(box):
    return {
        "s3.endpoint": box.url,
        "s3.access-key-id": box.access_key,
        "s3.secret-access-key": box.secret_key,
        "s3.region": "us-east-1",
    }


@functools.cache
def catalog(box):
    found = SqlCatalog("tests", uri=f"sqlite:///{box.scratch}/catalog.db", warehouse=f"s3://{box.repo}/dev", **properties(box))
    found.create_namespace("tests")
    return found


def identifier(place):
    return f"tests.{place.replace('/', '_').replace('.', '_')}"


def write_table(box, place, count):
    if catalog(box).table_exists(identifier(place)):
        catalog(box).load_table(identifier(place)).overwrite(rows(count))
    else:
        catalog(box).create_table(identifier(place), schema=rows(1).schema, location=f"s3://{box.repo}/{place}").append(
            rows(count)
        )


def read_table(box, place):
    return summary(catalog(box).load_table(identifier(place)).scan(selected_fields=("id",)).to_arrow())


def read_ids(box, place, first, end):
    found = (
        catalog(box)
        .load_table(identifier(place))
        .scan(row_filter=And(GreaterThanOrEqual("id", first), LessThan("id", end)), selected_fields=("id",))
        .to_arrow()
    )
    return sorted(found["id"].to_pylist())


def refused(box, place, count):
    return refusal(lambda: write_table(box, place, count))


def also_reads_metadata_without_a_catalog(box):
    write_table(box, "dev/static", 30)
    location = catalog(box).load_table(identifier("dev/static")).metadata_location
    assert StaticTable.from_metadata(location, properties(box)).scan().to_arrow().num_rows == 30


class AtAnotherRef(PyArrowFileIO):
    """Reads at the property "ref" what was written to the property "written-to": the metadata has whole addresses."""

    def new_input(self, location):
        head, _, tail = location.partition(f"/{self.properties['written-to']}/")
        return super().new_input(f"{head}/{self.properties['ref']}/{tail}")


def at(location, box, ref):
    """The number of rows and the sum of their ids of a table that was written to dev, at another ref."""
    found = StaticTable.from_metadata(
        location, {**properties(box), "py-io-impl": "with_pyiceberg.AtAnotherRef", "written-to": "dev", "ref": ref}
    )
    return summary(found.scan(selected_fields=("id",)).to_arrow())


def also_reads_a_merged_table_on_main(box):
    write_table(box, "dev/to_merge", 30)
    location = catalog(box).load_table(identifier("dev/to_merge")).metadata_location
    box.rest("POST", "/branches/dev/commits", json={"message": "a table"})
    box.rest("POST", "/refs/dev/merge/main", json={})
    box.rest("POST", "/tags", json={"id": "iceberg", "ref": "main"})
    catalog(box).load_table(identifier("dev/to_merge")).append(rows(5))
    for ref in ("main", "iceberg"):
        assert at(location, box, ref) == [30, 435]
    assert read_table(box, "dev/to_merge") == [35, 445]
    # The table read at main comes from main.
    catalog(box).drop_table(identifier("dev/to_merge"))
    page = box.rest("GET", "/refs/dev/objects/ls", prefix="to_merge/", amount=1000)
    box.rest("POST", "/branches/dev/objects/delete", json={"paths": [entry["path"] for entry in page["results"]]})
    assert at(location, box, "main") == [30, 435]

"""Great Expectations: a table on a branch is checked, in a context without files."""

import fsspec
import great_expectations
from tool_options import commit, s3fs_options

NAME = "great-expectations 1.24.1"
ENVIRONMENT = "great_expectations"
KIND = "tools"
HEAVY = True


def also_checks_a_table(box):
    place, options = f"s3://{box.repo}/dev/animals.csv", s3fs_options(box)
    with fsspec.open(place, "w", **options) as file:
        file.write("id,label\n1,cat\n2,dog\n2,\n")
    context = great_expectations.get_context(mode="ephemeral")
    context.variables.analytics_enabled = False
    source = context.data_sources.add_pandas("tarn")

    def batch_of(ref):
        table = f"s3://{box.repo}/{ref}/animals.csv"
        name = f"animals {len(source.assets)}"
        asset = source.add_csv_asset(name, filepath_or_buffer=table, storage_options=options)
        return asset.add_batch_definition("whole").get_batch()

    batch = batch_of("dev")
    expectations = great_expectations.expectations
    assert batch.validate(expectations.ExpectTableRowCountToEqual(value=3)).success
    assert not batch.validate(expectations.ExpectColumnValuesToBeUnique(column="id")).success
    assert not batch.validate(expectations.ExpectColumnValuesToNotBeNull(column="label")).success
    kept = commit(box)
    with fsspec.open(place, "w", **options) as file:
        file.write("id,label\n1,cat\n")
    assert batch_of(kept).validate(expectations.ExpectTableRowCountToEqual(value=3)).success
    assert batch_of("dev").validate(expectations.ExpectTableRowCountToEqual(value=1)).success
    try:
        batch_of("nowhere")
    except Exception as error:
        assert "nowhere" in str(error), f"says something else: {error!r}"
    else:
        raise AssertionError("a table where no branch is was read")

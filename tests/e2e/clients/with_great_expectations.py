"""Great Expectations: a table on a branch is checked, in a context without files."""

import fsspec
import great_expectations
from tool_options import s3fs_options

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
    asset = source.add_csv_asset("animals", filepath_or_buffer=place, storage_options=options)
    batch = asset.add_batch_definition("whole").get_batch()
    expectations = great_expectations.expectations
    assert batch.validate(expectations.ExpectTableRowCountToEqual(value=3)).success
    assert not batch.validate(expectations.ExpectColumnValuesToBeUnique(column="id")).success
    assert not batch.validate(expectations.ExpectColumnValuesToNotBeNull(column="label")).success

"""The rows of table_checks.py as a table of pyarrow, and what read_table returns of one."""

import pyarrow
import pyarrow.compute as compute
from table_rows import columns


def rows(count):
    return pyarrow.table(columns(count))


def summary(table):
    ids = table["id"]
    return [len(ids), compute.sum(ids).as_py()]

"""Ray Data: parquet and CSV files of a branch, read and written by tasks through pyarrow's S3."""

import ray
from pyarrow import fs
from tool_options import commit, paths

NAME = "ray 2.60.0"
ENVIRONMENT = "ray"
KIND = "tools"
HEAVY = True


def also_reads_and_writes(box):
    s3 = fs.S3FileSystem(
        endpoint_override=box.address,
        scheme="http",
        access_key=box.access_key,
        secret_key=box.secret_key,
        region="us-east-1",
    )
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, logging_level="ERROR")
    ray.data.range(1000).repartition(4).write_parquet(f"{box.repo}/dev/ray/table", filesystem=s3)
    assert paths(box, "dev", "ray/table/")
    kept = commit(box)
    read = ray.data.read_parquet(f"{box.repo}/{kept}/ray/table", filesystem=s3)
    assert read.count() == 1000 and read.sum("id") == 499500
    read.map(lambda row: {"id": 2 * row["id"]}).write_csv(f"{box.repo}/dev/ray/doubled", filesystem=s3)
    assert ray.data.read_csv(f"{box.repo}/dev/ray/doubled", filesystem=s3).sum("id") == 999000
    ray.shutdown()

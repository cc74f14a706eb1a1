"""Dagster: assets that its I/O manager for S3 keeps on a branch, which lakeFS's client commits as a resource."""

import dagster
import lakefs_client
from dagster_aws.s3 import S3PickleIOManager, S3Resource
from lakefs_client import models
from lakefs_client.client import LakeFSClient
from tool_options import commit, paths, refused_without_branch

NAME = "dagster-aws 0.29.27"
ENVIRONMENT = "dagster"
KIND = "tools"
HEAVY = True


@dagster.asset
def rows():
    return list(range(10))


@dagster.asset
def even(rows):
    return [row for row in rows if row % 2 == 0]


def manager(box, ref):
    s3 = S3Resource(
        endpoint_url=box.url,
        region_name="us-east-1",
        aws_access_key_id=box.access_key,
        aws_secret_access_key=box.secret_key,
    )
    return {"io_manager": S3PickleIOManager(s3_resource=s3, s3_bucket=box.repo, s3_prefix=f"{ref}/dagster")}


def also_keeps_assets(box):
    assert dagster.materialize([rows, even], resources=manager(box, "dev")).success
    assert paths(box, "dev", "dagster/") == ["dagster/even", "dagster/rows"]
    kept = commit(box)

    @dagster.asset(name="rows")
    def fewer():
        return [0]

    assert dagster.materialize([fewer, even], resources=manager(box, "dev")).success
    assets = dagster.Definitions([rows, even], resources=manager(box, kept))
    assert assets.load_asset_value("even") == [0, 2, 4, 6, 8]
    assert dagster.Definitions([fewer, even], resources=manager(box, "dev")).load_asset_value("even") == [0]
    refused_without_branch(lambda: dagster.materialize([rows], resources=manager(box, "nowhere")))


def also_commits_by_a_resource(box):
    client = LakeFSClient(lakefs_client.Configuration(host=box.url, username=box.access_key, password=box.secret_key))

    @dagster.op
    def create_branch(lakefs: dagster.ResourceParam[LakeFSClient]):
        lakefs.branches_api.create_branch(box.repo, models.BranchCreation(name="etl", source="main"))
        return "etl"

    @dagster.op
    def load(lakefs: dagster.ResourceParam[LakeFSClient], branch: str):
        with box.write("a.csv", "id\n1\n").open("rb") as content:
            lakefs.objects_api.upload_object(box.repo, branch, "etl/a.csv", content=content)
        creation = models.CommitCreation(message="by Dagster", metadata={"job": "etl"})
        return lakefs.commits_api.commit(box.repo, branch, creation).id

    @dagster.op
    def merge(lakefs: dagster.ResourceParam[LakeFSClient], branch: str, commit: str):
        lakefs.refs_api.merge_into_branch(box.repo, commit, "main")
        lakefs.branches_api.delete_branch(box.repo, branch)

    @dagster.job
    def etl():
        branch = create_branch()
        merge(branch, load(branch))

    assert etl.execute_in_process(resources={"lakefs": client}).success
    assert paths(box, "main", "etl/") == ["etl/a.csv"]

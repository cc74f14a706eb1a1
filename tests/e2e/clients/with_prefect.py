"""Prefect: files of a branch through its block for S3, by which flows also keep their results."""

from pathlib import Path

from prefect_aws import AwsCredentials, S3Bucket
from prefect_aws.client_parameters import AwsClientParameters
from tool_options import commit, paths, refused_without_branch

NAME = "prefect-aws 0.7.12"
ENVIRONMENT = "prefect"
KIND = "tools"
HEAVY = True


def bucket(box, folder):
    return S3Bucket(
        bucket_name=box.repo,
        bucket_folder=folder,
        credentials=AwsCredentials(
            aws_access_key_id=box.access_key,
            aws_secret_access_key=box.secret_key,
            region_name="us-east-1",
            aws_client_parameters=AwsClientParameters(endpoint_url=box.url),
        ),
    )


def also_keeps_files(box):
    dev = bucket(box, "dev/prefect")
    dev.write_path("a.csv", b"id\n1\n")
    directory = box.write("sent/deep/b.csv", "id\n2\n").parents[1]
    dev.put_directory(str(directory), "sent")
    assert paths(box, "dev", "prefect/") == ["prefect/a.csv", "prefect/sent/deep/b.csv"]
    kept = bucket(box, f"{commit(box)}/prefect")
    dev.write_path("a.csv", b"id\n9\n")
    assert kept.read_path("a.csv") == b"id\n1\n" and dev.read_path("a.csv") == b"id\n9\n"
    kept.get_directory(local_path=f"{box.scratch}/received")
    assert Path(box.scratch, "received/sent/deep/b.csv").read_text() == "id\n2\n"
    refused_without_branch(lambda: bucket(box, "nowhere").write_path("a.csv", b""))

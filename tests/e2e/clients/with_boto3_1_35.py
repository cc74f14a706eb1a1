"""The boto3 of before checksums became the default: Content-MD5 where S3 asked for it, nothing else."""

from with_boto3 import *  # noqa: F403

NAME = "boto3 1.35.99"
ENVIRONMENT = "boto3-1.35"

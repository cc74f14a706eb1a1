"""Behaviours that S3 clients rely on, each once over a bucket whose keys begin with a branch and once over the bucket of
that branch alone."""

import uuid

import pytest
import s3_requests
from s3_behaviour import AGAIN, BEHAVIOURS, Bucket

pytest.register_assert_rewrite(
    "s3_behaviours_of_bodies",
    "s3_behaviours_of_buckets",
    "s3_behaviours_of_keys",
    "s3_behaviours_of_listings",
    "s3_behaviours_of_uploads",
    "s3_behaviours_of_versions",
)
import s3_behaviours_of_bodies  # noqa: E402, F401
import s3_behaviours_of_buckets  # noqa: E402, F401
import s3_behaviours_of_keys  # noqa: E402, F401
import s3_behaviours_of_listings  # noqa: E402, F401
import s3_behaviours_of_uploads  # noqa: E402, F401
import s3_behaviours_of_versions  # noqa: E402, F401


def test_every_behaviour_has_a_name_of_its_own():
    names = [b.id for b in BEHAVIOURS + AGAIN]
    assert len(names) == len(set(names)) and len(names) >= 100


@pytest.mark.parametrize("form,check", BEHAVIOURS)
def test_behaviour(tarn, form, check):
    name = f"behaviour-{uuid.uuid4().hex}"
    s3_requests.rest(
        tarn, "POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}", "default_branch": "main"}
    )
    check(Bucket(tarn, name, "main/" if form == "plain" else ""))


@pytest.mark.parametrize("form,check", AGAIN)
def test_behaviour_again(tarn, form, check):
    test_behaviour(tarn, form, check)

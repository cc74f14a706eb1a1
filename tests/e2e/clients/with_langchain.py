"""LangChain: its loader for lakeFS, which reads by presigned addresses, and its loader of files in S3."""

import os

import boto3
from cloudpathlib import S3Client
from langchain_community.document_loaders import CloudBlobLoader, LakeFSLoader
from langchain_community.document_loaders.generic import GenericLoader
from langchain_community.document_loaders.parsers.txt import TextParser
from requests import HTTPError
from tool_options import commit, refused_without_branch

NAME = "langchain-community 0.4.2"
ENVIRONMENT = "documents"
KIND = "tools"
HEAVY = True


def also_loads_by_lakefs_loader(box):
    os.environ["DO_NOT_TRACK"] = "1"

    def loaded(ref):
        loader = LakeFSLoader(box.access_key, box.secret_key, box.url, repo=box.repo, ref=ref, path="loaded/")
        return [(document.page_content, document.metadata["ref"], document.metadata["path"]) for document in loader.load()]

    # In unstructured's own format, as it reads others with a model that it fetches.
    def write(name, text):
        box.rest("POST", "/branches/dev/objects", path=f"loaded/{name}.json", json=[{"type": "NarrativeText", "text": text}])

    write("cat", "A cat.")
    write("dog", "A dog.")
    kept = commit(box)
    write("cat", "Another cat.")
    assert loaded(kept) == [("A cat.", kept, "loaded/cat.json"), ("A dog.", kept, "loaded/dog.json")]
    assert loaded("dev")[0][0] == "Another cat."
    try:
        loaded("nowhere")
    except HTTPError as error:
        assert error.response.status_code == 404 and "nowhere" in error.response.text
    else:
        raise AssertionError("documents where no branch is were loaded")


def also_loads_files_in_s3(box):
    session = boto3.Session(box.access_key, box.secret_key, region_name="us-east-1")
    client = S3Client(boto3_session=session, endpoint_url=box.url)
    client.set_as_default_client()
    place = client.CloudPath(f"s3://{box.repo}/dev/blobs")
    (place / "deep/cat.txt").write_text("A cat.")

    def loaded(ref):
        blobs = CloudBlobLoader(f"s3://{box.repo}/{ref}/blobs", suffixes=[".txt"])
        return [document.page_content for document in GenericLoader(blobs, TextParser()).lazy_load()]

    kept = commit(box)
    (place / "deep/cat.txt").write_text("Another cat.")
    (place / "dog.txt").write_text("A dog.")
    assert loaded(kept) == ["A cat."] and sorted(loaded("dev")) == ["A dog.", "Another cat."]
    refused_without_branch(lambda: client.CloudPath(f"s3://{box.repo}/nowhere/cat.txt").write_text(""))

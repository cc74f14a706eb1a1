"""The dogs notebook (images imported from another bucket, two experiments, the better one promoted), call by call.

The calls and their arguments are those of the public notebook; Spark's are replayed with boto3 as the S3A committer
sends them. Images and models are small and made here. The store is counted before and after every step that must not
write objects.
"""

import io
import json
import pickle
import time
from types import SimpleNamespace

import clients
import lakefs
import pytest
from botocore.exceptions import ClientError

BREEDS = {"n02085620-Chihuahua": 4, "n02085782-Japanese_spaniel": 9, "n02086079-Pekinese": 7, "n02086240-Shih-Tzu": 5}
IMAGES = sum(BREEDS.values())
PARAMETERS = {
    "model_name": "model.pkl",
    "delimiter": "/",
    "n_cats": 3,
    "n_images": 250,
    "is_shuffle": True,
    "is_normalize": False,
    "epochs": 50,
    "train_test_split_ratio": 0.2,
    "optimizer": "adagrad",
    "loss": "sparse_categorical_crossentropy",
    "metrics": ["accuracy"],
}
MODEL_BYTES = 17 << 20  # beyond two ranges of a managed download, and a multipart upload's threshold


@pytest.fixture(scope="module")
def source(versitygw):
    """The bucket that holds the images: not the repository's."""
    s3 = clients.boto3_client(versitygw)
    s3.create_bucket(Bucket="sample-data")
    for breed, count in BREEDS.items():
        for number in range(count):
            s3.put_object(Bucket="sample-data", Key=f"dogs/Images/{breed}/{number:03}.jpg", Body=image(breed, number))
            s3.put_object(Bucket="sample-data", Key=f"dogs/Annotation/{breed}/{number:03}", Body=b"<annotation/>")
    s3.put_object(Bucket="sample-data", Key="dogs/Annotation_JSON/all.json", Body=b"{}")
    return "s3://sample-data/dogs"


def image(breed, number):
    return f"\xff\xd8{breed}{number}".encode("latin-1") * 40


@pytest.fixture
def dogs(tarn_s3, versitygw, source, name):
    """The notebook's constants and clients."""
    client = clients.lakefs_client(tarn_s3)
    repo = lakefs.Repository(name, client=client).create(
        storage_namespace=f"s3://lake/{name}", default_branch="main", exist_ok=True
    )
    return SimpleNamespace(
        client=client,
        repo=repo,
        name=name,
        source=source,
        s3=clients.boto3_client(tarn_s3),
        resource=clients.boto3_resource(tarn_s3),
        fs=clients.s3fs_filesystem(tarn_s3),
        stored=lambda: versitygw.stored("lake"),
    )


def ingest(dogs):
    """Calls 5 to 8."""
    branch = dogs.repo.branch("ingest").create(source_reference="main", exist_ok=True)
    assert branch.get_commit().id == dogs.repo.branch("main").head.id
    importer = branch.import_data(commit_message="import objects", metadata={"key": "value"})
    importer.prefix(f"{dogs.source}/Images", destination="raw/")
    importer.prefix(f"{dogs.source}/Annotation", destination="raw/")
    importer.start()
    deadline = time.monotonic() + 60
    while True:
        status = importer.status()
        if status.completed or status.error:
            break
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert status.error is None
    return branch, status


def read_categories(dogs, ref, count):
    """Calls 13 to 15: the first categories, and every image of each."""
    page = dogs.s3.list_objects_v2(Bucket=dogs.name, Prefix=f"{ref}/raw/Images/", Delimiter="/")
    categories = [prefix["Prefix"] for prefix in page["CommonPrefixes"]][:count]
    images = {}
    for category in categories:
        for item in dogs.s3.list_objects_v2(Bucket=dogs.name, Prefix=category)["Contents"][:250]:
            body = io.BytesIO()
            dogs.resource.Bucket(dogs.name).Object(item["Key"]).download_fileobj(body)
            images[item["Key"]] = body.getvalue()
    return categories, images


def spark_write_json(dogs, prefix, part, rows):
    """Call 17 as S3A's v1 committer sends it: markers, _temporary, copy and delete for each rename, _SUCCESS."""
    s3, bucket = dogs.s3, dogs.name
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/", MaxKeys=2)
    temporary = f"{prefix}/_temporary/0"
    for marker in (f"{prefix}/", f"{prefix}/_temporary/", f"{temporary}/"):
        s3.put_object(Bucket=bucket, Key=marker, Body=b"")
    with pytest.raises(ClientError) as absent:
        s3.head_object(Bucket=bucket, Key=f"{prefix}/_SUCCESS")
    assert absent.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    attempt = f"{temporary}/_temporary/attempt_0/{part}"
    s3.put_object(Bucket=bucket, Key=attempt, Body="".join(json.dumps(row) + "\n" for row in rows).encode())
    for old, new in [(attempt, f"{temporary}/task_0/{part}"), (f"{temporary}/task_0/{part}", f"{prefix}/{part}")]:
        etag = s3.head_object(Bucket=bucket, Key=old)["ETag"]
        s3.copy_object(
            Bucket=bucket,
            Key=new,
            CopySource={"Bucket": bucket, "Key": old},
            CopySourceIfMatch=etag,
            MetadataDirective="REPLACE",
            ContentType="application/octet-stream",
        )
        s3.delete_object(Bucket=bucket, Key=old)
    left = s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/_temporary/", MaxKeys=5000)["Contents"]
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": item["Key"]} for item in left], "Quiet": True})
    s3.put_object(Bucket=bucket, Key=f"{prefix}/_SUCCESS", Body=b"")
    s3.delete_object(Bucket=bucket, Key=f"{prefix}/")


def spark_read_json(dogs, prefix):
    """Call 18: every part, in byte order."""
    rows = []
    for item in dogs.s3.list_objects_v2(Bucket=dogs.name, Prefix=f"{prefix}/", Delimiter="/")["Contents"]:
        if "/part-" in item["Key"]:
            body = dogs.s3.get_object(Bucket=dogs.name, Key=item["Key"])["Body"].read()
            rows += [json.loads(line) for line in body.splitlines()]
    return rows


def experiment(dogs, name, loss, accuracy, part):
    """Calls 10 to 23."""
    repo = dogs.repo
    branch = repo.branch(name).create(source_reference="ingest", exist_ok=True)
    assert branch.get_commit().id == repo.branch("ingest").head.id
    parameters = {**PARAMETERS, "image_path": f"{name}/raw/Images", "config_path": f"{name}/config"}
    branch.object("config/config.json").upload(data=json.dumps(parameters), mode="wb", pre_sign=False)
    categories, images = read_categories(dogs, name, 3)
    assert categories == [f"{name}/raw/Images/{breed}/" for breed in sorted(BREEDS)[:3]]
    assert len(images) == 20
    spark_write_json(dogs, f"{name}/metrics", part, [{"loss": str(loss), "accuracy": str(accuracy)}])
    assert spark_read_json(dogs, f"{name}/metrics")[0] == {"loss": str(loss), "accuracy": str(accuracy)}
    uncommitted = {(change.path, change.type, change.path_type) for change in branch.uncommitted()}
    assert uncommitted == {
        ("config/config.json", "added", "object"),
        ("metrics/_SUCCESS", "added", "object"),
        (f"metrics/{part}", "added", "object"),
    }
    metadata = {key: str(value) for key, value in {**parameters, "loss": loss, "accuracy": accuracy}.items()}
    commit = branch.commit(message=f"Saving model metrics to {name}", metadata=metadata).get_commit()
    assert commit.metadata == metadata
    save_model(dogs, name, metadata)
    return branch


def save_model(dogs, name, metadata):
    """Calls 21 to 23."""
    branch = dogs.repo.branch(name)
    model = pickle.dumps({"branch": name, "weights": bytes(range(256)) * (MODEL_BYTES // 256)})
    dogs.s3.put_object(Body=model, Bucket=dogs.name, Key=f"{name}/artifacts/model.pkl")
    assert [change.path for change in branch.uncommitted()] == ["artifacts/model.pkl"]
    branch.commit(message=f"Saving model artifacts to {name}", metadata=metadata)
    loaded = io.BytesIO()
    dogs.s3.download_fileobj(Fileobj=loaded, Bucket=dogs.name, Key=f"{name}/artifacts/model.pkl")
    assert loaded.getvalue() == model


@pytest.fixture
def trained(dogs):
    """The notebook up to the decision; H1: an accuracy above 1 is stored as it is."""
    ingest(dogs)
    experiment(dogs, "experiment-1", 1.91, 0.83, "part-00000-1f9c7f7e.c000.json")
    experiment(dogs, "experiment-2", 1.25, 1.31, "part-00000-9ab3d2a1.c000.json")
    return dogs


def test_the_whole_notebook(dogs):
    assert dogs.client.version  # call 1
    again = lakefs.Repository(dogs.name, client=dogs.client).create(  # call 2 once more: H8
        storage_namespace=f"s3://lake/{dogs.name}", default_branch="main", exist_ok=True
    )
    assert again.properties == dogs.repo.properties
    before = dogs.stored()
    _, status = ingest(dogs)
    # "Images" and "Annotation" without a slash: keys are relative to the last one, and Annotation_JSON comes along.
    assert status.ingested_objects == 2 * IMAGES + 1
    assert dogs.stored() == before
    experiment(dogs, "experiment-1", 1.91, 0.83, "part-00000-1f9c7f7e.c000.json")
    experiment(dogs, "experiment-2", 1.25, 1.31, "part-00000-9ab3d2a1.c000.json")
    assert [branch.id for branch in dogs.repo.branches()] == ["experiment-1", "experiment-2", "ingest", "main"]
    stored = dogs.stored()
    accuracies = {
        name: float(dogs.repo.branch(name).get_commit().metadata["accuracy"]) for name in ("experiment-1", "experiment-2")
    }
    winner = "experiment-1" if accuracies["experiment-1"] > accuracies["experiment-2"] else "experiment-2"
    assert winner == "experiment-2"
    reference = dogs.repo.branch(winner).merge_into(dogs.repo.branch("main"))  # call 25
    assert dogs.repo.branch("main").get_commit().id == reference
    assert dogs.stored() == stored
    dogs.repo.tag("2026_11_20_12_00_00_experiment-2").create("experiment-2")
    _, images = read_categories(dogs, "2026_11_20_12_00_00_experiment-2", 3)
    assert len(images) == 20


def test_imported_bytes_come_from_the_other_bucket(dogs):  # H9, H7
    ingest(dogs)
    key = "ingest/raw/Images/n02085620-Chihuahua/001.jpg"
    body = dogs.s3.get_object(Bucket=dogs.name, Key=key)
    assert body["Body"].read() == image("n02085620-Chihuahua", 1)
    listed = dogs.s3.list_objects_v2(Bucket=dogs.name, Prefix="ingest/raw/Images/")["Contents"]
    assert key in [item["Key"] for item in listed]
    assert len(listed) == IMAGES
    stat = dogs.repo.branch("ingest").object("raw/Images/n02085620-Chihuahua/001.jpg").stat()
    assert stat.physical_address == "s3://sample-data/dogs/Images/n02085620-Chihuahua/001.jpg"


def test_promotion_brings_the_raw_data_too(trained):  # H3
    assert list(trained.repo.ref("main").objects()) == []
    trained.repo.branch("experiment-2").merge_into("main")
    paths = [item.path for item in trained.repo.ref("main").objects()]
    assert len([path for path in paths if path.startswith("raw/")]) == 2 * IMAGES + 1
    assert {path for path in paths if not path.startswith("raw/")} == {
        "artifacts/model.pkl",
        "config/config.json",
        "metrics/_SUCCESS",
        "metrics/part-00000-9ab3d2a1.c000.json",
    }


def test_promoting_the_other_one_conflicts(trained):  # H4, H5
    trained.repo.branch("experiment-2").merge_into("main")
    main = trained.repo.branch("main")
    with pytest.raises(lakefs.exceptions.ConflictException):
        trained.repo.branch("experiment-1").merge_into(main)
    conflicts = [change.path for change in main.diff("experiment-1") if change.type == "conflict"]
    assert conflicts == ["artifacts/model.pkl", "config/config.json"]
    trained.repo.branch("experiment-1").merge_into(main, strategy="source-wins")
    parts = [item.path for item in trained.repo.ref("main").objects(prefix="metrics/part-")]
    assert len(parts) == 2, "part files have names of their own: the older run's stays beside the newer one's"


def test_the_metrics_path_exists_on_the_second_run_until_the_branch_is_reset(trained):  # H8
    branch = trained.repo.branch("experiment-1")
    with pytest.raises(AssertionError):
        spark_write_json(trained, "experiment-1/metrics", "part-2.json", [{}])
    trained.s3.put_object(Bucket=trained.name, Key="experiment-1/metrics/part-3.json", Body=b"{}")
    branch.reset_changes()
    assert list(branch.uncommitted()) == []
    branch.delete()
    branch.create(source_reference="ingest")
    spark_write_json(trained, "experiment-1/metrics", "part-2.json", [{"accuracy": "0.9"}])
    assert spark_read_json(trained, "experiment-1/metrics") == [{"accuracy": "0.9"}]


def test_copies_and_renames_move_no_bytes(dogs):  # H6
    ingest(dogs)
    dogs.repo.branch("experiment-1").create(source_reference="ingest")
    dogs.s3.put_object(Bucket=dogs.name, Key="experiment-1/artifacts/model.pkl", Body=b"w" * 300_000)
    stored = dogs.stored()
    source = {"Bucket": dogs.name, "Key": "experiment-1/artifacts/model.pkl"}
    copied = dogs.s3.copy_object(Bucket=dogs.name, Key="experiment-1/artifacts/copy.pkl", CopySource=source)
    dogs.s3.copy_object(
        Bucket=dogs.name,
        Key="experiment-1/chosen.jpg",
        CopySource={"Bucket": dogs.name, "Key": "ingest/raw/Images/n02085620-Chihuahua/001.jpg"},
    )
    dogs.repo.branch("experiment-1").object("artifacts/model.pkl").copy("experiment-1", "artifacts/again.pkl")
    assert dogs.stored() == stored
    assert copied["CopyObjectResult"]["ETag"] == dogs.s3.head_object(**source)["ETag"]
    for key in ("artifacts/copy.pkl", "artifacts/again.pkl"):
        assert dogs.s3.get_object(Bucket=dogs.name, Key=f"experiment-1/{key}")["Body"].read() == b"w" * 300_000
    chosen = dogs.s3.get_object(Bucket=dogs.name, Key="experiment-1/chosen.jpg")["Body"].read()
    assert chosen == image("n02085620-Chihuahua", 1)


def test_commit_merge_and_revert_write_no_objects(dogs):
    ingest(dogs)
    branch = dogs.repo.branch("experiment-1").create(source_reference="ingest")
    with dogs.fs.open(f"{dogs.name}/experiment-1/metrics/metrics.json", "w") as out:
        json.dump({"accuracy": 0.9}, out)
    stored = dogs.stored()
    branch.commit(message="metrics")
    branch.merge_into("main")
    main = dogs.repo.branch("main")
    branch.object("metrics/metrics.json").delete()
    removed = branch.commit(message="remove").get_commit()
    branch.revert(removed.id)
    assert branch.object("metrics/metrics.json").exists()
    main.revert(main.head.id, parent_number=1)
    assert list(dogs.repo.ref("main").objects()) == []
    assert dogs.stored() == stored


def test_an_object_larger_than_one_part_is_one_object(dogs):
    body = bytes(range(256)) * (MODEL_BYTES // 256)
    dogs.s3.upload_fileobj(io.BytesIO(body), dogs.name, "main/big.bin")
    head = dogs.s3.head_object(Bucket=dogs.name, Key="main/big.bin")
    listed = dogs.s3.list_objects_v2(Bucket=dogs.name, Prefix="main/big")["Contents"][0]
    assert (head["ContentLength"], head["ETag"]) == (len(body), listed["ETag"])
    assert head["ETag"].strip('"').count("-") == 1
    loaded = io.BytesIO()
    dogs.s3.download_fileobj(dogs.name, "main/big.bin", loaded)
    assert loaded.getvalue() == body

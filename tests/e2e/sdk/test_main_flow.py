"""The flow Tarn exists for: import by reference, a branch for each experiment, commit, compare, merge, tag, read back.

The images are the 8x8 digits that scikit-learn ships. Clients: the lakeFS SDK, boto3 and s3fs, unmodified.
"""

import io
import json
import pickle

import clients
import lakefs
import numpy
import pytest
from PIL import Image

IMAGES = 200


def write_digits(directory, count=IMAGES):
    """PNG files by label, and labels.csv; returns the number of files."""
    from sklearn.datasets import load_digits  # every process of a run imports this file: not so the library

    digits = load_digits()
    rows = ["file,label"]
    for number in range(count):
        label = digits.target[number]
        file = directory / "images" / str(label) / f"{number:04}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((digits.images[number] * 15).astype("uint8")).save(file)
        rows.append(f"images/{label}/{number:04}.png,{label}")
    (directory / "labels.csv").write_text("\n".join(rows) + "\n")
    return count + 1


def load_through_s3(s3, bucket, ref):
    """Features and labels, read image by image through the gateway as a notebook would."""
    labels = s3.get_object(Bucket=bucket, Key=f"{ref}/digits/labels.csv")["Body"].read().decode().splitlines()[1:]
    features, targets = [], []
    for row in labels:
        file, label = row.split(",")
        body = s3.get_object(Bucket=bucket, Key=f"{ref}/digits/{file}")["Body"].read()
        features.append(numpy.asarray(Image.open(io.BytesIO(body))).flatten())
        targets.append(int(label))
    return numpy.array(features), numpy.array(targets)


def train(tarn, repo, branch_name, strength):
    """One experiment on its own branch; returns its accuracy."""
    from sklearn.linear_model import LogisticRegression

    s3 = clients.boto3_client(tarn)
    branch = repo.branch(branch_name).create(source_reference="ingest")
    features, targets = load_through_s3(s3, repo.id, branch_name)
    model = LogisticRegression(C=strength, max_iter=50).fit(features, targets)
    accuracy = float(model.score(features, targets))
    branch.object("config/config.json").upload(data=json.dumps({"C": strength}), content_type="application/json")
    s3.put_object(Bucket=repo.id, Key=f"{branch_name}/artifacts/model.pkl", Body=pickle.dumps(model))
    with clients.s3fs_filesystem(tarn).open(f"{repo.id}/{branch_name}/metrics/metrics.json", "w") as out:
        json.dump({"accuracy": accuracy}, out)
    branch.commit(message=f"Train with C={strength}", metadata={"C": str(strength), "accuracy": str(accuracy)})
    return accuracy


@pytest.fixture
def source(tarn, name):
    directory = tarn.import_root / name
    directory.mkdir()
    return directory


def imported(repo, source_url):
    branch = repo.branch("ingest").create(source_reference="main")
    job = branch.import_data(commit_message="Import the digits").prefix(source_url, destination="digits/")
    status = job.run()
    assert status.completed and status.error is None
    return status


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_digits_flow(tarn, repo, source):
    files = write_digits(source)
    before = tarn.stored()
    status = imported(repo, f"local://{source}/")
    assert status.ingested_objects == files
    assert tarn.stored() == before, "an import must not copy bytes"

    accuracies = {name: train(tarn, repo, name, c) for name, c in [("exp-1", 1e-6), ("exp-2", 1.0)]}
    assert len(tarn.stored()) == len(before) + 2 * 3, "only config, model and metrics of each experiment are new"
    assert accuracies["exp-2"] > accuracies["exp-1"]

    metrics = {name: float(repo.branch(name).get_commit().metadata["accuracy"]) for name in accuracies}
    assert metrics == accuracies
    stored = tarn.stored()
    merge = repo.branch("exp-2").merge_into("main")
    tag = repo.tag("champion").create("main")
    assert tarn.stored() == stored, "a merge and a tag must not write objects"

    assert tag.get_commit().id == merge
    changes = {change.path for change in repo.branch("exp-1").diff("exp-2")}
    assert changes == {"config/config.json", "artifacts/model.pkl", "metrics/metrics.json"}
    with tag.object("artifacts/model.pkl").reader(mode="rb") as body:
        model = pickle.loads(body.read())
    features, targets = load_through_s3(clients.boto3_client(tarn), repo.id, "champion")
    assert float(model.score(features, targets)) == accuracies["exp-2"]


def test_the_second_experiment_conflicts_where_both_wrote(tarn, repo, source):
    write_digits(source, 20)
    imported(repo, f"local://{source}/")
    for number in (1, 2):
        branch = repo.branch(f"exp-{number}").create(source_reference="ingest")
        branch.object("config.json").upload(data=f"{number}")
        branch.commit(message="configure")
    repo.branch("exp-1").merge_into("main")
    with pytest.raises(lakefs.exceptions.ConflictException):
        repo.branch("exp-2").merge_into("main")
    assert repo.ref("main").object("config.json").reader(mode="r").read() == "1"
    repo.branch("exp-2").merge_into("main", strategy="source-wins")
    assert repo.ref("main").object("config.json").reader(mode="r").read() == "2"


def test_a_model_survives_the_loss_of_its_branch(repo):
    branch = repo.branch("exp").create(source_reference="main")
    branch.object("model.pkl").upload(data=b"weights")
    commit = branch.commit(message="train").get_commit()
    branch.delete()
    assert repo.ref(commit.id).object("model.pkl").reader(mode="rb").read() == b"weights"


def test_digits_flow_on_an_s3_store(tarn_s3, versitygw, name):
    lake = clients.boto3_client(versitygw)
    for number in range(25):
        lake.put_object(Bucket="lake", Key=f"{name}/source/{number:02}.png", Body=b"png%d" % number)
    client = clients.lakefs_client(tarn_s3)
    repo = lakefs.repository(name, client=client).create(storage_namespace=f"s3://lake/{name}/repository")
    before = versitygw.stored("lake")
    assert imported(repo, f"s3://lake/{name}/source/").ingested_objects == 25
    assert versitygw.stored("lake") == before
    s3 = clients.boto3_client(tarn_s3)
    assert s3.get_object(Bucket=name, Key="ingest/digits/07.png")["Body"].read() == b"png7"
    repo.branch("exp").create(source_reference="ingest")
    s3.put_object(Bucket=name, Key="exp/model.pkl", Body=b"w" * 100_000)
    repo.branch("exp").commit(message="train")
    repo.branch("exp").merge_into("main")
    new = set(versitygw.stored("lake")) - set(before)
    assert len(new) == 1 and next(iter(new)).startswith(f"{name}/repository/data/")
    assert repo.ref("main").object("model.pkl").reader(mode="rb").read() == b"w" * 100_000
    assert len(list(repo.ref("main").objects())) == 26

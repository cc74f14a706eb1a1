"""MLflow: artifacts in a branch, tracking in SQLite beside it."""

import concurrent.futures
import functools
import os
import shutil
import tempfile
from pathlib import Path

import mlflow
import numpy
from boto3.exceptions import S3UploadFailedError
from botocore.exceptions import ClientError
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from sklearn.linear_model import LinearRegression

NAME = "mlflow 3.17.2"
ENVIRONMENT = "mlflow"
HEAVY = True
NOT_OFFERED = {
    "repositories": "an artifact store is one bucket",
    "made_bucket": "an artifact store is one bucket",
    "list_recursive": "lists one directory at a time",
    "get_range": "downloads whole artifacts",
    "rename": "artifacts keep their names",
}


@functools.cache
def configured(box):
    os.environ.update(box.keys_in_environment(), MLFLOW_S3_ENDPOINT_URL=box.url, MLFLOW_DISABLE_TELEMETRY="true")
    mlflow.set_tracking_uri(f"sqlite:///{box.scratch}/tracking.db")


def artifacts(box, directory=""):
    configured(box)
    return get_artifact_repository(f"s3://{box.repo}/{directory}")


def put(box, files):
    artifacts(box).log_artifacts(box.tree(files))


def get(box, files):
    for key, path in files.items():
        with tempfile.TemporaryDirectory(dir=box.scratch) as place:
            shutil.move(artifacts(box).download_artifacts(key, place), path)


def list_directory(box, prefix):
    return [info.path + ("/" if info.is_dir else "") for info in artifacts(box).list_artifacts(prefix)]


def list_all(box, prefix):
    return [key for entry in list_directory(box, prefix) for key in (list_all(box, entry) if entry.endswith("/") else [entry])]


def delete(box, keys):
    for key in keys:
        artifacts(box).delete_artifacts(key)


def delete_directory(box, prefix):
    artifacts(box).delete_artifacts(prefix)


def presign(box, key):
    return artifacts(box).get_download_presigned_url(key).url


def refused(box, key, path):
    try:
        artifacts(box, os.path.dirname(key)).log_artifact(path)
    except (ClientError, S3UploadFailedError) as error:
        return str(error)
    return None


def run_in(box, directory):
    """A run whose artifacts lie below the directory."""
    configured(box)
    return mlflow.start_run(experiment_id=mlflow.create_experiment(directory, f"s3://{box.repo}/{directory}"))


def also_logs_and_lists_artifacts_of_a_run(box):
    local = box.tree({"plots/a.txt": box.write("a.txt", "a"), "plots/below/b.txt": box.write("b.txt", "b")})
    with run_in(box, "dev/runs") as run:
        mlflow.log_metric("loss", 0.25)
        mlflow.log_text("notes", "notes.txt")
        mlflow.log_dict({"epochs": 3}, "config/config.json")
        mlflow.log_artifacts(local, "tree")
    listed = mlflow.artifacts.list_artifacts(run_id=run.info.run_id)
    assert [(info.path, info.is_dir, info.file_size) for info in listed] == [
        ("config", True, None),
        ("notes.txt", False, 5),
        ("tree", True, None),
    ]
    assert list_all(box, f"dev/runs/{run.info.run_id}/artifacts/tree/") == [
        f"dev/runs/{run.info.run_id}/artifacts/tree/plots/{name}" for name in ("a.txt", "below/b.txt")
    ]
    assert mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/config/config.json") == {"epochs": 3}
    place = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="tree", dst_path=box.scratch)
    assert Path(f"{place}/plots/below/b.txt").read_text() == "b"


def also_keeps_a_model_of_scikit_learn(box):
    inputs = numpy.arange(20.0).reshape(10, 2)
    model = LinearRegression().fit(inputs, inputs.sum(axis=1))
    with run_in(box, "dev/models"):
        # Without pip_requirements it spends half a minute on guessing them.
        logged = mlflow.sklearn.log_model(model, name="model", pip_requirements=["scikit-learn"])
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    assert (loaded.predict(inputs) == model.predict(inputs)).all()
    assert any(key.endswith("/MLmodel") for key in list_all(box, "dev/models/"))


def also_deletes_a_directory_of_several_pages(box):
    """It deletes a page of a listing before it asks for the next."""
    one = box.write("one", "x")
    files = {f"dev/pages/{number:04}": one for number in range(1100)}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: put(box, {key: files[key]}), files))
    delete_directory(box, "dev/pages")
    assert list_directory(box, "dev/pages") == []


def also_measures_a_commit_by_the_files_of_its_runs(box):
    """The directory mlruns of its store of files, uploaded and committed: the server reads metrics, parameters, curves."""
    configured(box)
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    place = f"{box.scratch}/tracked/mlruns"
    client = mlflow.MlflowClient(tracking_uri=f"file://{place}")
    run = client.create_run(client.create_experiment("digits", artifact_location=f"{box.scratch}/tracked/artifacts"))
    losses = [1.0, 0.5, 1 / 3]
    for step, loss in enumerate(losses):
        client.log_metric(run.info.run_id, "val/loss", loss, step=step * 10)
    client.log_metric(run.info.run_id, "accuracy", 0.9375)
    client.log_metric(run.info.run_id, "bad", float("nan"))
    client.log_param(run.info.run_id, "optimizer", "adam")
    client.log_param(run.info.run_id, "lr", 0.001)
    client.set_terminated(run.info.run_id)
    artifacts(box, "dev").log_artifacts(place, "mlruns")
    commit = box.rest("POST", "/branches/dev/commits", json={"message": "what MLflow wrote"})["id"]
    facts = box.rest("GET", f"/commits/{commit}/metrics")
    of_run = [metric for metric in facts["metrics"] if run.info.run_id in metric["origin"]]
    assert {metric["name"]: metric["value"] for metric in of_run} == {"val/loss": 1 / 3, "accuracy": 0.9375, "bad": "NaN"}
    assert len(of_run) == len(facts["metrics"]), "none of the other files is a metric"
    assert facts["params"] == {"optimizer": "adam", "lr": "0.001"}
    assert facts["warnings"] == []
    curve = box.rest("GET", f"/commits/{commit}/series", metric="val/loss")["results"]
    assert [(point["step"], point["value"]) for point in curve] == [(0, 1.0), (10, 0.5), (20, 1 / 3)]

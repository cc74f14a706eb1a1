"""One experiment on a branch of its own: read the images through the branch, train, write config, model and metrics,
commit. Run by digits_demo.py, three at a time; the server comes in the environment."""

import argparse
import io
import json
import os
import pickle
import warnings

import boto3
import lakefs
import numpy
import s3fs
from botocore.config import Config
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

READERS = 8


def load(s3, bucket, branch):
    """Features and labels, image by image, as a notebook would read them."""
    from concurrent.futures import ThreadPoolExecutor

    table = s3.get_object(Bucket=bucket, Key=f"{branch}/raw/labels.csv")["Body"].read().decode()
    rows = [row.split(",") for row in table.splitlines()[1:]]

    def read(row):
        body = s3.get_object(Bucket=bucket, Key=f"{branch}/raw/{row[0]}")["Body"].read()
        return numpy.asarray(Image.open(io.BytesIO(body))).flatten()

    with ThreadPoolExecutor(READERS) as pool:
        features = list(pool.map(read, rows))
    return numpy.array(features) / 255.0, numpy.array([int(row[1]) for row in rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("branch")
    parser.add_argument("--regularisation", type=float, required=True)
    options = parser.parse_args()
    url, key, secret = (os.environ[name] for name in ("TARN_ENDPOINT", "TARN_ACCESS_KEY", "TARN_SECRET_KEY"))
    client = lakefs.client.Client(host=url, username=key, password=secret)
    repo = lakefs.repository("digits", client=client)
    branch = repo.branch(options.branch).create(source_reference="ingest")
    s3 = boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name="us-east-1",
        config=Config(max_pool_connections=READERS),
    )
    features, labels = load(s3, repo.id, options.branch)
    train_x, test_x, train_y, test_y = train_test_split(features, labels, test_size=0.25, random_state=42)
    warnings.filterwarnings("ignore")
    model = LogisticRegression(C=options.regularisation, max_iter=200).fit(train_x, train_y)
    accuracy = float(model.score(test_x, test_y))

    config = {"C": options.regularisation, "max_iter": 200, "images": len(labels)}
    branch.object("config/config.json").upload(data=json.dumps(config), content_type="application/json")
    s3.put_object(Bucket=repo.id, Key=f"{options.branch}/artifacts/model.pkl", Body=pickle.dumps(model))
    files = s3fs.S3FileSystem(key=key, secret=secret, endpoint_url=url, client_kwargs={"region_name": "us-east-1"})
    with files.open(f"{repo.id}/{options.branch}/metrics/metrics.json", "w") as out:
        json.dump({"accuracy": accuracy}, out)
    changes = sorted(change.path for change in branch.uncommitted())
    assert changes == ["artifacts/model.pkl", "config/config.json", "metrics/metrics.json"], changes
    branch.commit(
        message=f"Train with C={options.regularisation}", metadata={"accuracy": str(accuracy), "C": str(options.regularisation)}
    )
    print(f"{options.branch}: accuracy {accuracy:.4f} with C={options.regularisation}")


if __name__ == "__main__":
    main()

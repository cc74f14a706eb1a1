# %% [markdown]
# # Branch, write, commit, merge
# A repository is a bucket, and the first segment of a key is a branch: any S3 client reads and writes branches.

# %%
import os

import boto3
import lakefs

url, key, secret = (os.environ[name] for name in ("TARN_ENDPOINT", "TARN_ACCESS_KEY", "TARN_SECRET_KEY"))
name = os.environ.get("REPOSITORY", "animals")
client = lakefs.client.Client(host=url, username=key, password=secret)
s3 = boto3.client("s3", endpoint_url=url, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1")


def read(ref, path):
    return s3.get_object(Bucket=name, Key=f"{ref}/{path}")["Body"].read().decode()


# %% [markdown]
# ## A repository with one commit

# %%
repo = lakefs.repository(name, client=client).create(storage_namespace=f"local://{name}")
main = repo.branch("main")
s3.put_object(Bucket=name, Key="main/labels.csv", Body=b"file,label\n1.png,cat\n")
main.commit("Add labels", metadata={"source": "camera"})

# %% [markdown]
# ## A branch
# It costs no copy. What is written to it is not visible on `main`.

# %%
fix = repo.branch("fix-labels").create(source_reference="main")
s3.put_object(Bucket=name, Key="fix-labels/labels.csv", Body=b"file,label\n1.png,dog\n")
print("on fix-labels:", read("fix-labels", "labels.csv"))
print("on main:      ", read("main", "labels.csv"))

# %% [markdown]
# ## What will change, and the merge

# %%
fix.commit("The first picture is a dog")
for change in main.diff(fix):
    print(change.type, change.path)
fix.merge_into(main)
print("on main after the merge:", read("main", "labels.csv"))

# %% [markdown]
# ## A tag for what was trained on
# The commit before the merge stays readable as well, here by a ref expression.

# %%
repo.tag("v1").create("main")
print("at v1:    ", read("v1", "labels.csv"))
print("at main~1:", read("main~1", "labels.csv"))

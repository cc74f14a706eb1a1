import sys; sys.path.insert(0,'/work/ci/tests/e2e')
from test_promotion import *
def test_adhoc(cli, repo, s3, rest, three):
    first = cli.json("promote", "exp-2", "--to", "main", *TIMEOUT)
    cli.run("promote", "rollback", first["id"])
    repo.branch("exp-2").object("config/new.json").upload(data=b"{}")
    repo.branch("exp-2").commit("n", metadata={"metric.accuracy": "0.95", "metric.loss": "0.1"})
    done = cli.json("promote", "exp-2", "--to", "main", *TIMEOUT)
    print([o["Key"] for o in s3.list_objects_v2(Bucket=repo.id, Prefix="@champion/")["Contents"]])
    assert 0

"""The lakeFS provider of Airflow: its operators and sensors, each as a task runs it, over REST."""

import os
import urllib.parse
from pathlib import Path
from types import SimpleNamespace

from tool_options import paths

NAME = "airflow-provider-lakefs 0.48.0"
ENVIRONMENT = "airflow"
KIND = "tools"
HEAVY = True
CONNECTION = "tarn"
# The parts of a task's context that the operators use.
CONTEXT = {"ti": SimpleNamespace(xcom_push=lambda **_: None), "params": {}}


def quoted(text):
    return urllib.parse.quote(text, safe="")


def also_runs_the_tasks_of_a_branch(box):
    # Airflow reads its settings when it is imported.
    os.environ.update(
        AIRFLOW_HOME=str(Path(box.scratch) / "airflow"),
        AIRFLOW__CORE__LOAD_EXAMPLES="false",
        AIRFLOW_CONN_TARN=f"lakefs://{box.access_key}:{quoted(box.secret_key)}@{quoted(box.url)}",
    )
    from lakefs_provider.operators.commit_operator import LakeFSCommitOperator
    from lakefs_provider.operators.create_branch_operator import LakeFSCreateBranchOperator
    from lakefs_provider.operators.delete_branch_operator import LakeFSDeleteBranchOperator
    from lakefs_provider.operators.get_commit_operator import LakeFSGetCommitOperator
    from lakefs_provider.operators.get_object_operator import LakeFSGetObjectOperator
    from lakefs_provider.operators.merge_operator import LakeFSMergeOperator
    from lakefs_provider.operators.upload_operator import LakeFSUploadOperator
    from lakefs_provider.sensors.commit_sensor import LakeFSCommitSensor
    from lakefs_provider.sensors.file_sensor import LakeFSFileSensor

    def run(operator, name, **options):
        task = operator(task_id=name, lakefs_conn_id=CONNECTION, repo=box.repo, **options)
        return task.poke(CONTEXT) if hasattr(task, "poke") else task.execute(CONTEXT)

    run(LakeFSCreateBranchOperator, "branch", branch="etl", source_branch="main")
    before = run(LakeFSGetCommitOperator, "head", ref="etl")
    assert not run(LakeFSFileSensor, "file", branch="etl", path="etl/a.csv")
    run(LakeFSUploadOperator, "upload", branch="etl", path="etl/a.csv", content=b"id\n1\n")
    assert run(LakeFSFileSensor, "file", branch="etl", path="etl/a.csv")
    commit = run(LakeFSCommitOperator, "commit", branch="etl", msg="by Airflow", metadata={"dag": "etl"})
    assert run(LakeFSCommitSensor, "committed", branch="etl", prev_commit_id=before["id"])
    assert run(LakeFSGetObjectOperator, "object", ref=commit, path="etl/a.csv") == "id\n1\n"
    run(LakeFSMergeOperator, "merge", source_ref="etl", destination_branch="main", msg="merged", metadata={})
    assert paths(box, "main", "etl/") == ["etl/a.csv"]
    run(LakeFSDeleteBranchOperator, "delete", branch="etl")

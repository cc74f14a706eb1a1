"""Spark through Hadoop's S3A: jobs that commit by renaming, and by finishing uploads (the magic committer)."""

import concurrent.futures
import functools
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

NAME = "Spark S3A 3.5.0"
ENVIRONMENT = "spark"
HEAVY = True
KIND = "tables"
RENAMING = {
    "fs.s3a.committer.name": "file",
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
}
MAGIC = {
    "fs.s3a.committer.name": "magic",
    # Otherwise the job that ends first aborts the uploads of the others below the same directory.
    "fs.s3a.committer.abort.pending.uploads": "false",
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol",
    "spark.sql.parquet.output.committer.class": "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter",
}


@functools.cache
def started(box):
    options = {
        "spark.driver.extraClassPath": f"{Path(box.programs).parent}/jars/*",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": f"{box.scratch}/warehouse",
        "spark.local.dir": box.scratch,
        "spark.hadoop.fs.s3a.endpoint": box.url,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": box.access_key,
        "spark.hadoop.fs.s3a.secret.key": box.secret_key,
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def session(box, committer):
    made = started(box).newSession()
    for name, value in committer.items():
        made.conf.set(name, value)
    return made


@functools.cache
def spark(box):
    return session(box, RENAMING)


@functools.cache
def magic(box):
    """Spark's default where the class of its protocol is there."""
    return session(box, MAGIC)


def stop(box):
    started(box).stop()


def rows(one, count):
    return one.range(count).selectExpr("id", "concat('row ', id) as label", "id / 2 as value", "id % 4 as part")


def address(box, place):
    return f"s3a://{box.repo}/{place}"


def write_table(box, place, count):
    rows(spark(box), count).write.mode("overwrite").parquet(address(box, place))


def write_partitions(box, place, count):
    rows(spark(box), count).write.partitionBy("part").parquet(address(box, place))


def summary(found):
    return list(found.selectExpr("count(*)", "sum(id)").first())


def read_table(box, place):
    return summary(spark(box).read.parquet(address(box, place)))


def read_ids(box, place, first, end):
    found = spark(box).read.parquet(address(box, place)).where(f"id >= {first} and id < {end}").select("id")
    return sorted(row.id for row in found.collect())


def append_at_once(box, place, count, writers):
    """With the magic committer: those that rename share the directory _temporary, and the first to end removes it."""
    at_once([lambda: rows(magic(box), count).write.mode("append").parquet(address(box, place))] * writers)


def at_once(jobs):
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        for ended in [pool.submit(job) for job in jobs]:
            ended.result()


def refused(box, place, count):
    try:
        write_table(box, place, count)
    except (PySparkException, Py4JError) as error:
        return str(error)
    return None


def names(box, place):
    """Below a directory, as Hadoop lists them."""
    system, path = hadoop(box, place)
    return sorted(status.getPath().getName() for status in system.listStatus(path))


def hadoop(box, place):
    """(FileSystem, Path)"""
    context = started(box).sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(address(box, place))
    return path.getFileSystem(context._jsc.hadoopConfiguration()), path


def also_writes_text_formats(box):
    for kind in ("csv", "json"):
        place = address(box, f"dev/text/{kind}")
        rows(spark(box), 100).write.format(kind).save(place)
        found = spark(box).read.format(kind).schema("id long, label string, value double, part long").load(place)
        assert summary(found) == [100, 4950], kind


def also_appends_and_replaces_one_partition(box):
    place = address(box, "dev/grown")
    for _ in range(2):
        rows(spark(box), 100).write.mode("append").partitionBy("part").parquet(place)
    assert summary(spark(box).read.parquet(place)) == [200, 9900]
    rows(spark(box), 8).where("part = 1").write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy(
        "part"
    ).parquet(place)
    found = spark(box).read.parquet(place)
    assert summary(found.where("part = 1")) == [2, 6]
    assert summary(found.where("part <> 1")) == [150, 2 * (4950 - sum(range(1, 100, 4)))]
    assert names(box, "dev/grown") == ["_SUCCESS", "part=0", "part=1", "part=2", "part=3"]


def also_refuses_to_write_where_a_table_is(box):
    write_table(box, "dev/kept", 10)
    try:
        rows(spark(box), 20).write.parquet(address(box, "dev/kept"))
    except PySparkException as error:
        assert "PATH_ALREADY_EXISTS" in str(error)
    else:
        raise AssertionError("it was written")
    assert read_table(box, "dev/kept") == [10, 45]


def also_commits_by_renaming(box):
    rows(spark(box), 1000).repartition(3).write.partitionBy("part").parquet(address(box, "dev/renamed"))
    assert read_table(box, "dev/renamed") == [1000, 499500]
    assert names(box, "dev/renamed") == ["_SUCCESS", "part=0", "part=1", "part=2", "part=3"]
    system, path = hadoop(box, "dev/renamed/_SUCCESS")
    assert system.getFileStatus(path).getLen() == 0


def also_commits_by_finishing_uploads(box):
    """The magic committer begins an upload for each file and completes them all at the end of the job."""
    rows(magic(box), 1000).repartition(3).write.partitionBy("part").parquet(address(box, "dev/magic"))
    assert read_table(box, "dev/magic") == [1000, 499500]
    assert names(box, "dev/magic") == ["_SUCCESS", "part=0", "part=1", "part=2", "part=3"]
    system, path = hadoop(box, "dev/magic/_SUCCESS")
    told = started(box).sparkContext._jvm.org.apache.hadoop.fs.s3a.commit.files.SuccessData.load(system, path)
    assert (told.getCommitter(), len(told.getFilenames())) == ("magic", 12)


def also_leaves_nothing_of_a_job_that_fails(box):
    for one, place in ((spark(box), "dev/failed/renaming"), (magic(box), "dev/failed/magic")):
        try:
            # In one task: others that still run may write again what the end of the job has cleared up.
            rows(one, 100).repartition(1).selectExpr("id", "if(id = 99, raise_error('no'), label) as label").write.parquet(
                address(box, place)
            )
        except (PySparkException, Py4JError) as error:
            assert "no" in str(error)
        else:
            raise AssertionError("it was written")
        system, path = hadoop(box, place)
        assert not system.exists(path) or names(box, place) == [], names(box, place)
        assert not system.listUploads(place).hasNext()


def also_runs_jobs_at_once(box):
    def job(one, place, count):
        rows(one, count).write.mode("overwrite").parquet(address(box, place))
        assert summary(one.read.parquet(address(box, place))) == [count, count * (count - 1) // 2]

    at_once([functools.partial(job, one, f"dev/at-once/{n}", 100 + n) for n, one in enumerate([spark(box), magic(box)] * 4)])
    assert names(box, "dev/at-once") == [str(n) for n in range(8)]


def also_renames_and_deletes_directories(box):
    write_table(box, "dev/moved/from", 10)
    system, source = hadoop(box, "dev/moved/from")
    _, target = hadoop(box, "dev/moved/to")
    assert system.rename(source, target)
    assert read_table(box, "dev/moved/to") == [10, 45]
    assert not system.exists(source)
    assert system.delete(target, True)
    assert not system.exists(target)


def also_sees_branches_as_directories(box):
    write_table(box, "dev/here", 1)
    assert {"dev", "main"} <= set(names(box, ""))
    system, branch = hadoop(box, "dev")
    assert system.getFileStatus(branch).isDirectory()
    assert "here" in names(box, "dev")


def also_leaves_metrics_of_an_older_job_that_do_not_count(box):
    """As the notebook saves them, values as texts; the second job appends, so that parts of both are there."""

    def save(loss, accuracy):
        one = spark(box).createDataFrame([(str(loss), str(accuracy))], ["loss", "accuracy"]).repartition(1)
        one.write.mode("append").json(address(box, "dev/metrics"))
        commit = box.rest("POST", "/branches/dev/commits", json={"message": f"loss {loss}"})["id"]
        return box.rest("GET", f"/commits/{commit}/metrics")

    def values(facts):
        return {metric["name"]: metric["value"] for metric in facts["metrics"]}

    first = save(0.7, 1.25)
    assert (values(first), first["warnings"]) == ({"loss": 0.7, "accuracy": 1.25}, [])
    second = save(0.5, 0.75)
    parts = [name for name in names(box, "dev/metrics") if name.startswith("part-") and name.endswith(".json")]
    assert len(parts) == 2, parts
    assert values(second) == {"loss": 0.5, "accuracy": 0.75}
    [counted] = {metric["source"] for metric in second["metrics"]}
    [older] = {f"metrics/{name}" for name in parts} - {counted}
    assert second["warnings"] == [f"{older}: is left over from an older job: left out"]


def also_tells_look_alikes_apart(box):
    """Copies of Hadoop go through the client, renames are copies in the store."""

    def copy(source, target):
        system, path = hadoop(box, source)
        context = started(box).sparkContext
        assert context._jvm.org.apache.hadoop.fs.FileUtil.copy(
            system, path, system, hadoop(box, target)[1], False, context._jsc.hadoopConfiguration()
        )

    def move(source, target):
        system, path = hadoop(box, source)
        system.mkdirs(hadoop(box, target)[1].getParent())
        assert system.rename(path, hadoop(box, target)[1])

    def sync(source, target):
        for name in names(box, source):
            copy(source + name, target + name)

    box.tells_look_alikes_apart(copy, move, sync)

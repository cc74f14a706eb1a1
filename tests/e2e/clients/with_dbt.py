"""dbt with DuckDB: a model that reads files of a branch and writes one there."""

from pathlib import Path

import duckdb
import duckdb_extension_httpfs
from tool_options import commit, paths

NAME = "dbt-duckdb 1.10.0"
ENVIRONMENT = "dbt"
KIND = "tools"
HEAVY = True
TABLE = "{{ config(materialized='table') }}"


def extensions(box):
    """A directory where DuckDB finds httpfs, which `INSTALL` would fetch."""
    file = next(Path(duckdb_extension_httpfs.__file__).parent.glob("extensions/*/httpfs.duckdb_extension"))
    version, platform = duckdb.sql("PRAGMA version").fetchone()[0], duckdb.sql("PRAGMA platform").fetchone()[0]
    place = Path(box.scratch) / "extensions"
    (place / version / platform).mkdir(parents=True)
    (place / version / platform / file.name).symlink_to(file)
    return place


def also_builds_a_model(box):
    box.write("project/dbt_project.yml", "name: animals\nversion: '1.0.0'\nprofile: tarn\nmodel-paths: [models]\n")
    box.write(
        "project/profiles.yml",
        f"""tarn:
  target: dev
  outputs:
    dev:
      type: duckdb
      path: {box.scratch}/project.duckdb
      threads: 1
      extensions: [httpfs]
      config_options: {{extension_directory: {extensions(box)}}}
      secrets:
        - type: s3
          key_id: {box.access_key}
          secret: {box.secret_key}
          region: us-east-1
          endpoint: "{box.address}"
          url_style: path
          use_ssl: false
""",
    )
    box.write("project/models/seed.sql", f"{external(box, 'seed')} SELECT range AS id, range % 2 AS part FROM range(10)")
    box.write(
        "project/models/even.sql",
        f"{external(box, 'even')} SELECT id FROM read_parquet('s3://{box.repo}/dev/dbt/seed.parquet') WHERE part = 0"
        " -- depends on: {{ ref('seed') }}",
    )
    project = Path(box.scratch) / "project"

    def run(*models, **options):
        directories = ("--project-dir", project, "--profiles-dir", project)
        return box.run("dbt", "run", *directories, "--select", *models, DBT_SEND_ANONYMOUS_USAGE_STATS="false", **options)

    run("seed", "even")
    assert paths(box, "dev", "dbt/") == ["dbt/even.parquet", "dbt/seed.parquet"]
    kept = commit(box)
    box.write("project/models/seed.sql", f"{external(box, 'seed')} SELECT range AS id, range % 2 AS part FROM range(4)")
    counts = [f"(SELECT count(*) FROM read_parquet('s3://{box.repo}/{ref}/dbt/seed.parquet'))" for ref in (kept, "dev")]
    box.write("project/models/counts.sql", f"{TABLE} SELECT {', '.join(counts)} -- depends on: {{{{ ref('seed') }}}}")
    box.write("project/models/lost.sql", f"{external(box, 'lost').replace('/dev/', '/nowhere/')} SELECT 1 AS id")
    said = run("seed", "counts", "lost", fails=True)  # DuckDB does not tell what the server said
    assert b"HTTP code 404" in said and b"/nowhere/dbt/lost.parquet" in said, said
    with duckdb.connect(f"{box.scratch}/project.duckdb", read_only=True) as database:
        assert database.sql("FROM counts").fetchone() == (10, 4)


def external(box, name):
    return f"{{{{ config(materialized='external', location='s3://{box.repo}/dev/dbt/{name}.parquet') }}}}"

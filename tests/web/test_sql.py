"""SQL in the page, compared with DuckDB for Python over the same bytes."""

import datetime
import decimal
import io
import json
import random

import browser as browsers
import duckdb
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from playwright.sync_api import expect

ROWS = 50_000
START = datetime.datetime.fromisoformat("2026-01-01")


def table(rows):
    """NULLs in every column but two, and values that differ by less than JavaScript's numbers tell."""
    chance = random.Random(3)

    def some(value):
        return None if chance.random() < 0.1 else value

    def column(make, kind):
        return pyarrow.array([some(make(n)) for n in range(rows)], kind)

    return pyarrow.table(
        {
            "id": pyarrow.array(range(rows), pyarrow.int64()),
            "when": pyarrow.array(
                [START + datetime.timedelta(minutes=(n * 7919) % 200_000, microseconds=n) for n in range(rows)],
                pyarrow.timestamp("us"),
            ),
            "day": column(lambda n: START.date() + datetime.timedelta(days=n % 400), pyarrow.date32()),
            "label": column(lambda n: chance.choice(["cat", "dog", "Cow", "owl's", "ünï"]), pyarrow.string()),
            "price": column(lambda n: decimal.Decimal(chance.randrange(-(10**9), 10**9)) / 100, pyarrow.decimal128(12, 2)),
            "exact": column(lambda n: 2**53 + n, pyarrow.int64()),
            "ratio": column(lambda n: chance.random() * 2 - 1, pyarrow.float64()),
            "flag": column(lambda n: chance.random() < 0.5, pyarrow.bool_()),
            "tags": column(lambda n: [some(f"t{n % 5}"), "all"][: n % 3], pyarrow.list_(pyarrow.string())),
            "point": column(
                lambda n: {"x": n % 11, "y": some(f"y{n % 3}")},
                pyarrow.struct([("x", pyarrow.int64()), ("y", pyarrow.string())]),
            ),
        }
    )


def parquet(made):
    out = io.BytesIO()
    pyarrow.parquet.write_table(made, out, row_group_size=6000)
    return out.getvalue()


def csv(made):
    out = io.BytesIO()
    pyarrow.csv.write_csv(made.drop_columns(["tags", "point"]), out)
    return out.getvalue()


def arrow(made):
    out = io.BytesIO()
    pyarrow.feather.write_feather(made, out, compression="zstd")
    return out.getvalue()


def rows_of(made):
    return [
        {
            name: value.isoformat(sep=" ")
            if isinstance(value, datetime.datetime)
            else str(value)
            if isinstance(value, datetime.date)
            else float(value)
            if isinstance(value, decimal.Decimal)
            else value
            for name, value in row.items()
        }
        for row in made.to_pylist()
    ]


def json_list(made):
    return json.dumps(rows_of(made)).encode()


def json_lines(made):
    return "".join(json.dumps(row) + "\n" for row in rows_of(made)).encode()


JSON = (
    "read_json('{}', columns = {{id: 'BIGINT', \"when\": 'TIMESTAMP', day: 'DATE', label: 'VARCHAR', price: 'DOUBLE', "
    "exact: 'BIGINT', ratio: 'DOUBLE', flag: 'BOOLEAN', tags: 'VARCHAR[]', point: 'STRUCT(x BIGINT, y VARCHAR)'}})"
)
FILES = {
    "rows.parquet": (parquet, ROWS, "read_parquet('{}')"),
    "rows.csv": (csv, 5000, "read_csv('{}', header = true, sample_size = -1)"),
    "rows.arrow": (arrow, 5000, None),
    "rows.json": (json_list, 3000, JSON),
    "lines.json": (json_lines, 3000, JSON),
}

BASIC = [
    'SELECT * FROM object ORDER BY "when" LIMIT 3',
    'SELECT "when", label FROM object ORDER BY "when" DESC LIMIT 7',
    "SELECT count(*) FROM object WHERE \"when\" > '2026-02-01'",
    "SELECT count(*) FROM object WHERE \"when\" <= TIMESTAMP '2026-02-01 12:00:00'",
    "SELECT count(label), count(*), count(DISTINCT label) FROM object",
    "SELECT count(*) FROM object WHERE NOT (label = 'cat')",
    "SELECT count(*) FROM object WHERE label NOT IN ('cat', 'dog')",
    "SELECT count(*) FROM object WHERE label NOT IN ('cat', NULL)",
    "SELECT count(*) FROM object WHERE label <> 'cat' OR label IS NULL",
    "SELECT id, label FROM object WHERE id < 50 ORDER BY 2, 1",
    "SELECT id, label FROM object WHERE id < 50 ORDER BY label DESC NULLS FIRST, id",
    "SELECT id, price::int FROM object WHERE id < 30 ORDER BY id",
    "SELECT id, lag(label) OVER (ORDER BY id), lead(id, 2) OVER (ORDER BY id) FROM object WHERE id < 30 ORDER BY id",
    "SELECT stddev(ratio), variance(ratio), median(ratio), avg(ratio) FROM object",
    "SELECT count(*) FROM object WHERE label NOT ILIKE 'c%'",
    "SELECT count(*) FROM object WHERE label NOT LIKE 'C%'",
    "SELECT id FROM object WHERE id IN (SELECT max(id) FROM object)",
    "SELECT id FROM object WHERE id NOT IN (SELECT id FROM object WHERE id > 3) ORDER BY id",
    "SELECT label, count(*) AS n FROM object GROUP BY label ORDER BY n DESC, label",
    "SELECT label, count(*) AS n FROM object GROUP BY ALL HAVING n > 10 ORDER BY ALL",
    "SELECT DISTINCT label FROM object ORDER BY label NULLS LAST",
    'SELECT min(day), max(day), min("when"), max("when") FROM object',
    "SELECT flag, count(*), sum(price), avg(price) FROM object GROUP BY flag ORDER BY flag",
    "SELECT sum(exact), max(exact), min(exact) FROM object",
    "SELECT count(*) FROM object a JOIN object b ON a.id = b.id + 1",
    "SELECT count(*) FROM object a LEFT JOIN object b ON a.id = b.id * 2 WHERE b.id IS NULL",
    "WITH c AS (SELECT label, avg(ratio) r FROM object GROUP BY label) SELECT label FROM c WHERE r > -2 ORDER BY label",
    "SELECT * FROM object LIMIT 5 OFFSET 20",
    "SELECT id FROM (SELECT * FROM object ORDER BY 2 LIMIT 3) ORDER BY id",
    "SELECT id FROM object WHERE label = 'dog' LIMIT 12",
    "FROM object SELECT id, label WHERE flag LIMIT 5 -- the first of them",
    "SELECT 1 AS one, 'a' AS text, NULL AS nothing",
    "SELECT id, id FROM object ORDER BY id LIMIT 2;",
    "SELECT rowid, id FROM object ORDER BY rowid DESC LIMIT 2",
    "DESCRIBE object",
    "SUMMARIZE SELECT id, day, label FROM object",
    "PIVOT (SELECT flag, label FROM object) ON label USING count(*) ORDER BY flag",
    'SELECT id FROM object ORDER BY "when" DESC',
    "SELECT min(COLUMNS(['id', 'day', 'label'])) FROM object",
    "SELECT count(*) FILTER (label IS NULL), count(*) FILTER (flag) FROM object",
]


def more_queries():
    """Each operation with each column that takes it."""
    plain = ["id", '"when"', "day", "label", "price", "exact", "ratio", "flag"]
    numbers = ["id", "price", "exact", "ratio"]
    for name in [*plain, "tags", "point", "point.x", "point.y", "tags[1]"]:
        yield f"SELECT count({name}), count(*), count(DISTINCT {name}) FROM object"
        yield f"SELECT id, {name} FROM object ORDER BY {name}, id LIMIT 40"
        yield f"SELECT id, {name} FROM object ORDER BY {name} DESC NULLS LAST, id LIMIT 40"
        yield f"SELECT count(*) FROM object WHERE {name} IS NOT DISTINCT FROM NULL"
        yield f"SELECT count(*) FROM object WHERE NOT ({name} = (SELECT min({name}) FROM object))"
        yield f"SELECT count(*) FROM object WHERE {name} NOT IN (SELECT {name} FROM object WHERE id < 20 AND {name} IS NOT NULL)"
        yield f'SELECT id, lag({name}) OVER (ORDER BY "when") FROM object WHERE id < 200 ORDER BY id'
        yield f"SELECT id, coalesce({name}::VARCHAR, '-') FROM object WHERE id % 997 = 0 ORDER BY id"
        yield f"SELECT min({name}), max({name}), arg_min(id, {name}), first({name} ORDER BY id) FROM object"
    for name in numbers:
        for function in ("sum", "avg", "stddev", "var_pop", "median", "mode", "skewness", "bit_count" if name == "id" else "abs"):
            if function in ("bit_count", "abs"):
                yield f"SELECT sum({function}({name})) FROM object"
            else:
                yield f"SELECT label, {function}({name}) FROM object GROUP BY label ORDER BY label"
        for cast in ("INTEGER", "DOUBLE", "DECIMAL(18, 3)", "VARCHAR"):
            if name != "exact" or cast in ("DOUBLE", "VARCHAR"):
                yield f"SELECT id, {name}::{cast} FROM object WHERE id < 60 ORDER BY id"
        yield f"SELECT id, rank() OVER (PARTITION BY label ORDER BY {name}, id) FROM object WHERE id < 90 ORDER BY id"
        yield f"SELECT id, round({name} / 7, 4), {name} % 5, -{name} FROM object WHERE id < 60 ORDER BY id"
        yield f"SELECT quantile_cont({name}, [0.1, 0.5, 0.9]) FROM object"
        yield f"SELECT ({name} > 0) AS positive, count(*) FROM object GROUP BY 1 ORDER BY 1"
    for part in ("year", "month", "week", "dow", "quarter", "epoch"):
        yield f"SELECT date_part('{part}', \"when\") AS p, date_part('{part}', day) AS d FROM object ORDER BY id LIMIT 30"
    for part in ("year", "month", "week", "day", "hour"):
        yield f"SELECT date_trunc('{part}', \"when\") AS t, count(*) FROM object GROUP BY t ORDER BY t LIMIT 50"
    yield "SELECT day + INTERVAL 1 MONTH, day - DATE '2026-01-01', \"when\" - day::TIMESTAMP FROM object ORDER BY id LIMIT 40"
    yield "SELECT id, day BETWEEN '2026-03-01' AND '2026-04-01' FROM object WHERE id < 200 ORDER BY id"
    yield "SELECT strftime(day, '%d.%m.%Y'), strftime(\"when\", '%H:%M:%S.%f') FROM object ORDER BY id LIMIT 40"
    yield 'SELECT time_bucket(INTERVAL 6 HOUR, "when") AS b, count(*) FROM object GROUP BY b ORDER BY b LIMIT 60'
    for pattern in ("c%", "%o%", "_at", "ÜN%", "%'s"):
        for operator in ("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"):
            yield f"SELECT count(*) FROM object WHERE label {operator} '{pattern.replace(chr(39), chr(39) * 2)}'"
    for function in ("upper", "length", "reverse", "md5"):
        yield f"SELECT DISTINCT label, {function}(label) FROM object ORDER BY label"
    yield "SELECT label, regexp_replace(label, '[aeiou]', '_', 'g') FROM object WHERE id < 40 ORDER BY id"
    yield "SELECT string_agg(label, ',' ORDER BY id) FROM object WHERE id < 40"
    yield "SELECT t, count(*) FROM (SELECT unnest(tags) AS t FROM object) GROUP BY t ORDER BY t"
    yield "SELECT id, len(tags), list_contains(tags, 'all'), tags[-1] FROM object WHERE id < 60 ORDER BY id"
    yield "SELECT list(label ORDER BY id) FROM object WHERE id < 20"
    yield "SELECT list_transform(tags, x -> x || '!') FROM object WHERE id < 20 ORDER BY id"
    yield "SELECT point.y, sum(point.x) FROM object GROUP BY point.y ORDER BY 1"
    yield "SELECT unnest(point) FROM object WHERE id < 20 ORDER BY id"
    yield "SELECT histogram(label) FROM object"
    yield "SELECT CASE WHEN label IS NULL THEN 'none' WHEN flag THEN label ELSE '?' END AS c, count(*) FROM object GROUP BY c ORDER BY c"
    yield "SELECT label, flag, count(*) FROM object GROUP BY ROLLUP (label, flag) ORDER BY ALL"
    yield "SELECT label, flag, count(*) FROM object GROUP BY CUBE (label, flag) ORDER BY ALL"
    yield "SELECT id FROM object WHERE id < 5 UNION ALL SELECT id FROM object WHERE id < 3 ORDER BY id"
    yield "SELECT label FROM object WHERE id < 40 EXCEPT SELECT label FROM object WHERE flag AND id < 9 ORDER BY 1"
    yield "SELECT label FROM object WHERE id < 40 INTERSECT SELECT label FROM object WHERE flag ORDER BY 1"
    yield "SELECT a.label, b.n FROM object a JOIN (SELECT label, count(*) n FROM object GROUP BY label) b USING (label) WHERE a.id < 9 ORDER BY a.id"
    yield "SELECT id, sum(price) OVER (ORDER BY id ROWS 3 PRECEDING) FROM object WHERE id < 60 ORDER BY id"
    yield "SELECT id, ntile(4) OVER (ORDER BY id), percent_rank() OVER (ORDER BY id) FROM object WHERE id < 60 ORDER BY id"
    yield "SELECT id FROM object QUALIFY row_number() OVER (PARTITION BY label ORDER BY id) = 1 ORDER BY id"
    yield "SELECT id FROM object o WHERE EXISTS (SELECT 1 FROM object i WHERE i.id = o.id * 2 AND i.flag) ORDER BY id LIMIT 20"
    yield "SELECT (SELECT max(id) FROM object) - id AS rest FROM object ORDER BY id LIMIT 3"
    yield "SELECT DISTINCT ON (label) label, id FROM object ORDER BY label, id"
    yield "SELECT sum(price) / count(price), sum(price) // 3 FROM object"
    yield "SELECT flag AND NULL, flag OR NULL, NOT flag FROM object WHERE id < 20 ORDER BY id"
    yield "SELECT * EXCLUDE (tags, point) FROM object ORDER BY id DESC LIMIT 9"
    yield "SELECT * REPLACE (upper(label) AS label) FROM object ORDER BY id LIMIT 9"
    yield 'SUMMARIZE SELECT id, "when", price FROM object'


MORE = list(more_queries())

RUN = """async ({ url, source, queries }) => {
  const worker = new Worker(url, { type: 'module' });
  const answers = [];
  for (const query of queries) {
    answers.push(await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => data !== 'ready' && resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage({ source, query });
    }));
  }
  worker.terminate();
  return answers;
}"""


@pytest.fixture(scope="module")
def files():
    return {path: make(table(rows)) for path, (make, rows, _) in FILES.items()}


@pytest.fixture(scope="module")
def repository(tarn, files):
    import outcome

    rest = outcome.Outcome(tarn)
    rest.repository("sql")
    for path, content in files.items():
        rest.upload("sql", path, content)
    return "sql"


def ask(page, path, size, queries):
    """Returns the answer of the page's worker."""
    kind = {"parquet": "parquet", "csv": "csv", "arrow": "arrow", "json": "json"}[path.rpartition(".")[2]]
    return page.evaluate(
        RUN,
        {
            "url": worker_address(page),
            "source": {
                "url": f"/api/v1/repositories/sql/refs/main/objects?path={path}",
                "path": path,
                "size": size,
                "kind": kind,
            },
            "queries": queries,
        },
    )


def worker_address(page):
    page.get_by_role("button", name="SQL", exact=True).click()
    with page.expect_worker() as started:
        page.get_by_role("region", name="SQL").get_by_role("button", name="Run").click()
    return started.value.url


def close(left, right):
    """Sums of floating-point numbers may be taken in another order."""
    if left == right:
        return True
    try:
        return "." in left and abs(float(left) - float(right)) <= 1e-9 * max(abs(float(left)), 1)
    except (TypeError, ValueError):
        return False


def expected(connection, query):
    wrapped = query.split()[0] in ("DESCRIBE", "SUMMARIZE", "PIVOT")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE result AS {f'FROM ({query})' if wrapped else query}")
    found = connection.execute("SELECT COLUMNS(*)::VARCHAR FROM result LIMIT 1001")
    return [column[0] for column in found.description], [list(row) for row in found.fetchall()]


@pytest.mark.parametrize("path", FILES)
def test_answers_are_those_of_duckdb(window, repository, files, path, tmp_path):
    (tmp_path / path).write_bytes(files[path])
    connection = duckdb.connect(config={"threads": 1})
    arrow_table = pyarrow.feather.read_table(io.BytesIO(files[path])) if path == "rows.arrow" else None
    reader = FILES[path][2]
    connection.execute(f"CREATE TABLE object AS FROM {reader.format(tmp_path / path) if reader else 'arrow_table'}")
    assert arrow_table is None or arrow_table.num_rows
    queries = BASIC + (MORE if path == "rows.parquet" else [])
    page = window.go(f"/r/{repository}/main/data?object={path}")
    answers = ask(page, path, len(files[path]), queries)
    wrong = []
    for query, answer in zip(queries, answers, strict=True):
        if "error" in answer:
            wrong.append(f"{query}: {answer['error']}")
            continue
        names, rows = expected(connection, query)
        if answer["columns"] != names or answer["hasMore"] != (len(rows) > 1000):
            wrong.append(f"{query}: {answer['columns']} {answer['hasMore']}, not {names}")
        found, rows = answer["rows"], rows[:1000]
        if " ORDER BY " not in query and " LIMIT " not in query:
            found, rows = sorted(found, key=str), sorted(rows, key=str)
        if len(found) != len(rows) or not all(all(map(close, left, right)) for left, right in zip(found, rows, strict=True)):
            wrong.append(f"{query}:\n  {found[:5]}\n  {rows[:5]}")
    assert not wrong, f"{len(wrong)} of {len(queries)}\n" + "\n".join(wrong)
    assert path != "rows.parquet" or len(MORE) >= 200


def test_the_engine_is_loaded_when_a_query_runs(window, repository):
    asked = []
    window.page.on("request", lambda request: asked.append(request.url))
    page = window.load(f"/r/{repository}/main/data?object=rows.csv")
    expect(page.get_by_role("button", name="SQL", exact=True)).to_be_visible()
    assert not [url for url in asked if ".wasm" in url or "sql_worker" in url]
    page.get_by_role("button", name="SQL", exact=True).click()
    panel = page.get_by_role("region", name="SQL")
    panel.get_by_role("button", name="Run").click()
    expect(panel.get_by_role("grid", name="Result of the query")).to_be_visible()


def test_a_query_reads_the_table_alone(window, repository, files):
    """No file, no address, no extension; the page itself may not compile WebAssembly."""
    page = window.go(f"/r/{repository}/main/data?object=rows.csv")
    answers = ask(
        page,
        "rows.csv",
        len(files["rows.csv"]),
        [
            "FROM read_csv('/api/v1/user')",
            "FROM 'http://127.0.0.1:1/x.csv'",
            "FROM 'object.csv'",
            "SELECT 1) ; LOAD icu; FROM (SELECT 1",
            "SELECT 1) ; SET enable_external_access = true; FROM (SELECT 1",
            "SELECT '{}'->>'a'",
            "DELETE FROM object",
            "SELECT count(*) FROM object",
        ],
    )
    assert all("error" in answer for answer in answers[:7]), answers
    assert 'extension "json"' in answers[5]["error"]
    assert answers[7]["rows"] == [["5000"]]
    refused = page.evaluate("WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(() => '', String)")
    assert "unsafe-eval" in refused or "Content Security Policy" in refused
    window.expect_problem("Content Security Policy")


def test_limits_of_a_query_are_said(open_window, repository, files):
    window = open_window().sign_in()
    endless = "SELECT count(*) FROM object a, object b, object c WHERE a.ratio + b.ratio > c.ratio"
    page = window.load(f"/r/{repository}/main/data?object=rows.parquet")
    answers = ask(page, "rows.parquet", len(files["rows.parquet"]), ["SELECT list(range(100000)) FROM range(10000)"])
    assert "memory" in answers[0]["error"].lower()
    panel = page.get_by_role("region", name="SQL")
    expect(panel.get_by_role("grid", name="Result of the query")).to_be_visible()
    page.clock.install()
    panel.get_by_label("SELECT").fill(endless)
    panel.get_by_role("button", name="Run").click()
    expect(panel.get_by_role("button", name="Stop")).to_be_visible()
    browsers.eventually(page, lambda: page.clock.fast_forward(61_000) or panel.get_by_role("alert").count())
    expect(panel.get_by_role("alert")).to_contain_text("60 seconds")
    # The next query has a worker of its own.
    panel.get_by_label("SELECT").fill("SELECT count(*) AS n FROM object")
    panel.get_by_role("button", name="Run").click()
    expect(panel.get_by_role("gridcell", name="50000")).to_be_visible()


def test_a_profile_counts_what_duckdb_counts(window, repository, files, tmp_path):
    (tmp_path / "rows.parquet").write_bytes(files["rows.parquet"])
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE object AS FROM read_parquet('{tmp_path / 'rows.parquet'}')")
    asked = []
    window.page.on("request", lambda request: asked.append(request.url))
    page = window.load(f"/r/{repository}/main/data?object=rows.parquet")
    button = page.get_by_role("button", name="Profile", exact=True)
    expect(button).to_be_visible()
    assert not [url for url in asked if "duckdb" in url or "sql_worker" in url]
    button.click()
    panel = page.get_by_role("region", name="Profile", exact=True)
    expect(panel.get_by_role("status")).to_contain_text(", in ")
    cells_of = "rows => rows.slice(1).map(row => [...row.children].map(cell => cell.innerText))"
    rows = {cells[0].split("\n")[0]: cells for cells in panel.get_by_role("row").evaluate_all(cells_of)}
    described = connection.execute("SELECT column_name FROM (DESCRIBE object)").fetchall()
    assert list(rows) == [name for (name,) in described]
    for name, cells in rows.items():
        nulls, distinct, least, most = connection.execute(
            f'SELECT count(*) - count("{name}"), count(DISTINCT "{name}"), min("{name}")::VARCHAR, max("{name}")::VARCHAR FROM object'
        ).fetchone()
        assert int(cells[2].split(" ")[0].replace(",", "")) == nulls, name
        assert int(cells[3].replace(",", "")) == distinct, name
        assert least[:8] in cells[4] and most[:8] in cells[5], (name, cells)
    bins = connection.execute(
        "SELECT least(19, floor((ratio - lo) / (hi - lo) * 20)) AS bin, count(*) FROM object, "
        "(SELECT min(ratio) AS lo, max(ratio) AS hi FROM object) WHERE ratio IS NOT NULL GROUP BY bin ORDER BY bin"
    ).fetchall()
    shown = panel.get_by_role("img", name="Histogram of ratio").get_attribute("aria-label")
    assert shown == f"Histogram of ratio: {', '.join(str(rows) for _, rows in bins)}"
    window.review("preview-profile")

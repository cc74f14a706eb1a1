#!/usr/bin/env python3
"""Checks queries and the reads of their results.

A name belongs to one query: a connection prepares each name once, with the text that it saw first. Columns of results are
read by name: a structure of enumerators names them in the order of the SELECT or RETURNING list, and both are compared."""

import bisect
import collections
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUERY = re.compile(r'\bQuery\s+(k\w+)\s*\{\s*"(\w+)"')
MACRO = re.compile(r"^#define (TARN_\w+)(?:\(([^)]*)\))?[ \t]((?:[^\n]*\\\n)*[^\n]*)", re.M)
# struct Column { enum : int { kId, kName }; };
NAMES = re.compile(r"struct (\w+) \{\s*enum : int \{([^}]*)\};\s*\};")
ENUM = re.compile(r"enum class (\w+)(?: : \w+)? \{([^}]*)\}")
LITERAL = re.compile(r"""'(?:[^'\\]|\\.)'|R"(\w*)\((.*?)\)\1"|"((?:[^"\\]|\\.)*)"|//[^\n]*|/\*.*?\*/|\w+|\S""", re.S)
SQL = re.compile(r"--[^\n]*|'(?:[^']|'')*'|[A-Za-z_]\w*|\$?\d[\w.]*|::|\S", re.S)
# rows.integer(row, 3), rows.integer(row, Column::kName), .integer(0, 3) of a call
READER = r"(?:null|boolean|integer|real|text|bytes|integers|strings)"
READ = re.compile(rf"\b(\w+)(?:\.|->){READER}\(\s*[^,;()]*(?:\(\)[^,;()]*)?,\s*(\d+|\w+::k\w+)\s*[,)]")
CHAINED = re.compile(rf"\)\s*\.{READER}\(\s*\w+,\s*([1-9]\d*)\)")
ROWS = re.compile(r"\bRows&? (\w+)")
POSITION = re.compile(r"pg_current_wal_insert_lsn\(\)\s*(?:$|FROM)")
PRODUCTION = ("core/", "server/", "s3gateway/", "cli/")
MAIN = {"SELECT", "INSERT", "UPDATE", "DELETE"}
AFTER_COLUMNS = {"FROM", "WHERE", "UNION", "ORDER", "LIMIT", "GROUP", "HAVING", "FOR"}

Structure = collections.namedtuple("Structure", "names line queries")
Query = collections.namedtuple("Query", "constant name columns has_position")


def arguments(tokens):
    """The arguments of a macro, of the tokens from its "(" on, and the tokens after them."""
    depth, out = 0, [[]]
    for at, token in enumerate(tokens):
        depth += (token[0] == "(") - (token[0] == ")")
        if depth == 0:
            return out, tokens[at + 1 :]
        if token[0] == "," and depth == 1:
            out.append([])
        elif not (token[0] == "(" and depth == 1):
            out[-1].append(token)
    raise ValueError("a macro without an end")


def tokens_of(text):
    """Pairs: a word or sign of C++, and the text of a literal or None."""
    out = []
    for match in LITERAL.finditer(text):
        if match[2] is not None or match[3] is not None:
            out.append(('"', match[2] if match[2] is not None else match[3].replace('\\"', '"')))
        elif not match[0].startswith(("//", "/*")):
            out.append((match[0], None))
    return out


def expanded(tokens, macros):
    """Tokens without macros."""
    out, tokens = [], list(tokens)
    while tokens:
        token = tokens.pop(0)
        if token[1] is not None or token[0] not in macros:
            out.append(token)
            continue
        parameters, body = macros[token[0]]
        if parameters is not None:
            given, tokens = arguments(tokens)
            values = dict(zip(parameters, given, strict=True))
            body = [part for word in body for part in (values.get(word[0], [word]) if word[1] is None else [word])]
        tokens = body + tokens
    return out


def sql_of(text, macros):
    """The SQL of the query whose text begins after its name. None: unknown."""
    depth, parts = 1, []
    tokens = tokens_of(text)
    for at, (word, _) in enumerate(tokens):
        depth += (word == "{") - (word == "}")
        if depth == 0:
            parts = expanded(tokens[:at], macros)
            break
    if parts[-1][0] == "true":
        parts = parts[:-2]
    if any(literal is None for word, literal in parts if word != ","):
        return None
    return "".join(literal for _, literal in parts if literal is not None)


def columns_of(sql):
    """The columns of a statement: of each its name, or None where it is an expression. None: unknown."""
    depth, main, start, end = 0, None, None, None
    words = [word for word in SQL.findall(sql) if not word.startswith("--")]
    for at, word in enumerate(words):
        depth += (word in "([") - (word in ")]")
        if depth:
            continue
        upper = word.upper()
        if main is None and upper in MAIN:
            main = upper
            if main == "SELECT":
                start = at + 1
        elif main == "SELECT" and end is None and upper in AFTER_COLUMNS:
            if not (upper == "FROM" and words[at - 1].upper() == "DISTINCT" and words[at - 2].upper() in ("IS", "NOT")):
                end = at
        elif main in MAIN - {"SELECT"} and upper == "RETURNING":
            start = at + 1
    if start is None:
        return []
    words = words[start:end]
    if words[:1] == ["DISTINCT"]:
        words = words[1:]
        if words[0] == "ON":
            depth = 0
            for at, word in enumerate(words[1:], 1):
                depth += (word == "(") - (word == ")")
                if depth == 0:
                    words = words[at + 1 :]
                    break
    depth, lists = 0, [[]]
    for word in words:
        depth += (word in "([") - (word in ")]")
        if word == "," and depth == 0:
            lists.append([])
        else:
            lists[-1].append(word)
    if any(one[-1] == "*" for one in lists if one):
        return None
    return [name_of(one) for one in lists]


def name_of(column):
    if len(column) > 2 and column[-2].upper() == "AS":
        return column[-1]
    if "::" in column[:-1] and column.index("::") in (1, 3):
        column = column[: column.index("::")]
    if len(column) == 3 and column[1] == ".":
        column = column[2:]
    is_name = len(column) == 1 and re.fullmatch("[a-z_][a-z_0-9]*", column[0]) and column[0] not in ("true", "false", "null")
    return column[0] if is_name else None


def snake(enumerator):
    return re.sub("(?<=.)([A-Z])", r"_\1", enumerator[1:]).lower()


def names_in(text, known):
    """The structures of a source, each with its columns. One may go on where another ends: kFirst = Other::kEnd."""
    out = {}
    for match in NAMES.finditer(text):
        names = []
        for part in filter(None, (part.strip() for part in match[2].split(","))):
            name, _, other = (word.strip() for word in part.partition("="))
            if other:
                before = other.partition("::")[0]
                names = list((out.get(before) or known[before]).names)
            if name != "kEnd":
                names.append(snake(name))
        line = text.count("\n", 0, match.start()) + 1
        is_local = text[match.start() - 1] == " "
        structure = Structure(names, line, used_in_block(text, match.end()) if is_local else set())
        out[f"{match[1]} in line {line}" if is_local else match[1]] = structure
    return out


def used_in_block(text, at):
    """The queries that the rest of a block runs."""
    depth = 0
    for match in LITERAL.finditer(text, at):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth < 0:
            return set(re.findall(r"\brun(?:_write)?\(\s*(k\w+)", text[at : match.start()]))
    raise ValueError("a block without an end")


def agree(names, columns):
    """A name may have words before those of its column, where two tables have one."""
    return len(names) == len(columns) and all(
        column is None or f"_{name}".endswith(f"_{column}") for name, column in zip(names, columns, strict=True)
    )


def read_by_number(name, text):
    """Reads of a column by its number: of any but the first, and of the first beside others that are read by name."""
    lines = [match.start() for match in re.finditer("^", text, re.M)]
    definitions = [match.start() for match in re.finditer(r"^[\w\[]", text, re.M)]
    found = []
    named = set()
    firsts = []
    for read in READ.finditer(text):
        place = (bisect.bisect(definitions, read.start()), read[1])
        if "::" in read[2]:
            named.add(place)
        elif read[2] == "0":
            firsts.append((place, read))
        else:
            found.append((read.start(), read[2]))
    found += [(read.start(), "0") for place, read in firsts if place in named]
    rows = "|".join({match[1] for match in ROWS.finditer(text)}) or "rows"
    helper = re.compile(rf"\b\w+\((?:{rows}), \w+(?:, [\w:]+)*,\s*([1-9]\d*)\b")
    found += [(read.start(), read[1]) for pattern in (helper, CHAINED) for read in pattern.finditer(text)]
    return [f"{name}:{bisect.bisect(lines, at)}: column {number} is read by number" for at, number in sorted(found)]


def unnamed(name, queries, own, shared):
    """Queries whose columns no structure names, and structures that the query beside them does not have."""
    broken = []
    lists = {}
    for query in queries:
        if query.columns is None:
            broken.append(f"{name}: {query.constant}: its columns cannot be told")
            continue
        read = query.columns[:-2] if query.has_position else query.columns
        lists[query.constant] = [query.columns, read]
        if len(read) > 1 and not any(agree(one.names, read) for one in [*own.values(), *shared.values()]):
            broken.append(f"{name}: {query.constant}: no structure names its {len(read)} columns in their order")
    for one in own.values():
        beside = {query for query in one.queries if len(lists.get(query, [[]])[0]) > 1} or lists
        if not any(agree(one.names, columns) for query in beside for columns in lists[query]):
            broken.append(f"{name}:{one.line}: no query beside this list has these {len(one.names)} columns in this order")
    return broken


def sources():
    names = subprocess.run(
        ["git", "ls-files", "*.cc", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return {name: (ROOT / name).read_text() for name in names if not name.endswith("test.cc") and (ROOT / name).is_file()}


def macros_of(texts):
    return {
        match[1]: (
            None if match[2] is None else [parameter.strip() for parameter in match[2].split(",")],
            tokens_of(match[3].replace("\\\n", " ")),
        )
        for text in texts
        for match in MACRO.finditer(text)
    }


def queries_in(text, macros):
    for match in QUERY.finditer(text):
        sql = sql_of(text[match.end() :], macros)
        yield Query(match[1], match[2], sql and columns_of(sql), sql is not None and POSITION.search(sql) is not None)


def main():
    texts = sources()
    of_headers = {name: text for name, text in texts.items() if name.endswith(".h")}
    macros = macros_of(of_headers.values())
    shared = collections.defaultdict(dict)
    for name, text in of_headers.items():
        folder = shared[Path(name).parent]
        folder |= names_in(text, folder)
        for match in ENUM.finditer(text):
            folder[match[1]] = Structure([snake(value) for value in re.findall(r"\bk\w+", match[2])], 0, set())
    places = collections.defaultdict(list)
    broken = []
    lists = 0
    for name, text in texts.items():
        queries = list(queries_in(text, macros | macros_of([text])))
        for query in queries:
            places[query.name].append(name)
        if not name.startswith(PRODUCTION) or "_fixture." in name:
            continue
        known = shared[Path(name).parent]
        own = names_in(text, known)
        lists += len(own)
        if queries or ROWS.search(text):
            broken += read_by_number(name, text)
        broken += unnamed(name, queries, {} if name in of_headers else own, known)
    broken += [f"{query}: in {' and '.join(files)}" for query, files in places.items() if len(files) > 1]
    print("\n".join(broken) if broken else f"queries: {len(places)} names, each used once; {lists} lists of columns")
    return 1 if broken or not places or not lists else 0


if __name__ == "__main__":
    sys.exit(main())

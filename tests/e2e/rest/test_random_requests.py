"""Random requests that are nearly right, of the operations of docs/api/openapi.yaml and of S3: none is a fault of the server.

A tarnd that was built with clang's counters of edges guides them: a request that reaches new code is kept, and later requests are made
from it. `./dev test --long` builds one with the address and undefined-behaviour sanitizers, which end it at a fault that no answer shows.
"""

import copy
import os
import random
import re
import time
import urllib.parse

import clients
import edge_coverage
import pytest
from long_tests import LONG
from test_every_route import LAST, calls, is_fault, server, world  # noqa: F401

# Each of these pieces of texts makes something of its own in some parser.
PIECES = [
    "a",
    "main",
    "dev",
    "a/b",
    "..",
    "/",
    "//",
    "%",
    "%00",
    "\0",
    "\ud7ff",
    "\u202e",
    "~1",
    "^2",
    "@",
    "@{1}",
    "*",
    "**",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "\\",
    "\n",
    "\r\n",
    " ",
    "",
    "-1",
    "0",
    "1",
    "9" * 30,
    "1e999",
    "nan",
    "null",
    "true",
    "f" * 64,
    "f" * 8,
    "metrics.accuracy",
    ">",
    "<=",
    "=",
    "desc",
    "size",
    "and",
    "or",
    "(",
    ")",
    "2020-01-01T00:00:00Z",
    "30s",
    "bytes=0-",
    "local://x",
    "s3://x/y",
    "x" * 3000,
]
RANDOM_METHODS = ["GET", "PUT", "POST", "DELETE", "HEAD"]
SUBRESOURCES = [
    "acl",
    "tagging",
    "versioning",
    "versions",
    "uploads",
    "uploadId=u",
    "uploadId=u&partNumber=1",
    "delete",
    "lifecycle",
    "policy",
    "attributes",
    "list-type=2",
    "list-type=2&continuation-token=a",
    "versionId=null",
    "location",
    "publicAccessBlock",
    "ownershipControls",
    "torrent",
]
S3_HEADERS = [
    "x-amz-copy-source",
    "x-amz-acl",
    "x-amz-tagging",
    "x-amz-meta-a",
    "Range",
    "If-Match",
    "If-None-Match",
    "x-amz-checksum-crc32",
    "x-amz-checksum-algorithm",
    "x-amz-storage-class",
    "x-amz-metadata-directive",
    "x-amz-object-attributes",
    "Content-MD5",
    "x-amz-copy-source-range",
    "x-amz-if-match-size",
    "If-Modified-Since",
]
TELL_SECONDS = 60
SECONDS = int(os.environ.get("FUZZ_SECONDS", "60")) if LONG else 8
MUTATED_SHARE = 0.7  # of the requests, once some have been kept
MUTATIONS_MAX = 4


class Choices(random.Random):
    """Numbers that are given, and random ones after them. Those that were made since the last replay() are a request."""

    given, made = iter(()), []

    def random(self):
        number = next(self.given, None)
        self.made.append(super().random() if number is None else number)
        return self.made[-1]

    def replay(self, numbers):
        self.given, self.made = iter(numbers), []


class Corpus:
    """Requests that reached new code, as the numbers they were made from."""

    def __init__(self, seed):
        self.kept, self.chance = [], random.Random(seed)

    def any_of(self):
        """The newer a request is, the more often it is chosen."""
        return self.kept[int(len(self.kept) * max(self.chance.random(), self.chance.random()))]

    def next(self):
        if not self.kept or self.chance.random() > MUTATED_SHARE:
            return []
        numbers = list(self.any_of())
        for _ in range(self.chance.randint(1, MUTATIONS_MAX)):
            at = self.chance.randrange(len(numbers) + 1)
            kind = self.chance.randrange(4)
            if kind < 2:
                numbers[at : at + 1] = [self.chance.random()]
            elif kind == 2:
                del numbers[at : at + self.chance.randint(1, 3)]
            else:
                numbers[at:] = self.any_of()[at:]
        return numbers


class Grammar:
    """Requests that are nearly right: of an operation of the description, or of S3. `last` is the text of the last one."""

    def __init__(self, world, seed):  # noqa: F811
        self.world, self.chance = world, Choices(seed)
        self.calls = [call for call in calls() if call.name not in LAST]
        self.last = ""

    def text(self):
        return "".join(self.chance.choice(PIECES) for _ in range(self.chance.randrange(1, 4)))

    def spoiled(self, value):
        """The body with one random value changed or removed."""
        way, at = [], value
        while isinstance(at, (dict, list)) and at and (not way or self.chance.random() < 0.8):
            step = self.chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
            way.append((at, step))
            at = at[step]
        if way:
            holder, step = way[-1]
            if self.chance.random() < 0.2:
                del holder[step]
            else:
                holder[step] = self.chance.choice(
                    [self.text(), None, True, -1, 2**63, 1.5, [], {}, [self.text()], {self.text(): self.text()}]
                )
        return value

    def rest(self):
        call = copy.copy(self.chance.choice(self.calls))
        if call.body is not None and self.chance.random() < 0.7:
            call.body = (
                self.spoiled(copy.deepcopy(call.body))
                if isinstance(call.body, (dict, list))
                else self.text().encode("utf-8", "replace")
            )
        flags = [(place, name, call.value(name) if self.chance.random() < 0.5 else self.text()) for place, name in call.schemas]
        given = [
            flag
            for flag in flags
            if self.chance.random() < 0.5 and (flag[0] == "query" or (flag[2].isascii() and flag[2].isprintable()))
        ]
        if self.chance.random() < 0.2:
            given.append(("header", "Prefer", self.chance.choice(["wait=0", "wait=1", "respond-async", "wait=" + "9" * 20])))
        user = self.chance.choice(list(self.world.users))
        self.last = f"{call.name} {given} {str(call.body)[:200]}"
        values = dict(self.world.values)
        if self.chance.random() < 0.3:
            self.world.values = values | {self.chance.choice(list(values)): self.text()}
        try:
            answer = self.world.ask(user, call, [(p, n, v.strip()) if p == "header" else (p, n, v) for p, n, v in given])
        finally:
            self.world.values = values
        return not is_fault(call, answer), answer.status_code, answer.text

    def s3(self, raw):
        quoted = lambda text: urllib.parse.quote(text.encode("utf-8", "replace"), safe="/~")  # noqa: E731
        parts = [
            self.world.name if self.chance.random() < 0.8 else self.text(),
            *([self.text()] if self.chance.random() < 0.3 else ["main", "a/b"]),
        ]
        target = "/" + quoted("/".join(parts[: self.chance.randrange(len(parts) + 1)]))
        words = [self.chance.choice(SUBRESOURCES)] if self.chance.random() < 0.7 else []
        words += [
            f"{name}={urllib.parse.quote(self.text().encode('utf-8', 'replace'), safe='')}"
            for name in ("prefix", "delimiter", "marker", "max-keys", "start-after", "encoding-type")
            if self.chance.random() < 0.2
        ]
        target += "?" + "&".join(words) if words else ""
        headers = {name: re.sub(r"[^ -~]", "", self.text()).strip() for name in S3_HEADERS if self.chance.random() < 0.15}
        method = self.chance.choice(RANDOM_METHODS)
        body = self.text().encode("utf-8", "replace") if method in ("PUT", "POST") else b""
        self.last = f"S3 {method} {target} {headers}"
        status, _, text = raw(method, target, body, headers)
        return status == 501, status, text


@pytest.mark.timeout(SECONDS + 300)
def test_random_requests_that_are_nearly_right(server, world):  # noqa: F811
    """FUZZ_SECONDS of them with --long. The seed is in the message of a failure; without counters it repeats the run."""
    seed = int(os.environ.get("FUZZ_SEED", random.randrange(1 << 32) if LONG else 1))
    grammar, raw, corpus = Grammar(world, seed), clients.RawS3(server), Corpus(seed)
    pids = server.pids()
    coverage = edge_coverage.of(pids[0])
    begun, sent, wrong, told = time.monotonic(), 0, [], 0
    while time.monotonic() < begun + SECONDS and len(wrong) < 20:
        grammar.chance.replay(corpus.next())
        try:
            known, status, text = grammar.rest() if grammar.chance.random() < 0.6 else grammar.s3(raw)
        except OSError as error:
            wrong.append(f"{grammar.last}: {error}\n{server.process.tail(60)}")
            break
        sent += 1
        if status >= 500 and not known:
            wrong.append(f"{grammar.last}: {status} {text[:200]}")
        if coverage and coverage.grew():
            corpus.kept.append(grammar.chance.made)
        if coverage and time.monotonic() > begun + told * TELL_SECONDS:
            told += 1
            print(
                f"{time.monotonic() - begun:.0f} s: {sent} requests, {coverage.count} of {coverage.size} edges, "
                f"{len(corpus.kept)} kept",
                flush=True,
            )
    assert not wrong, "\n".join([f"seed {seed}, after {sent}:", *wrong])
    assert server.alive() and server.pids() == pids
    assert sent > 20 * SECONDS
    print(f"{sent} requests, seed {seed}")

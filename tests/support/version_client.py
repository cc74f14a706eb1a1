"""Keys with versions over S3, written and undone by random clients, and the recording of what they see.

A state is the stack of versions of a key, the newest first: pairs of a version id and the number of the write, 0 for a delete
marker. The id of a write without an answer is not known (None): it is recognised by its number, a marker by its place.
"""

import hashlib
import time
import urllib.parse
import xml.etree.ElementTree as xml
from collections import deque

from arena import ObjectClient, body_of, number_in
from history import Cell

MARKER = 0
KEYS = ("v/0", "v/1", "v/2")
KNOWN_MAX = 40
NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


def is_entry(entry, version, number):
    return entry[0] == version or (entry[0] is None and entry[1] == number)


def put(version, number):
    return lambda stack: [((version, number), *stack)]


def delete(version):
    """Of what is there; a key that shows nothing may get another marker."""

    def step(stack):
        marked = ((version, MARKER), *stack)
        return [marked] if stack and stack[0][1] != MARKER else [stack, marked]

    return step


def remove(version, number):
    def step(stack):
        at = [place for place, entry in enumerate(stack) if entry[0] == version]
        at = at or [place for place, entry in enumerate(stack) if is_entry(entry, version, number)]
        return [stack[:place] + stack[place + 1 :] for place in at] or [stack]

    return step


def shows(number):
    """`number`: None for a key that shows nothing."""
    return lambda stack: [stack] if (stack[0][1] if stack else MARKER) == (number or MARKER) else []


def has(version, number):
    return lambda stack: [stack] if any(is_entry(entry, version, number) for entry in stack) else []


def lacks(version):
    return lambda stack: [stack] if all(entry[0] != version for entry in stack) else []


def lists(entries):
    def step(stack):
        alike = len(stack) == len(entries) and all(
            mine[1] == seen[1] and mine[0] in (None, seen[0]) for mine, seen in zip(stack, entries, strict=True)
        )
        return [stack] if alike else []

    return step


class Versions:
    """A repository that keeps versions. `must(method, path, document)`: REST that does not take no for an answer."""

    clients = 2

    def __init__(self, recorder, must, wires):
        self.recorder, self.must, self.wires = recorder, must, wires
        self.repository, self.branch = "versions", "main"
        self.etags = {}  # number by ETag
        must("POST", "/repositories", {"name": self.repository, "storage_namespace": f"local://{self.repository}"})
        enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
        answer = wires[0].s3("PUT", f"/{self.repository}?versioning=", enabled)
        assert answer.status == 200, answer.reason

    def begin(self):
        self.places = {key: Cell(f"versions of {key}", (key,), ()) for key in KEYS}
        self.known = deque(maxlen=KNOWN_MAX)  # (key, version, number)

    def client(self, name, chance):
        return VersionClient(name, self.wires, chance)

    def settle(self, chance):
        """Reads all, by every server, and removes it."""
        for server in range(len(self.wires)):
            client = VersionClient("last", self.wires, chance)
            client.wire = lambda server=server: self.wires[server]
            for key in KEYS:
                for version, number in client.list(self, key) or []:
                    self.known.append((key, version, number))
                    client.get_version(self, key, (key, version, number))
        for key in KEYS:
            for version, number in client.list(self, key) or []:
                client.remove(self, key, (key, version, number))
            if client.list(self, key) != []:
                self.recorder.problem(f"versions of {key}: some cannot be removed")

    def cells(self):
        return list(self.places.values())

    def check(self):
        """Histories search the cells."""


class VersionClient(ObjectClient):
    def one(self, versions):
        operations = [self.put] * 4 + [self.delete] * 2 + [self.get] * 2 + [self.get_version] * 3 + [self.list] * 2
        operations += [self.remove] * 2 + [self.undelete] * 2 + [self.commit]
        self.choose(operations)(versions, self.chance.choice(KEYS))
        time.sleep(self.chance.uniform(0.005, 0.05))

    def did(self, versions, key, label, request, step, unknown, value=None):
        cell = versions.places[key]
        got = self.ask(
            versions, key, label, request, lambda start, text: versions.recorder.in_doubt(cell, start, text, unknown, value)
        )
        if got and got[0].status in (200, 204):
            answer, start, text = got
            version = answer.headers.get("x-amz-version-id")
            versions.recorder.done(cell, start, f"{text} {version}", step(version))
            return version
        if got and got[0].status != 409:
            versions.recorder.problem(f"{got[2]} {got[0].reason}")
        return None

    def put(self, versions, key):
        number = versions.recorder.number()
        body = body_of(number)
        versions.etags[hashlib.md5(body).hexdigest()] = number
        version = self.did(
            versions,
            key,
            f"PUT {number}",
            lambda: self.wire().s3("PUT", self.target(versions, key), body),
            lambda version: put(version, number),
            lambda real: put(None, real[0]),
            (number,),
        )
        if version:
            versions.known.append((key, version, number))

    def delete(self, versions, key):
        version = self.did(
            versions, key, "DELETE", lambda: self.wire().s3("DELETE", self.target(versions, key)), delete, lambda: delete(None)
        )
        if version:
            versions.known.append((key, version, MARKER))

    def remove(self, versions, key, chosen=None):
        key, version, number = chosen or self.chosen(versions)
        if version:
            self.did(
                versions,
                key,
                f"DELETE {version} ({number})",
                lambda: self.wire().s3("DELETE", self.target(versions, key, f"?versionId={version}")),
                lambda _: remove(version, number),
                lambda: remove(version, number),
            )

    @staticmethod
    def newest_marker(entries):
        return entries[0][0] if entries and entries[0][1] == MARKER else None

    def undelete(self, versions, key):
        """Removes the delete marker that the key shows."""
        marker = self.newest_marker(self.list(versions, key))
        if marker:
            self.remove(versions, key, (key, marker, MARKER))

    def chosen(self, versions):
        try:
            return self.chance.choice(versions.known)
        except IndexError:
            return None, None, None

    def get(self, versions, key):
        got = self.ask(versions, key, "GET", lambda: self.wire().s3("GET", self.target(versions, key)))
        if not got or got[0].status not in (200, 404):
            return
        answer, start, text = got
        number = number_in(answer.body) if answer.status == 200 else None
        if answer.status == 200 and number is None:
            return versions.recorder.problem(f"{text}: {answer.body[:60]}")
        versions.recorder.read(versions.places[key], start, f"{text} {number}", shows(number), (number,) if number else ())

    def get_version(self, versions, _, chosen=None):
        key, version, number = chosen or self.chosen(versions)
        if not version:
            return
        got = self.ask(
            versions,
            key,
            f"GET {version} ({number})",
            lambda: self.wire().s3("GET", self.target(versions, key, f"?versionId={version}")),
        )
        if not got:
            return
        answer, start, text = got
        cell = versions.places[key]
        if answer.status == 404:
            versions.recorder.read(cell, start, text, lacks(version))
        elif answer.status == (405 if number == MARKER else 200):
            if number != MARKER and answer.body != body_of(number):
                versions.recorder.problem(f"{text}: {answer.body[:60]}")
            versions.recorder.read(cell, start, text, has(version, number), (number,))
        else:
            versions.recorder.problem(f"{text} {answer.reason}")

    def list(self, versions, key):
        """The stack as it is listed, or None."""
        prefix = urllib.parse.quote(f"{versions.branch}/{key}", safe="")
        got = self.ask(
            versions, key, "list versions", lambda: self.wire().s3("GET", f"/{versions.repository}?prefix={prefix}&versions=")
        )
        if not got:
            return None
        answer, start, text = got
        if answer.status != 200:
            return versions.recorder.problem(f"{text} {answer.reason}")
        entries = []
        for one in xml.fromstring(answer.body):
            if one.tag in (f"{NAMESPACE}Version", f"{NAMESPACE}DeleteMarker"):
                etag = one.findtext(f"{NAMESPACE}ETag", "").strip('"')
                number = MARKER if one.tag.endswith("DeleteMarker") else versions.etags.get(etag)
                if number is None:
                    versions.recorder.problem(f"{text}: ETag {etag} of no write")
                entries.append((one.findtext(f"{NAMESPACE}VersionId"), number))
        versions.recorder.read(
            versions.places[key],
            start,
            f"{text} {[number for _, number in entries]}",
            lists(tuple(entries)),
            [number for _, number in entries],
        )
        return entries

    def commit(self, versions, key):
        """Changes no version."""
        self.ask(
            versions,
            key,
            "commit",
            lambda: self.wire().rest(
                "POST", f"/repositories/{versions.repository}/branches/{versions.branch}/commits", document={"message": "v"}
            ),
        )

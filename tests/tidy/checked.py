"""Contents that a check found in order, remembered below TARN_CACHE."""

import contextlib
import hashlib
import os
import time
from pathlib import Path

CACHE = Path(os.environ.get("TARN_CACHE") or Path.home() / ".cache/tarn")
KEPT_SECONDS = 60 * 24 * 3600  # after the last look


class Checked:
    """`check`: the name of the check's folder. Safe from any thread; a content is bytes with all that the verdict depends on."""

    def __init__(self, check):
        self.folder = CACHE / check
        self.folder.mkdir(parents=True, exist_ok=True)
        oldest = time.time() - KEPT_SECONDS
        for note in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another run may remove it, too
                if note.stat().st_mtime < oldest:
                    note.unlink()

    def __contains__(self, content):
        note = self.note(content)
        if not note.exists():
            return False
        note.touch()
        return True

    def add(self, content):
        self.note(content).touch()

    def note(self, content):
        return self.folder / hashlib.sha256(content).hexdigest()

"""The tests that `./dev test` leaves to CI, so that it takes minutes: ../left_to_ci.txt. `./dev test --ci` runs them too."""

import os
from pathlib import Path

LEFT = os.environ.get("TARN_TEST_LEAVE_TO_CI") == "1"
TESTS = Path(__file__).resolve().parents[1]


def entries():
    """(file below tests/, test or None, parameter or None) of each line of the list."""
    for line in (TESTS / "left_to_ci.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            where, _, parameter = line.partition(" ")
            file, _, test = where.partition("::")
            yield file, test or None, parameter or None


def leave(items):
    """Skips what the list names, unless it is to run."""
    if not LEFT:
        return
    import pytest  # tests/tidy reads the list without it

    tests, parameters = {}, {}
    for file, test, parameter in entries():
        if parameter:
            parameters.setdefault(file, set()).add(parameter)
        else:
            tests.setdefault(file, set()).add(test)
    first = {}  # (file, test, parameter): its first value
    for item in items:
        file = item.path.relative_to(TESTS).as_posix()
        left = tests.get(file, set()) & {None, item.originalname}
        for parameter in parameters.get(file, set()) & set(item.fixturenames):
            value = item.callspec.params[parameter]
            left = first.setdefault((file, item.originalname, parameter), value) is not value or left
        if left:
            item.add_marker(pytest.mark.skip(reason="left to CI: ./dev test --ci"))

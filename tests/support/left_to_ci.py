"""Mark of tests that `./dev test` leaves to CI, so that it takes minutes; `./dev test --ci` runs them too.

They show once more, with other faults, clients, stores or documents, what a test that always runs shows already.
"""

import os

import pytest

LEFT = os.environ.get("TARN_TEST_LEAVE_TO_CI") == "1"

left_to_ci = pytest.mark.skipif(LEFT, reason="left to CI: ./dev test --ci")


def first_here(values):
    """Parameters of pytest: the first always runs, the others are left to CI."""
    first, *others = values
    return [first, *(pytest.param(value, marks=left_to_ci) for value in others)]

"""Operations whose tests are written before the server serves them.

Each stands with the status it is answered until then. needs() turns a test of such an operation round: the test must
stop with that very status, so it fails as soon as the server does more, and the entry here has to go. Tried with a
server that presigns: the tests of uploads failed with "DID NOT RAISE"."""

import functools

import lakefs_sdk
import pytest

NOT_YET = {}

# Refused for good: the open-source lakeFS does too, or an outside collector would delete what copies and moves share.
REFUSED = {
    "prepareGarbageCollectionCommits": 501,
    "prepareGarbageCollectionCommitsAsync": 501,
    "prepareGarbageCollectionCommitsStatus": 501,
    "prepareGarbageCollectionUncommitted": 501,
    "externalPrincipalLogin": 501,
    "stsLogin": 501,
    "oauthCallback": 501,
}


def needs(*operations):
    """For a test that ends in a success only once the server serves all of `operations`."""
    waiting = [NOT_YET[operation] for operation in operations if operation in NOT_YET]

    def decorate(test):
        @functools.wraps(test)
        def until_then(*arguments, **named):
            with pytest.raises(lakefs_sdk.ApiException) as caught:
                test(*arguments, **named)
            assert caught.value.status in waiting

        return until_then if waiting else test

    return decorate

"""lakefs-sdk as tests use it: every API class of one server, and calls that must be refused."""

import json

import lakefs_sdk
import pytest


class Sdk:
    """sdk.objects is an ObjectsApi, sdk.health_check a HealthCheckApi ...; all share one connection pool."""

    def __init__(self, server, **settings):
        settings = settings or {"username": server.access_key, "password": server.secret_key}
        self.client = lakefs_sdk.ApiClient(lakefs_sdk.Configuration(host=server.url + "/api/v1", **settings))

    def __getattr__(self, name):
        plain = "".join(word.capitalize() for word in name.split("_"))  # import_ is ImportApi
        api = getattr(lakefs_sdk, f"{plain}Api")(self.client)
        setattr(self, name, api)
        return api


def refused(status, call, *arguments, code="", says="", **named):
    """Demands that lakefs-sdk's `call` ends with `status`, this code and a message that names `says`; returns the exception."""
    with pytest.raises(lakefs_sdk.ApiException) as caught:
        call(*arguments, **named)
    error = caught.value
    if error.status != status:
        raise error
    answer = json.loads(error.body) if error.body else {}
    assert not code or answer.get("code") == code, answer
    assert says in answer.get("message", ""), answer
    return error

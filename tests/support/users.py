"""Users with policies of their own, made through lakefs-sdk, and the codes that S3 refuses them with."""

import json
import types
import uuid

import lakefs_sdk
import pytest
from botocore.exceptions import ClientError
from lakefs_sdk import models


def sdk(server):
    return lakefs_sdk.ApiClient(
        lakefs_sdk.Configuration(host=server.url + "/api/v1", username=server.access_key, password=server.secret_key)
    )


def allow(actions, *resources, effect="allow"):
    resource = resources[0] if len(resources) == 1 else json.dumps(resources)
    return models.Statement(effect=effect, resource=resource, action=actions)


@pytest.fixture
def auth(tarn):
    return lakefs_sdk.AuthApi(sdk(tarn))


@pytest.fixture
def make_user(tarn, auth):
    """A user with a key and these statements; also a server object to point clients at."""

    def make(*statements):
        name = f"user-{uuid.uuid4().hex[:12]}"
        auth.create_user(user_creation=models.UserCreation(id=name))
        if statements:
            auth.create_policy(policy=models.Policy(id=name, statement=list(statements)))
            auth.attach_policy_to_user(name, name)
        key = auth.create_credentials(name)
        return types.SimpleNamespace(url=tarn.url, access_key=key.access_key_id, secret_key=key.secret_access_key, name=name)

    return make


def s3_code(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["Error"]["Code"]

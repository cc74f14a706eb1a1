"""Every operation of AuthApi, and its twins in ExternalApi and ExperimentalApi: effect and usual refusal."""

import time
import types
import uuid

import pytest
import sdk as clients
from lakefs_sdk import models
from sdk import refused

NOBODY = "nobody-of-that-name"
READS = models.Statement(effect="allow", resource="*", action=["fs:Read*", "fs:List*"])


def unique(what):
    return f"{what}-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def auth(sdk):
    return sdk.auth


@pytest.fixture
def user(auth):
    return auth.create_user(user_creation=models.UserCreation(id=unique("user"))).id


@pytest.fixture
def group(auth):
    return auth.create_group(group_creation=models.GroupCreation(id=unique("group"), description="a team")).id


@pytest.fixture
def policy(auth):
    return auth.create_policy(models.Policy(id=unique("policy"), statement=[READS])).id


def ids(answer):
    return [item.id for item in answer.results]


# Users


def test_create_user(auth):
    creation = models.UserCreation(id=unique("user"))
    made = auth.create_user(user_creation=creation)
    assert made.id == creation.id and abs(made.creation_date - time.time()) < 60
    assert auth.get_user(creation.id) == made
    refused(409, auth.create_user, user_creation=creation, code="already_exists")
    refused(400, auth.create_user, user_creation=models.UserCreation(id="a%b"))


def test_get_user(auth, user):
    assert auth.get_user(user).id == user
    refused(404, auth.get_user, NOBODY, code="not_found")


def test_get_current_user(auth, user, tarn):
    key = auth.create_credentials(user)
    theirs = clients.Sdk(types.SimpleNamespace(url=tarn.url, access_key=key.access_key_id, secret_key=key.secret_access_key))
    assert theirs.auth.get_current_user().user.id == user
    wrong = clients.Sdk(tarn, username=key.access_key_id, password="wrong")
    refused(401, wrong.auth.get_current_user, code="wrong_secret_key")


def test_list_users(auth, user, tarn):
    assert ids(auth.list_users(prefix=user)) == [user]
    assert len(auth.list_users(amount=1).results) == 1
    assert user not in ids(auth.list_users(after=user, amount=1000))
    key = auth.create_credentials(user)
    theirs = clients.Sdk(tarn, username=key.access_key_id, password=key.secret_access_key)
    refused(401, theirs.auth.list_users, code="insufficient_permissions")


def test_delete_user(auth, user):
    assert auth.delete_user(user) is None
    assert ids(auth.list_users(prefix=user)) == []
    refused(404, auth.delete_user, user, code="not_found")


# Credentials


def test_create_credentials(auth, user, tarn):
    key = auth.create_credentials(user)
    token = auth.login(models.LoginInformation(access_key_id=key.access_key_id, secret_access_key=key.secret_access_key))
    assert token.token
    refused(404, auth.create_credentials, NOBODY, code="not_found")


def test_get_credentials(auth, user):
    key = auth.create_credentials(user)
    found = auth.get_credentials(user, key.access_key_id)
    assert (found.access_key_id, found.creation_date) == (key.access_key_id, key.creation_date)
    refused(404, auth.get_credentials, user, "AKIAJNOBODY000000000")


def test_list_user_credentials(auth, user):
    keys = sorted(auth.create_credentials(user).access_key_id for _ in range(2))
    assert [key.access_key_id for key in auth.list_user_credentials(user).results] == keys
    refused(404, auth.list_user_credentials, NOBODY, code="not_found")


def test_delete_credentials(auth, user, tarn):
    key = auth.create_credentials(user)
    assert auth.delete_credentials(user, key.access_key_id) is None
    assert auth.list_user_credentials(user).results == []
    refused(401, auth.login, models.LoginInformation(access_key_id=key.access_key_id, secret_access_key=key.secret_access_key))
    refused(404, auth.delete_credentials, user, key.access_key_id)


def test_login(auth, tarn):
    token = auth.login(models.LoginInformation(access_key_id=tarn.access_key, secret_access_key=tarn.secret_key))
    assert token.token_expiration > time.time()
    bearer = clients.Sdk(tarn, access_token=token.token)
    assert bearer.auth.get_current_user() == auth.get_current_user()
    refused(
        401,
        auth.login,
        models.LoginInformation(access_key_id=tarn.access_key, secret_access_key="wrong"),
        code="wrong_secret_key",
    )


# Groups


def test_create_group(auth):
    creation = models.GroupCreation(id=unique("group"), description="a team")
    made = auth.create_group(group_creation=creation)
    assert auth.get_group(creation.id) == made and made.description == "a team"
    refused(409, auth.create_group, group_creation=creation, code="already_exists")


def test_get_group(auth, group):
    assert auth.get_group(group).id == group
    refused(404, auth.get_group, NOBODY, code="not_found")


def test_list_groups(auth, group, tarn):
    assert ids(auth.list_groups(prefix=group)) == [group]
    assert group not in ids(auth.list_groups(after=group, amount=1000))
    refused(401, clients.Sdk(tarn, username=tarn.access_key, password="wrong").auth.list_groups)


def test_delete_group(auth, group):
    assert auth.delete_group(group) is None
    assert ids(auth.list_groups(prefix=group)) == []
    refused(404, auth.delete_group, group, code="not_found")


def test_group_members(auth, group, user):
    assert auth.add_group_membership(group, user) is None
    assert ids(auth.list_group_members(group)) == [user] and ids(auth.list_user_groups(user)) == [group]
    assert auth.delete_group_membership(group, user) is None
    assert ids(auth.list_group_members(group)) == ids(auth.list_user_groups(user)) == []
    refused(404, auth.delete_group_membership, NOBODY, user)
    refused(404, auth.add_group_membership, NOBODY, user)
    refused(404, auth.add_group_membership, group, NOBODY)
    refused(404, auth.list_group_members, NOBODY)
    refused(404, auth.list_user_groups, NOBODY, code="not_found")


# Policies


def test_create_policy(auth):
    creation = models.Policy(id=unique("policy"), statement=[READS])
    made = auth.create_policy(creation)
    assert auth.get_policy(creation.id) == made and made.statement == [READS]
    refused(409, auth.create_policy, creation, code="already_exists")
    nonsense = READS.copy(update={"action": ["nothing:Read"]})
    refused(400, auth.create_policy, models.Policy(id=unique("policy"), statement=[nonsense]))


def test_get_policy(auth, policy):
    assert auth.get_policy(policy).statement == [READS]
    refused(404, auth.get_policy, NOBODY, code="not_found")


def test_update_policy(auth, policy):
    denies = READS.copy(update={"effect": "deny"})
    assert auth.update_policy(policy, models.Policy(id=policy, statement=[denies])).statement == [denies]
    assert auth.get_policy(policy).statement == [denies]
    refused(404, auth.update_policy, NOBODY, models.Policy(id=NOBODY, statement=[denies]))
    refused(400, auth.update_policy, policy, models.Policy(id="other", statement=[denies]))


def test_list_policies(auth, policy, tarn):
    assert ids(auth.list_policies(prefix=policy)) == [policy]
    assert policy not in ids(auth.list_policies(after=policy, amount=1000))
    refused(401, clients.Sdk(tarn, username=tarn.access_key, password="wrong").auth.list_policies)


def test_delete_policy(auth, policy):
    assert auth.delete_policy(policy) is None
    assert ids(auth.list_policies(prefix=policy)) == []
    refused(404, auth.delete_policy, policy, code="not_found")


def test_policies_of_users_and_groups(auth, user, group, policy):
    auth.add_group_membership(group, user)
    assert auth.attach_policy_to_group(group, policy) is None
    assert ids(auth.list_group_policies(group)) == [policy]
    assert ids(auth.list_user_policies(user)) == [] and ids(auth.list_user_policies(user, effective=True)) == [policy]
    assert auth.attach_policy_to_user(user, policy) is None
    assert ids(auth.list_user_policies(user)) == [policy]
    assert auth.detach_policy_from_user(user, policy) is None
    assert auth.detach_policy_from_group(group, policy) is None
    assert ids(auth.list_group_policies(group)) == ids(auth.list_user_policies(user, effective=True)) == []
    for call in (auth.attach_policy_to_user, auth.detach_policy_from_user):
        refused(404, call, NOBODY, policy)
    for call in (auth.attach_policy_to_group, auth.detach_policy_from_group):
        refused(404, call, NOBODY, policy)
    refused(404, auth.attach_policy_to_user, user, NOBODY)
    refused(404, auth.list_group_policies, NOBODY)
    refused(404, auth.list_user_policies, NOBODY, code="not_found")


# External principals


@pytest.mark.parametrize("api", ["auth", "external", "experimental"])
def test_external_principals(sdk, user, api):
    api = getattr(sdk, api)
    principal = f"arn:aws:sts::1:role/{user}"
    settings = models.ExternalPrincipalCreation(settings=[{"team": "vision"}])
    assert api.create_user_external_principal(user, principal, external_principal_creation=settings) is None
    found = api.get_external_principal(principal)
    assert (found.id, found.user_id, found.settings) == (principal, user, settings.settings)
    assert ids(api.list_user_external_principals(user)) == [principal]
    refused(409, api.create_user_external_principal, user, principal, external_principal_creation=settings)
    assert api.delete_user_external_principal(user, principal) is None
    assert ids(api.list_user_external_principals(user)) == []
    refused(404, api.get_external_principal, principal)
    refused(404, api.delete_user_external_principal, user, principal)
    refused(404, api.create_user_external_principal, NOBODY, principal)
    refused(404, api.list_user_external_principals, NOBODY)


@pytest.mark.parametrize("api", ["auth", "external", "experimental"])
def test_external_principal_login_is_refused(sdk, api):
    information = models.ExternalLoginInformation(identityRequest={"identity_token": "x"})
    refused(501, getattr(sdk, api).external_principal_login, external_login_information=information, code="unimplemented")


def test_sts_login_is_refused(sdk):
    request = models.StsAuthRequest(code="c", state="s", redirect_uri="http://127.0.0.1/")
    refused(501, sdk.experimental.sts_login, request, code="unimplemented")

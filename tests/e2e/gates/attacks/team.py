"""The people around a gate: users whose policies let them do their own work and nothing else."""

import types
import uuid

import lakefs_sdk
from lakefs_sdk import models

# As long as names of stages are: a star would match what is below a repository too.
REPOSITORY = "arn:lakefs:fs:::repository/gate-????????????"

READS = [(["fs:Read*", "fs:List*", "branches:Get*", "ci:Read*", "pr:*"], REPOSITORY, f"{REPOSITORY}/*"), (["fs:ReadConfig"], "*")]
DEVELOPS = READS + [
    (["fs:WriteObject", "fs:DeleteObject"], f"{REPOSITORY}/object/*"),
    (["fs:CreateBranch", "fs:DeleteBranch", "fs:CreateCommit", "fs:RevertBranch"], f"{REPOSITORY}/branch/exp-*"),
    (["fs:CreateRun"], REPOSITORY),
    (["fs:Promote"], f"{REPOSITORY}/branch/main"),
]

# By name: the statements of their policies, each a list of actions and the resources.
RIGHTS = {
    "lead": [(["fs:*", "branches:*", "pr:*", "ci:*", "retention:*"], "*")],
    "dev": DEVELOPS,
    "dev2": DEVELOPS,
    "reviewer": READS + [(["fs:ApprovePromotion"], f"{REPOSITORY}/branch/main")],
    "reviewer2": READS + [(["fs:ApprovePromotion"], f"{REPOSITORY}/branch/main")],
    "ci": READS
    + [
        (["fs:ReportCheck"], f"{REPOSITORY}/branch/main", f"{REPOSITORY}/branch/main/check/*"),
        (["fs:CreateRun"], REPOSITORY, f"{REPOSITORY}/branch/*"),
    ],
    # As dev, and what teams often add to that.
    "tagger": DEVELOPS + [(["fs:CreateTag", "fs:DeleteTag"], f"{REPOSITORY}/tag/*")],
    "brancher": DEVELOPS + [(["fs:CreateBranch", "fs:CreateCommit", "fs:DeleteBranch"], f"{REPOSITORY}/branch/*")],
    "stager": DEVELOPS + [(["fs:Promote"], f"{REPOSITORY}/branch/staging")],
    "viewer": READS,
}


def statement(actions, *resources):
    return models.Statement(effect="allow", action=actions, resource=resource_text(resources))


def resource_text(resources):
    """One resource is text; several are a list in text, as lakeFS writes them."""
    return resources[0] if len(resources) == 1 else "[" + ",".join(f'"{resource}"' for resource in resources) + "]"


class Team:
    """Users of one server, made with its own API. A member has url, access_key, secret_key and name, as servers have."""

    def __init__(self, server):
        self.server = server
        self.auth = lakefs_sdk.AuthApi(
            lakefs_sdk.ApiClient(
                lakefs_sdk.Configuration(host=server.url + "/api/v1", username=server.access_key, password=server.secret_key)
            )
        )
        self.members = {role: self.make(role, rights) for role, rights in RIGHTS.items()}
        self.members["admin"] = types.SimpleNamespace(
            url=server.url, access_key=server.access_key, secret_key=server.secret_key, name="admin"
        )
        server.settle()

    def make(self, role, rights):
        name = f"{role}-{uuid.uuid4().hex[:10]}"
        self.auth.create_user(user_creation=models.UserCreation(id=name))
        self.auth.create_policy(policy=models.Policy(id=name, statement=[statement(*one) for one in rights]))
        self.auth.attach_policy_to_user(name, name)
        return self.with_key(name)

    def with_key(self, name):
        """A user of that name, by a key made now."""
        key = self.auth.create_credentials(name)
        return types.SimpleNamespace(
            url=self.server.url, access_key=key.access_key_id, secret_key=key.secret_access_key, name=name
        )

    def __getitem__(self, role):
        return self.members[role]

// Every operation asked by callers with too little, just enough, and a denial: allowed only where
// it must be. A route without a row here fails.
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/versioning/aliases.h"
#include "core/versioning/refs_dump.h"
#include "core/versioning/webhooks.h"
#include "server/api/api_fixture.h"
#include "server/api/route.h"

namespace tarn::api {
namespace {

struct Permission {
  std::string_view action;
  std::string_view resource;  ///< the last part of the ARN, or "*"
};

struct Row {
  std::string_view operation;
  std::string_view query;
  std::string_view body;
  std::vector<Permission> needs;
};

const std::vector<Permission> kOpen = {{"open", ""}};
const std::vector<Permission> kAnyAccount = {{"any account", ""}};
constexpr std::string_view kPolicyBody =
    R"({"id":"rule","statement":[{"effect":"allow","action":["fs:*"],"resource":"*"}]})";

// The names that stand in the paths: repository data, branch and ref topic, destination target, tag
// v1, user someone, group team, policy rule.
std::string_view value_of(std::string_view name) {
  static const std::map<std::string_view, std::string_view> kValues = {
      {"repository", "data"},   {"branch", "topic"},   {"ref", "topic"},
      {"sourceRef", "topic"},   {"leftRef", "topic"},  {"destinationBranch", "target"},
      {"rightRef", "other"},    {"tag", "v1"},         {"commitId", "topic"},
      {"userId", "someone"},    {"groupId", "team"},   {"policyId", "rule"},
      {"accessKeyId", "AKIAX"}, {"uploadId", "u"},     {"partNumber", "1"},
      {"type", "range"},        {"pull_request", "p"}, {"promotion", "00000000000000000000"},
      {"alias", "champion"},    {"webhook", "hook"},   {"delivery", "evt_1"}};
  const auto at = kValues.find(name);
  return at == kValues.end() ? "x" : at->second;
}

// clang-format off
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
    {"setupCommPrefs", "", "", kOpen},
    {"getSetupState", "", "", kOpen},
    {"setup", "", R"({"username":"x"})", kOpen},
    {"getCurrentUser", "", "", kAnyAccount},
    {"login", "", R"({"access_key_id":"x","secret_access_key":"y"})", kOpen},
    {"externalPrincipalLogin", "", "", kOpen},
    {"stsLogin", "", "", kOpen},
    {"getAuthCapabilities", "", "", kOpen},
    {"listUsers", "", "", {{"auth:ListUsers", "*"}}},
    {"createUser", "", R"({"id":"someone"})", {{"auth:CreateUser", "user/someone"}}},
    {"getUser", "", "", {{"auth:ReadUser", "user/someone"}}},
    {"deleteUser", "", "", {{"auth:DeleteUser", "user/someone"}}},
    {"listGroups", "", "", {{"auth:ListGroups", "*"}}},
    {"createGroup", "", R"({"id":"team"})", {{"auth:CreateGroup", "group/team"}}},
    {"getGroup", "", "", {{"auth:ReadGroup", "group/team"}}},
    {"deleteGroup", "", "", {{"auth:DeleteGroup", "group/team"}}},
    {"listPolicies", "", "", {{"auth:ListPolicies", "*"}}},
    {"createPolicy", "", kPolicyBody, {{"auth:CreatePolicy", "policy/rule"}}},
    {"getPolicy", "", "", {{"auth:ReadPolicy", "policy/rule"}}},
    {"updatePolicy", "", kPolicyBody, {{"auth:UpdatePolicy", "policy/rule"}}},
    {"deletePolicy", "", "", {{"auth:DeletePolicy", "policy/rule"}}},
    {"listGroupMembers", "", "", {{"auth:ReadGroup", "group/team"}}},
    {"addGroupMembership", "", "", {{"auth:AddGroupMember", "group/team"}}},
    {"deleteGroupMembership", "", "", {{"auth:RemoveGroupMember", "group/team"}}},
    {"listUserCredentials", "", "", {{"auth:ListCredentials", "user/someone"}}},
    {"createCredentials", "", "", {{"auth:CreateCredentials", "user/someone"}}},
    {"deleteCredentials", "", "", {{"auth:DeleteCredentials", "user/someone"}}},
    {"getCredentials", "", "", {{"auth:ReadCredentials", "user/someone"}}},
    {"listUserGroups", "", "", {{"auth:ReadUser", "user/someone"}}},
    {"listUserPolicies", "", "", {{"auth:ReadUser", "user/someone"}}},
    {"attachPolicyToUser", "", "", {{"auth:AttachPolicy", "user/someone"}}},
    {"detachPolicyFromUser", "", "", {{"auth:DetachPolicy", "user/someone"}}},
    {"createUserExternalPrincipal", "principalId=role", "", {{"auth:CreateUserExternalPrincipal", "user/someone"}}},
    {"deleteUserExternalPrincipal", "principalId=role", "", {{"auth:DeleteUserExternalPrincipal", "user/someone"}}},
    {"listUserExternalPrincipals", "", "", {{"auth:ReadExternalPrincipal", "user/someone"}}},
    {"getExternalPrincipal", "principalId=role", "", {{"auth:ReadExternalPrincipal", "externalPrincipal/role"}}},
    {"listGroupPolicies", "", "", {{"auth:ReadGroup", "group/team"}}},
    {"attachPolicyToGroup", "", "", {{"auth:AttachPolicy", "group/team"}}},
    {"detachPolicyFromGroup", "", "", {{"auth:DetachPolicy", "group/team"}}},
    {"setGroupACL", "", R"({"permission":"Read"})", {{"auth:AttachPolicy", "group/team"}}},
    {"getGroupACL", "", "", {{"auth:ReadGroup", "group/team"}}},
    {"listRepositories", "", "", {{"fs:ListRepositories", "*"}}},
    {"createRepository", "", R"({"name":"data","storage_namespace":"local://data"})", {{"fs:CreateRepository", "repository/data"}, {"fs:AttachStorageNamespace", "namespace/local://data"}}},
    {"getRepository", "", "", {{"fs:ReadRepository", "repository/data"}}},
    {"deleteRepository", "", "", {{"fs:DeleteRepository", "repository/data"}}},
    {"getRepositoryMetadata", "", "", {{"fs:ReadRepository", "repository/data"}}},
    {"setRepositoryMetadata", "", R"({"metadata":{}})", {{"fs:UpdateRepository", "repository/data"}}},
    {"deleteRepositoryMetadata", "", R"({"keys":[]})", {{"fs:UpdateRepository", "repository/data"}}},
    {"getGCRules", "", "", {{"retention:GetGarbageCollectionRules", "repository/data"}}},
    {"setGCRules", "", R"({"default_retention_days":7,"branches":[]})", {{"retention:SetGarbageCollectionRules", "repository/data"}}},
    {"deleteGCRules", "", "", {{"retention:SetGarbageCollectionRules", "repository/data"}}},
    {"getBranchProtectionRules", "", "", {{"branches:GetBranchProtectionRules", "repository/data"}}},
    {"setBranchProtectionRules", "", "[]", {{"branches:SetBranchProtectionRules", "repository/data"}}},
    {"dumpRefs", "", "", {{"fs:ListTags", "repository/data"}, {"fs:ListBranches", "repository/data"}, {"fs:ListCommits", "repository/data"}}},
    {"restoreRefs", "", R"({"commits_meta_range_id":"commits-x","tags_meta_range_id":"tags-x","branches_meta_range_id":"branches-x"})", {{"fs:CreateTag", "repository/data"}, {"fs:CreateBranch", "repository/data"}, {"fs:CreateCommit", "repository/data"}}},
    {"dumpSubmit", "", "", {{"fs:ListTags", "repository/data"}, {"fs:ListBranches", "repository/data"}, {"fs:ListCommits", "repository/data"}}},
    {"dumpStatus", "task_id=x", "", {{"fs:ListTags", "repository/data"}, {"fs:ListBranches", "repository/data"}, {"fs:ListCommits", "repository/data"}}},
    {"restoreSubmit", "", R"({"commits_meta_range_id":"commits-x","tags_meta_range_id":"tags-x","branches_meta_range_id":"branches-x"})", {{"fs:CreateTag", "repository/data"}, {"fs:CreateBranch", "repository/data"}, {"fs:CreateCommit", "repository/data"}}},
    {"restoreStatus", "task_id=x", "", {{"fs:CreateTag", "repository/data"}, {"fs:CreateBranch", "repository/data"}, {"fs:CreateCommit", "repository/data"}}},
    {"listTags", "", "", {{"fs:ListTags", "repository/data"}}},
    {"createTag", "", R"({"id":"v1","ref":"topic"})", {{"fs:CreateTag", "repository/data/tag/v1"}}},
    {"getTag", "", "", {{"fs:ReadTag", "repository/data/tag/v1"}}},
    {"deleteTag", "", "", {{"fs:DeleteTag", "repository/data/tag/v1"}}},
    {"listBranches", "", "", {{"fs:ListBranches", "repository/data"}}},
    {"createBranch", "", R"({"name":"topic","source":"main"})", {{"fs:CreateBranch", "repository/data/branch/topic"}}},
    {"logCommits", "", "", {{"fs:ReadBranch", "repository/data/branch/topic"}}},
    {"commit", "", R"({"message":"m"})", {{"fs:CreateCommit", "repository/data/branch/topic"}}},
    {"CreateCommitRecord", "", R"({"commit_id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","version":1,"committer":"c","message":"m","metarange_id":"","creation_date":0,"parents":[],"generation":1})", {{"fs:CreateCommit", "repository/data"}}},
    {"getBranch", "", "", {{"fs:ReadBranch", "repository/data/branch/topic"}}},
    {"deleteBranch", "", "", {{"fs:DeleteBranch", "repository/data/branch/topic"}}},
    {"resetBranch", "", R"({"type":"reset"})", {{"fs:RevertBranch", "repository/data/branch/topic"}}},
    {"setBranchExpiry", "", R"({"expires":"72h"})", {{"fs:CreateBranch", "repository/data/branch/topic"}, {"fs:DeleteBranch", "repository/data/branch/topic"}}},
    {"hardResetBranch", "ref=topic", "", {{"fs:RevertBranch", "repository/data/branch/topic"}}},
    {"revertBranch", "", R"({"ref":"topic","parent_number":0})", {{"fs:RevertBranch", "repository/data/branch/topic"}}},
    {"cherryPick", "", R"({"ref":"topic"})", {{"fs:CreateCommit", "repository/data/branch/topic"}, {"fs:ReadCommit", "repository/data"}}},
    {"mergeIntoBranch", "", "", {{"fs:CreateCommit", "repository/data/branch/target"}}},
    {"findMergeBase", "", "", {{"fs:ListCommits", "repository/data"}}},
    {"diffBranch", "", "", {{"fs:ListObjects", "repository/data"}}},
    {"diffRefs", "", "", {{"fs:ListObjects", "repository/data"}}},
    {"getCommit", "", "", {{"fs:ReadCommit", "repository/data"}}},
    {"getObject", "path=dir/a", "", {{"fs:ReadObject", "repository/data/object/dir/a"}}},
    {"headObject", "path=dir/a", "", {{"fs:ReadObject", "repository/data/object/dir/a"}}},
    {"createPresignMultipartUpload", "path=dir/a", "", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"completePresignMultipartUpload", "path=dir/a", R"({"physical_address":"x","parts":[{"part_number":1,"etag":"e"}]})", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"abortPresignMultipartUpload", "path=dir/a", R"({"physical_address":"x"})", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"uploadPart", "path=dir/a", R"({"physical_address":"x"})", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"uploadPartCopy", "path=dir/a", R"({"physical_address":"x","copy_source":{"repository":"other","ref":"main","path":"src"}})", {{"fs:WriteObject", "repository/data/object/dir/a"}, {"fs:ReadObject", "repository/other/object/src"}}},
    {"getPhysicalAddress", "path=dir/a", "", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"linkPhysicalAddress", "path=dir/a", R"({"staging":{"physical_address":"x"},"checksum":"c","size_bytes":1})", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"importStatus", "id=x", "", {{"fs:ReadBranch", "repository/data/branch/topic"}}},
    {"importStart", "", R"({"paths":[{"type":"common_prefix","path":"s3://lake/in/","destination":"dir/"}],"commit":{"message":"m"}})", {{"fs:WriteObject", "repository/data/object/dir/"}, {"fs:CreateCommit", "repository/data/branch/topic"}, {"fs:ImportFromStorage", "namespace/s3://lake/in/"}}},
    {"importCancel", "id=x", "", {{"fs:ImportCancel", "repository/data/branch/topic"}}},
    {"uploadObjectPreflight", "path=dir/a", "", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"stageObject", "path=dir/a", R"({"physical_address":"x","checksum":"c","size_bytes":1})", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"uploadObject", "path=dir/a", "", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"deleteObject", "path=dir/a", "", {{"fs:DeleteObject", "repository/data/object/dir/a"}}},
    {"deleteObjects", "", R"({"paths":["dir/a","dir/b"]})", {{"fs:DeleteObject", "repository/data/object/dir/a"}, {"fs:DeleteObject", "repository/data/object/dir/b"}}},
    {"copyObject", "dest_path=dir/b", R"({"src_path":"dir/a"})", {{"fs:ReadObject", "repository/data/object/dir/a"}, {"fs:WriteObject", "repository/data/object/dir/b"}}},
    {"statObject", "path=dir/a", "", {{"fs:ReadObject", "repository/data/object/dir/a"}}},
    {"updateObjectUserMetadata", "path=dir/a", R"({"set":{}})", {{"fs:WriteObject", "repository/data/object/dir/a"}}},
    {"getUnderlyingProperties", "path=dir/a", "", {{"fs:ReadObject", "repository/data/object/dir/a"}}},
    {"listObjects", "", "", {{"fs:ListObjects", "repository/data"}}},
    {"listOperations", "", "", kAnyAccount},
    {"getOperation", "", "", kAnyAccount},
    {"cancelOperation", "", "", kAnyAccount},
    {"verifyImport", "", "", {{"fs:ListObjects", "repository/data"}}},
    {"searchObjects", "prefix=dir/", "", {{"fs:ListObjects", "repository/data"}}},
    {"createSymlinkFile", "", "", {{"fs:ListObjects", "repository/data"}, {"fs:WriteObject", "repository/data"}}},
    {"listRepositoryRuns", "", "", {{"ci:ReadAction", "repository/data"}}},
    {"getRun", "", "", {{"ci:ReadAction", "repository/data"}}},
    {"listRunHooks", "", "", {{"ci:ReadAction", "repository/data"}}},
    {"getRunHookOutput", "", "", {{"ci:ReadAction", "repository/data"}}},
    {"getMetadataObject", "", "", {{"fs:ListObjects", "repository/data"}, {"fs:ReadRepository", "repository/data"}}},
    {"getMetaRange", "", "", {{"fs:ListObjects", "repository/data"}, {"fs:ReadRepository", "repository/data"}}},
    {"getRange", "", "", {{"fs:ListObjects", "repository/data"}, {"fs:ReadRepository", "repository/data"}}},
    {"setGarbageCollectionRulesPreflight", "", "", {{"retention:SetGarbageCollectionRules", "repository/data"}}},
    {"internalGetGarbageCollectionRules", "", "", {{"retention:GetGarbageCollectionRules", "repository/data"}}},
    {"internalSetGarbageCollectionRules", "", R"({"default_retention_days":7,"branches":[]})", {{"retention:SetGarbageCollectionRules", "repository/data"}}},
    {"internalDeleteGarbageCollectionRules", "", "", {{"retention:SetGarbageCollectionRules", "repository/data"}}},
    {"prepareGarbageCollectionCommits", "", "", {{"retention:PrepareGarbageCollectionCommits", "repository/data"}}},
    {"prepareGarbageCollectionCommitsAsync", "", "", {{"retention:PrepareGarbageCollectionCommits", "repository/data"}}},
    {"prepareGarbageCollectionCommitsStatus", "id=x", "", {{"retention:PrepareGarbageCollectionCommits", "repository/data"}}},
    {"prepareGarbageCollectionUncommitted", "", "", {{"retention:PrepareGarbageCollectionUncommitted", "repository/data"}}},
    {"createBranchProtectionRulePreflight", "", "", {{"branches:SetBranchProtectionRules", "repository/data"}}},
    {"internalGetBranchProtectionRules", "", "", {{"branches:GetBranchProtectionRules", "repository/data"}}},
    {"internalCreateBranchProtectionRule", "", R"({"pattern":"main"})", {{"branches:SetBranchProtectionRules", "repository/data"}}},
    {"internalDeleteBranchProtectionRule", "", R"({"pattern":"main"})", {{"branches:SetBranchProtectionRules", "repository/data"}}},
    {"listGatePolicies", "", "", {{"branches:GetGatePolicy", "repository/data"}}},
    {"getGatePolicy", "", "", {{"branches:GetGatePolicy", "repository/data"}}},
    {"setGatePolicy", "", "", {{"branches:SetGatePolicy", "repository/data"}}},
    {"removeGatePolicy", "", "", {{"branches:SetGatePolicy", "repository/data"}}},
    {"listGatePolicyVersions", "", "", {{"branches:GetGatePolicy", "repository/data"}}},
    {"evaluateGatePolicy", "", R"({"candidates":["topic"]})", {{"branches:GetGatePolicy", "repository/data"}, {"fs:ReadRun", "repository/data"}, {"fs:ListBranches", "repository/data"}}},
    {"compareCandidates", "", R"({"candidates":["topic"]})", {{"fs:ReadRun", "repository/data"}, {"fs:ReadCommit", "repository/data"}, {"fs:ListBranches", "repository/data"}}},
    {"listPullRequests", "", "", {{"pr:ListPullRequests", "repository/data"}}},
    {"createPullRequest", "", R"({"title":"t","source_branch":"topic","destination_branch":"target"})", {{"pr:WritePullRequest", "repository/data"}}},
    {"getPullRequest", "", "", {{"pr:ReadPullRequest", "repository/data"}}},
    {"updatePullRequest", "", "{}", {{"pr:WritePullRequest", "repository/data"}}},
    {"mergePullRequest", "", "", {{"pr:WritePullRequest", "repository/data"}}},
    {"healthCheck", "", "", kOpen},
    {"getConfig", "", "", kAnyAccount},
    {"getLakeFSVersion", "", "", kAnyAccount},
    {"getStorageConfig", "", "", kAnyAccount},
    {"getGarbageCollectionConfig", "", "", kAnyAccount},
    {"postStatsEvents", "", R"({"events":[]})", kAnyAccount},
    {"getUsageReportSummary", "", "", kAnyAccount},
    {"oauthCallback", "", "", kOpen},
    {"getTagProtectionRules", "", "", {{"branches:GetBranchProtectionRules", "repository/data"}}},
    {"setTagProtectionRules", "", "[]", {{"branches:SetBranchProtectionRules", "repository/data"}}},
    {"moveObjects", "", R"({"src_prefix":"dir/a/","dest_prefix":"dir/b/"})", {{"fs:ReadObject", "repository/data/object/dir/a/"}, {"fs:DeleteObject", "repository/data/object/dir/a/"}, {"fs:WriteObject", "repository/data/object/dir/b/"}}},
    {"archivePrefix", "prefix=dir/", "", {{"fs:ListObjects", "repository/data"}}},
    {"archivePaths", "", R"({"paths":["dir/a","dir/b"]})", {{"fs:ReadObject", "repository/data/object/dir/a"}, {"fs:ReadObject", "repository/data/object/dir/b"}}},
    {"checkoutPath", "", R"({"ref":"main","paths":["dir/**"]})", {{"fs:ListObjects", "repository/data"}}},
    {"summariseDiff", "", "", {{"fs:ListObjects", "repository/data"}}},
    {"listMergeConflicts", "", "", {{"fs:ListObjects", "repository/data"}}},
    {"runHooks", "", R"({"ref":"main","event":"pre-commit","branch":"main"})", {{"ci:RunAction", "repository/data"}}},
    {"listWebhooks", "", "", {{"ci:ReadWebhook", "repository/data"}}},
    {"getWebhook", "", "", {{"ci:ReadWebhook", "repository/data"}}},
    {"putWebhook", "", R"({"url":"http://10.1.2.3/x"})", {{"ci:WriteWebhook", "repository/data"}}},
    {"deleteWebhook", "", "", {{"ci:WriteWebhook", "repository/data"}}},
    {"pingWebhook", "", "", {{"ci:WriteWebhook", "repository/data"}}},
    {"listWebhookDeliveries", "", "", {{"ci:ReadWebhook", "repository/data"}}},
    {"redeliverWebhookEvent", "", "", {{"ci:WriteWebhook", "repository/data"}}},
    {"listPullRequestApprovals", "", "", {{"pr:ReadPullRequest", "repository/data"}}},
    {"approvePullRequest", "", "", {{"pr:WritePullRequest", "repository/data"}}},
    {"withdrawPullRequestApproval", "", "", {{"pr:WritePullRequest", "repository/data"}}},
    {"listPromotions", "", "", {{"fs:ReadPromotion", "repository/data"}}},
    {"createPromotion", "", R"({"candidates":["topic"],"destination":"target"})", {{"fs:ReadPromotion", "repository/data"}, {"fs:Promote", "repository/data/branch/target"}}},
    {"getPromotion", "", "", {{"fs:ReadPromotion", "repository/data"}}},
    {"reportCheck", "", R"({"commit":"0000000000000000000000000000000000000000000000000000000000000000","status":"success"})", {{"fs:ReadPromotion", "repository/data"}}},
    {"approvePromotion", "", "", {{"fs:ReadPromotion", "repository/data"}}},
    {"rejectPromotion", "", "", {{"fs:ReadPromotion", "repository/data"}}},
    {"cancelPromotion", "", "", {{"fs:ReadPromotion", "repository/data"}}},
    {"rollBackPromotion", "", "", {{"fs:ReadPromotion", "repository/data"}}},
    {"listAliases", "", "", {{"fs:ListTags", "repository/data"}}},
    {"getAlias", "", "", {{"fs:ReadTag", "repository/data/alias/champion"}}},
    {"listAliasChanges", "", "", {{"fs:ReadTag", "repository/data/alias/champion"}}},
    {"setAlias", "", R"({"to":"topic"})", {{"fs:SetAlias", "repository/data/alias/champion"}, {"fs:ReadCommit", "repository/data"}}},
    {"removeAlias", "", "", {{"fs:SetAlias", "repository/data/alias/champion"}}},
    {"recordRun", "", R"({"ref":"topic"})", {{"fs:CreateRun", "repository/data"}}},
    {"listExperimentRuns", "", "", {{"fs:ListRuns", "repository/data"}}},
    {"getExperimentRun", "", "", {{"fs:ReadRun", "repository/data"}}},
    {"getCommitMetrics", "", "", {{"fs:ReadRun", "repository/data"}}},
    {"getMetricSeries", "metric=loss", "", {{"fs:ReadRun", "repository/data"}}},
    {"getMetricFiles", "", "", {{"fs:ReadRepository", "repository/data"}}},
    {"setMetricFiles", "", R"({"globs":[]})", {{"fs:UpdateRepository", "repository/data"}}},
  };
  return kRows;
}
// clang-format on

std::string arn_of(std::string_view resource) {
  if (resource == "*") return "*";
  const bool files = resource.starts_with("repository/") || resource.starts_with("namespace/");
  return (files ? "arn:lakefs:fs:::" : "arn:lakefs:auth:::") + std::string(resource);
}

const Route& route_of(std::string_view operation) {
  for (const Route& route : routes()) {
    if (route.operation == operation) return route;
  }
  ADD_FAILURE() << "no route " << operation;
  return routes()[0];
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  if (const size_t at = text.find(what); at != std::string::npos) {
    text.replace(at, what.size(), with);
  }
  return text;
}

using Statements = std::vector<auth::Statement>;

class Authorisation : public ::testing::Test {
 protected:
  Authorisation() {
    service.directory.users.create({"ann", engine.clock.now(), {}, {}});
    key = *service.directory.credentials.create("ann", engine.clock.now());
    service.directory.policies.create({"tried", engine.clock.now(), {kEverything}});
    service.directory.policies.attach_to_user("ann", "tried");
  }

  /// The answer to one operation for a caller with these statements; none = a user without policy.
  http::Response ask(const Row& row, const Statements& statements, bool signed_in = true) {
    if (statements.empty()) {
      service.directory.policies.detach_from_user("ann", "tried");
    } else {
      service.directory.policies.attach_to_user("ann", "tried");
      EXPECT_TRUE(service.directory.policies.update("tried", statements));
    }
    service.authenticator.forget();

    const Route& route = route_of(row.operation);
    http::Request request;
    request.method = name_of(route.method);
    std::string path(route.pattern);
    for (size_t open; (open = path.find('{')) != std::string::npos;) {
      const size_t end = path.find('}', open);
      path.replace(open, end - open + 1, value_of(path.substr(open + 1, end - open - 1)));
    }
    request.target = std::string(kBasePath) + path;
    if (!row.query.empty()) request.target += "?" + std::string(row.query);
    request.id = "request-1";
    request.peer = "127.0.0.1";
    if (signed_in) {
      request.headers.add("Authorization", basic(key.id, key.secret));
    }
    if (!row.body.empty()) request.headers.add("Content-Type", "application/json");
    request.content_length = row.body.size();
    request.body = http::string_body(std::string(row.body));
    return api.handle(request);
  }
  void expect_refused(const Row& row, const Statements& statements, std::string_view why) {
    const http::Response response = ask(row, statements);
    EXPECT_EQ(response.status, 401) << row.operation << ": " << why;
    EXPECT_EQ(response.headers.get("X-Tarn-Error"), "insufficient_permissions")
        << row.operation << ": " << why;
  }
  void expect_let_in(const Row& row, const Statements& statements, std::string_view why) {
    const http::Response response = ask(row, statements);
    EXPECT_NE(response.status, 401) << row.operation << ": " << why << ": " << response.body;
    EXPECT_NE(response.status, 500) << row.operation << ": " << why << ": " << response.body;
  }

  static Statements allowing(const Row& row,
                             const std::function<std::string(std::string)>& change = {}) {
    Statements out;
    for (const Permission& need : row.needs) {
      std::string resource(need.resource);
      if (change) resource = change(std::move(resource));
      out.push_back(
          {auth::Statement::Effect::kAllow, {std::string(need.action)}, {arn_of(resource)}, {}});
    }
    return out;
  }

  const auth::Statement kEverything{auth::Statement::Effect::kAllow, {"*"}, {"*"}, {}};
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  TestService service{engine};
  auth::NewKey key;
  Api api{service.context};
};

bool is(const Row& row, const std::vector<Permission>& special) {
  return row.needs.size() == 1 && row.needs[0].action == special[0].action;
}

TEST_F(Authorisation, HasARowForEveryRoute) {
  std::multiset<std::string_view> rowed;
  for (const Row& row : rows()) rowed.insert(row.operation);
  std::multiset<std::string_view> routed;
  for (const Route& route : routes()) routed.insert(route.operation);
  EXPECT_EQ(rowed, routed);
}

TEST_F(Authorisation, WithoutAnAccountOnlyOpenOperationsAnswer) {
  for (const Row& row : rows()) {
    const http::Response response = ask(row, {}, /*signed_in=*/false);
    const bool unauthenticated = response.status == 401;
    // Wrong keys at login are a 401 of their own.
    if (row.operation == "login") continue;
    EXPECT_EQ(unauthenticated, !is(row, kOpen)) << row.operation << ": " << response.body;
  }
}

TEST_F(Authorisation, WithoutAPolicyNothingIsAllowedButWhatEveryAccountMay) {
  for (const Row& row : rows()) {
    if (is(row, kOpen)) continue;
    if (is(row, kAnyAccount)) {
      expect_let_in(row, {}, "any account");
    } else {
      expect_refused(row, {}, "no policy");
    }
  }
}

TEST_F(Authorisation, ExactlyWhatIsNeededIsEnoughAndNothingLess) {
  for (const Row& row : rows()) {
    if (is(row, kOpen) || is(row, kAnyAccount)) continue;
    expect_let_in(row, allowing(row), "the right policy");
    for (size_t left_out = 0; left_out < row.needs.size(); ++left_out) {
      Statements less = allowing(row);
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(left_out));
      expect_refused(row, less, std::string("without ") + std::string(row.needs[left_out].action));
    }
  }
}

TEST_F(Authorisation, TheSamePermissionOnSomethingElseIsNotEnough) {
  struct Swap {
    std::string_view what;
    std::string_view with;
  };
  constexpr Swap kSwaps[] = {{"repository/data", "repository/other"},
                             {"/branch/topic", "/branch/other"},
                             {"/branch/target", "/branch/other"},
                             {"/object/dir/", "/object/elsewhere/"},
                             {"/tag/v1", "/tag/v2"},
                             {"/alias/champion", "/alias/other"},
                             {"user/someone", "user/other"},
                             {"group/team", "group/other"},
                             {"policy/rule", "policy/other"},
                             {"externalPrincipal/role", "externalPrincipal/other"},
                             {"namespace/", "namespace/x"},
                             {"*", "repository/*"}};
  for (const Row& row : rows()) {
    if (is(row, kOpen) || is(row, kAnyAccount)) continue;
    bool swapped = false;
    for (const Swap& swap : kSwaps) {
      bool changed = false;
      const Statements other = allowing(row, [&](std::string resource) {
        std::string out = replaced(resource, swap.what, swap.with);
        changed = changed || out != resource;
        return out;
      });
      if (!changed) continue;
      swapped = true;
      expect_refused(row, other, swap.with);
    }
    EXPECT_TRUE(swapped) << row.operation;
  }
}

TEST_F(Authorisation, WhoChoosesTheParentsOfACommitMustBeAllowedToMoveTheBranch) {
  const Row row{"commit",
                "",
                R"({"message":"m","parents":["main"]})",
                {{"fs:CreateCommit", "repository/data/branch/topic"},
                 {"fs:RevertBranch", "repository/data/branch/topic"}}};
  expect_let_in(row, allowing(row), "both");
  Statements less = allowing(row);
  less.pop_back();
  expect_refused(row, less, "without fs:RevertBranch");
}

using Refs = std::map<std::string, std::string>;

/// Where the refs of repository data are: kind and name, commit in hex.
Refs refs_of(testing::TestEngine& engine) {
  constexpr db::Query kRefs{"test_refs", R"sql(
    SELECT 'branch ' || b.name, encode(b.head, 'hex') FROM branches b JOIN repositories r USING (repo_id)
    WHERE r.name = 'data' AND r.deleted_ms IS NULL
    UNION ALL
    SELECT 'alias ' || a.name, encode(a.commit_id, 'hex') FROM aliases a JOIN repositories r USING (repo_id)
    WHERE r.name = 'data' AND r.deleted_ms IS NULL AND a.commit_id IS NOT NULL
    UNION ALL
    SELECT 'tag ' || t.name, encode(t.commit_id, 'hex') FROM tags t JOIN repositories r USING (repo_id)
    WHERE r.name = 'data' AND r.deleted_ms IS NULL)sql"};
  const db::Rows rows = engine.pool.run(kRefs, {}, db::Pool::Retry::kRead);
  Refs out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace(rows.text(row, 0), rows.text(row, 1));
  return out;
}

/// What becomes of `refs` by the events that webhook "all" is told of.
void apply_events(testing::TestEngine& engine, Refs& refs, std::string_view operation) {
  constexpr db::Query kEvents{"test_ref_events", R"sql(
    SELECT (e.body::jsonb)->'data'->>'kind' || ' ' || ((e.body::jsonb)->'data'->>'name'),
      coalesce((e.body::jsonb)->'data'->>'old_commit', ''), coalesce((e.body::jsonb)->'data'->>'new_commit', '')
    FROM webhook_deliveries d JOIN events e USING (event_id) JOIN webhooks h USING (webhook_id)
      JOIN repositories r ON r.repo_id = h.repo_id
    WHERE r.name = 'data' AND r.deleted_ms IS NULL AND h.name = 'all' ORDER BY event_id)sql"};
  const db::Rows rows = engine.pool.run(kEvents, {}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string name(rows.text(row, 0));
    const auto at = refs.find(name);
    EXPECT_EQ(rows.text(row, 1), at == refs.end() ? "" : at->second) << operation << " " << name;
    if (rows.text(row, 2).empty()) {
      refs.erase(name);
    } else {
      refs[name] = rows.text(row, 2);
    }
  }
}

/// Calls that find something to move, in place of those above that do not.
Row moving(const Row& row) {
  Row out = row;
  if (row.operation == "hardResetBranch") out.query = "ref=main";
  if (row.operation == "cherryPick") out.body = R"({"ref":"other"})";
  return out;
}

// Whatever an operation does to the refs, it does in front of the webhooks: a new one needs nothing
// but its row above to be looked at.
TEST_F(Authorisation, EveryOperationThatMovesARefIsTold) {
  std::set<std::string_view> moved;
  int made = 0;
  for (const Row& row : rows()) {
    if (is(row, kOpen) || is(row, kAnyAccount)) continue;
    // With a repository its webhooks go too.
    if (row.operation == "deleteRepository" || row.operation == "createRepository") continue;
    versioning::RepositoryCreation creation;
    creation.name = RepositoryName("data");
    creation.storage_namespace = "local://data-" + std::to_string(made++);
    const RepositoryName data = versioning::create_repository(*engine, creation).name;
    engine.put(data, "main", "m", "1");
    engine.commit(data, "main");
    for (const char* branch : {"topic", "target", "other"}) {
      if (row.operation == "createBranch" && branch == std::string_view("topic")) continue;
      engine.branch(data, branch, "main");
      engine.put(data, branch, std::string("dir/of-") + branch, "1");
      engine.commit(data, branch);
    }
    if (row.operation != "createTag") {
      versioning::create_tag(*engine, data, TagName("v1"), "main", /*force=*/false);
    }
    if (row.operation != "setAlias") {
      versioning::set_alias(*engine, data, {.name = AliasName("champion"), .actor = "ann"}, "main");
    }
    if (row.operation == "commit") engine.put(data, "topic", "dir/a", "1");
    versioning::put_webhook(*engine, service.context.webhook_key, data,
                            {.name = "all", .url = "http://10.1.2.3/", .created_by = "ann"}, {});

    Refs refs = refs_of(engine);
    ask(moving(row), {kEverything});
    const Refs after = refs_of(engine);
    if (refs != after) moved.insert(row.operation);
    apply_events(engine, refs, row.operation);
    EXPECT_EQ(refs, after) << row.operation;
    versioning::delete_repository(*engine, data, /*force=*/true);
  }
  // That the test moves something at all.
  for (const char* mover :
       {"createBranch", "deleteBranch", "commit", "mergeIntoBranch", "revertBranch", "cherryPick",
        "hardResetBranch", "createTag", "deleteTag", "setAlias", "removeAlias"}) {
    EXPECT_TRUE(moved.contains(mover)) << mover;
  }
}

// Tried without asking about each object: the protected one was moved.
TEST_F(Authorisation, AMoveOfAPrefixAsksAboutEveryObjectBelowIt) {
  const RepositoryName data = engine.make_repository("data");
  engine.branch(data, "topic", "main");
  for (const char* path : {"dir/a/1", "dir/a/secret/2"}) engine.put(data, "topic", path, "x");
  const Row row{"moveObjects", "", R"({"src_prefix":"dir/a/","dest_prefix":"dir/b/"})", {}};
  for (const char* action : {"fs:DeleteObject", "fs:ReadObject", "fs:WriteObject"}) {
    const std::string hidden = action == std::string_view("fs:WriteObject") ? "b" : "a";
    const auth::Statement deny{auth::Statement::Effect::kDeny,
                               {action},
                               {arn_of("repository/data/object/dir/" + hidden + "/secret/*")},
                               {}};
    expect_refused(row, {kEverything, deny}, action);
    EXPECT_EQ(engine.keys(data, "topic"), "dir/a/1 dir/a/secret/2");
  }
  expect_let_in(row, {kEverything}, "everything");
  EXPECT_EQ(engine.keys(data, "topic"), "dir/b/1 dir/b/secret/2");
}

// Tried without asking about each object: the hidden one was sent.
TEST_F(Authorisation, AnArchiveOfAPrefixAsksAboutEveryObjectBelowIt) {
  const RepositoryName data = engine.make_repository("data");
  engine.branch(data, "topic", "main");
  for (const char* path : {"dir/a/1", "dir/a/secret/2"}) engine.put(data, "topic", path, "x");
  const auth::Statement deny{auth::Statement::Effect::kDeny,
                             {"fs:ReadObject"},
                             {arn_of("repository/data/object/dir/a/secret/*")},
                             {}};
  for (const char* prefix : {"prefix=dir/", "prefix=", ""}) {
    expect_refused({"archivePrefix", prefix, "", {}}, {kEverything, deny}, prefix);
    expect_let_in({"archivePrefix", prefix, "", {}}, {kEverything}, prefix);
  }
  const auth::Statement list{
      auth::Statement::Effect::kAllow, {"fs:ListObjects"}, {arn_of("repository/data")}, {}};
  expect_refused({"archivePrefix", "prefix=dir/", "", {}}, {list}, "listing is not reading");
}

// Tried without asking about each key: what was protected was replaced and deleted.
TEST_F(Authorisation, ACheckoutAsksAboutEveryObjectThatItChanges) {
  const RepositoryName data = engine.make_repository("data");
  engine.put(data, "main", "dir/secret/1", "of main");
  engine.commit(data, "main");
  engine.branch(data, "topic", "main");
  engine.put(data, "topic", "dir/secret/1", "of topic");
  engine.put(data, "topic", "dir/secret/2", "of topic");
  const Row row{"checkoutPath", "", R"({"ref":"main","paths":["dir/**"]})", {}};
  const auto denied = [](std::string action, std::string_view object) {
    return auth::Statement{auth::Statement::Effect::kDeny,
                           {std::move(action)},
                           {arn_of("repository/data/object/" + std::string(object))},
                           {}};
  };
  for (const auto& [action, object] :
       {std::pair{"fs:ReadObject", "dir/secret/1"}, std::pair{"fs:WriteObject", "dir/secret/1"},
        std::pair{"fs:DeleteObject", "dir/secret/2"}}) {
    expect_refused(row, {kEverything, denied(action, object)}, action);
    EXPECT_EQ(engine.keys(data, "topic"), "dir/secret/1 dir/secret/2");
  }
  expect_let_in(row, {kEverything, denied("fs:DeleteObject", "dir/secret/1")}, "what is needed");
  EXPECT_EQ(engine.keys(data, "topic"), "dir/secret/1");
  EXPECT_EQ(engine.read(data, "topic", "dir/secret/1"), "of main");
}

// Tried without asking about the dumped repository: its objects could be read by anyone with a
// dump's id.
TEST_F(Authorisation, RestoringNeedsTheRightToReadWhatWasDumped) {
  const RepositoryName secret = engine.make_repository("secret");
  const std::string dump = versioning::dump_refs(*engine, secret);
  const std::string body = R"({"commits_meta_range_id":"commits-)" + dump +
                           R"(","tags_meta_range_id":"tags-)" + dump +
                           R"(","branches_meta_range_id":"branches-)" + dump + "\"}";
  for (const char* operation : {"restoreRefs", "restoreSubmit"}) {
    const Row row{operation, "", body, {}};
    const auth::Statement own{
        auth::Statement::Effect::kAllow, {"fs:*"}, {arn_of("repository/data")}, {}};
    expect_refused(row, {own}, "nothing of the dumped one");
    auth::Statement refs = own;
    refs.resources = {arn_of("repository/secret")};
    expect_refused(row, {own, refs}, "not its objects");
    refs.resources = {arn_of("repository/secret*")};
    expect_let_in(row, {own, refs}, "all of the dumped one");
  }
}

TEST_F(Authorisation, RestoringAliasesNeedsTheRightToSetThem) {
  const RepositoryName plain = engine.make_repository("plain");
  const RepositoryName aliased = engine.make_repository("aliased");
  versioning::set_alias(*engine, aliased, {.name = AliasName("champion"), .actor = "ann"}, "main");
  const auto body = [&](const RepositoryName& source) {
    const std::string dump = versioning::dump_refs(*engine, source);
    return R"({"commits_meta_range_id":"commits-)" + dump + R"(","tags_meta_range_id":"tags-)" +
           dump + R"(","branches_meta_range_id":"branches-)" + dump + "\"}";
  };
  const auto denying = [this](std::string_view resource) {
    return Statements{kEverything,
                      {auth::Statement::Effect::kDeny, {"fs:SetAlias"}, {arn_of(resource)}, {}}};
  };
  const std::string with = body(aliased);
  const std::string without = body(plain);
  for (const char* operation : {"restoreRefs", "restoreSubmit"}) {
    const Row row{operation, "", with, {}};
    expect_refused(row, denying("repository/data/alias/champion"), "not this one");
    expect_let_in(row, denying("repository/data/alias/other"), "another one");
    expect_let_in(row, denying("repository/aliased/alias/*"), "of another repository");
    expect_let_in({operation, "", without, {}}, denying("repository/data/alias/*"), "none");
  }
}

TEST_F(Authorisation, ADenialWinsOverEverything) {
  for (const Row& row : rows()) {
    if (is(row, kOpen) || is(row, kAnyAccount)) continue;
    for (const Statements& allowed : {allowing(row), Statements{kEverything}}) {
      Statements denied = allowed;
      auth::Statement deny = allowing(row).front();
      deny.effect = auth::Statement::Effect::kDeny;
      denied.push_back(deny);
      expect_refused(row, denied, "denied");
    }
  }
}

}  // namespace
}  // namespace tarn::api

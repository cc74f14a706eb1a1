// Compares the table of routes with the operations of the wire format.
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "server/api/route.h"
#include "server/api/router.h"

namespace tarn::api {
namespace {

/// Operations that the wire format does not have.
// clang-format off
const std::set<std::string_view> kOwn = {
    "acceptInvitation",
    "approvePromotion",
    "approvePullRequest",
    "archivePaths",
    "addHold",
    "archivePrefix",
    "cancelOperation",
    "cancelPromotion",
    "cancelVerification",
    "checkPermissions",
    "checkoutPath",
    "compareCandidates",
    "createInvitation",
    "createLimitedKey",
    "createPromotion",
    "deleteWebhook",
    "endRun",
    "evaluateGatePolicy",
    "expireCommit",
    "getAlias",
    "getCommitMetrics",
    "getExperimentRun",
    "getGatePolicy",
    "listInvitations",
    "getMetricFiles",
    "getMetricSeries",
    "getOperation",
    "getPathSettings",
    "getPromotion",
    "getBranchCleanup",
    "logRunSteps",
    "setBranchCleanup",
    "listStaleBranches",
    "getTagProtectionRules",
    "getUsage",
    "getVerification",
    "getWebhook",
    "importPreview",
    "listAliasChanges",
    "listDeletedRepositories",
    "listAliases",
    "listExperimentRuns",
    "listExpiries",
    "listGatePolicies",
    "listGatePolicyVersions",
    "listMergeConflicts",
    "listMetricSeries",
    "listJobs",
    "listOperations",
    "listPromotions",
    "listRunColumns",
    "listPullRequestApprovals",
    "listWebhookDeliveries",
    "listUsageHistory",
    "listQuotas",
    "listSettings",
    "listServers",
    "listUserQuotas",
    "cancelGarbageCollection",
    "getGarbageCollection",
    "listGarbageCollections",
    "listHolds",
    "listPlannedObjects",
    "listWebhooks",
    "moveObjects",
    "pingWebhook",
    "planGarbageCollection",
    "putWebhook",
    "recordRun",
    "redeliverWebhookEvent",
    "rejectPromotion",
    "removeAlias",
    "recountQuota",
    "recountUserQuota",
    "removeHold",
    "removeQuota",
    "removeUserQuota",
    "requestGarbageCollection",
    "removeGatePolicy",
    "reportCheck",
    "startRun",
    "undeleteRepository",
    "rollBackPromotion",
    "runHooks",
    "searchObjects",
    "searchRefs",
    "setAlias",
    "setBranchExpiry",
    "renameBranch",
    "rebaseBranch",
    "setGatePolicy",
    "setMetricFiles",
    "setPathSettings",
    "setTagProtectionRules",
    "startVerification",
    "summariseDiff",
    "updateExperimentRun",
    "verifyImport",
    "warmCache",
    "withdrawInvitation",
    "withdrawPullRequestApproval",
    "listEvaluations",
    "getEvaluation",
    "getEvaluationExamples",
    "retryEvaluation",
    "leaseEvaluation",
    "renewEvaluation",
    "releaseEvaluation",
    "getEvaluationFiles",
    "finishEvaluation",
    "failEvaluation",
    "setQuota",
    "setUserQuota",
    "listPullRequestReviewers",
    "setPullRequestReviewers",
    "reviewPullRequest",
    "withdrawPullRequestReview",
    "listPullRequestComments",
    "createPullRequestComment",
    "updatePullRequestComment",
    "deletePullRequestComment",
};
// clang-format on

TEST(Routes, AreAllOperationsOfTheWireFormatOnceEachAndOurOwn) {
  std::set<std::string_view> operations;
  size_t own = 0;
  for (const Route& route : routes()) {
    EXPECT_TRUE(operations.insert(route.operation).second) << route.operation;
    own += kOwn.count(route.operation);
  }
  EXPECT_EQ(own, kOwn.size());
  EXPECT_EQ(routes().size() - own, 134u);
}

TEST(Routes, AreFoundByTheRouterUnderTheirOwnPattern) {
  const Router router(routes());
  for (const Route& route : routes()) {
    std::string path(route.pattern);
    for (size_t open; (open = path.find('{')) != std::string::npos;) {
      path.replace(open, path.find('}', open) - open + 1, "value");
    }
    EXPECT_EQ(router.find(route.method, path).route, &route) << route.operation;
  }
}

TEST(Routes, AskForAnAccountExceptWhereClientsHaveNone) {
  std::set<std::string_view> open;
  for (const Route& route : routes()) {
    if (!route.access.needs_account()) open.insert(route.operation);
  }
  const std::set<std::string_view> expected = {
      "setupCommPrefs",   "getSetupState",          "setup",    "login",
      "acceptInvitation", "externalPrincipalLogin", "stsLogin", "getAuthCapabilities",
      "healthCheck",      "oauthCallback"};
  EXPECT_EQ(open, expected);
}

TEST(Routes, TakeJsonWhereTheirHandlerParsesIt) {
  for (const Route& route : routes()) {
    const bool json = route.input.body == Input::Body::kJson ||
                      route.input.body == Input::Body::kOptionalJson ||
                      route.input.body == Input::Body::kLongJson;
    EXPECT_EQ(json, route.handler.takes_json()) << route.operation;
  }
}

TEST(Routes, ServeEverythingThePythonClientCalls) {
  // `lakefs` 0.16 with `lakefs-sdk` 1.88 calls these, with presigned URLs or without.
  const std::set<std::string_view> called = {"getConfig",
                                             "listRepositories",
                                             "createRepository",
                                             "getRepository",
                                             "getRepositoryMetadata",
                                             "deleteRepository",
                                             "listBranches",
                                             "listTags",
                                             "createBranch",
                                             "getBranch",
                                             "getCommit",
                                             "commit",
                                             "diffBranch",
                                             "deleteObjects",
                                             "resetBranch",
                                             "revertBranch",
                                             "cherryPick",
                                             "deleteBranch",
                                             "mergeIntoBranch",
                                             "createTag",
                                             "importStart",
                                             "importStatus",
                                             "importCancel",
                                             "logCommits",
                                             "diffRefs",
                                             "listObjects",
                                             "deleteTag",
                                             "statObject",
                                             "headObject",
                                             "copyObject",
                                             "deleteObject",
                                             "getObject",
                                             "uploadObject",
                                             "getPhysicalAddress",
                                             "linkPhysicalAddress"};
  for (const Route& route : routes()) {
    if (called.contains(route.operation)) {
      EXPECT_FALSE(route.handler == &not_implemented) << route.operation;
    }
  }
}

TEST(Routes, AuthenticatedRoutesNeedAPermissionExceptPublicFacts) {
  std::set<std::string_view> anyone;
  for (const Route& route : routes()) {
    if (route.access.needs_account() && route.access.permissions().empty()) {
      anyone.insert(route.operation);
    }
  }
  const std::set<std::string_view> expected = {
      "getCurrentUser", "getConfig", "getLakeFSVersion", "getStorageConfig", "postStatsEvents",
      "getGarbageCollectionConfig", "getUsageReportSummary",
      // Each account's own.
      "listJobs", "listOperations", "getOperation", "cancelOperation",
      // The work is of repositories where the caller may do it; the others name a lease.
      "leaseEvaluation", "renewEvaluation", "releaseEvaluation", "getEvaluationFiles",
      "finishEvaluation", "failEvaluation"};
  EXPECT_EQ(anyone, expected);
}

}  // namespace
}  // namespace tarn::api

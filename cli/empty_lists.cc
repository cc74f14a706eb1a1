#include "cli/empty_lists.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tarn::cli {
namespace {

using Entry = std::pair<std::string_view, std::string_view>;

constexpr std::array<Entry, 35> kMessages{{
    {"AliasHistory", "this alias was never set: tarn alias set @NAME REF"},
    {"AliasList",
     "no aliases: tarn alias set @NAME REF creates one, or a promotion whose policy has `alias`"},
    {"AnnotationList", "no objects here: tarn fs ls REF lists what there is"},
    {"BranchList",
     "no branches of that name: tarn branch create NAME --source main creates one; "
     "-a lists hidden ones too"},
    {"BranchRuleList", "no rules: tarn branch-protect add PATTERN REPOSITORY protects branches"},
    {"CommitList", "no commits match: leave out --since, --prefix, --object or --stop-at"},
    {"Config", "no settings: tarn auth login stores them"},
    {"CredentialList", "no access keys: tarn auth credentials create USER"},
    {"DeletedRepositoryList", "no deleted repositories that can be restored"},
    {"DeliveryList", "no deliveries: tarn webhook ping NAME sends an event"},
    {"DiffList", "no differences"},
    {"ExpiryList", "no commits have expired: tarn gc set-config sets rules"},
    {"FindingList", ""},
    {"GarbageCollectionList", "no garbage collection has run: tarn gc run"},
    {"GatePolicyList",
     "no policies: tarn policy apply -f FILE sets one (docs/policy-reference.md)"},
    {"GroupList", "no groups: tarn auth groups create NAME"},
    {"HoldList", "no holds: tarn hold add REF keeps data from garbage collection"},
    {"HookPlan", "no hook would run: tarn actions validate FILE checks an action file"},
    {"HookRunList", "no hooks have run: action files are below _lakefs_actions/ (docs/hooks.md)"},
    {"ImportProblemList", ""},
    {"JobList",
     "no jobs: imports, verifications and dumps are listed while they run and some time after"},
    {"MergeConflict", ""},
    {"MetricFileList", "no patterns: metric files are not read; tarn exp files --set 'metrics/**'"},
    {"MetricList", "no metrics: tarn exp log --ref REF --metric NAME=NUMBER records some"},
    {"ObjectList", "no objects: tarn fs upload FILE tarn://REPOSITORY/BRANCH/PATH adds one"},
    {"Operation",
     "no operations: long requests, and those with --async, are listed here for a day"},
    {"Profile", "no profiles: tarn auth login --profile NAME creates one"},
    {"Promotion", "no promotions: tarn promote CANDIDATE --to BRANCH begins one"},
    {"PullRequestList", "no pull requests: tarn pr create SOURCE DESTINATION -t TITLE"},
    {"QuotaList", "no quotas: tarn quota set sets one"},
    {"RepositoryList", "no repositories: tarn repo create NAME creates one"},
    {"RunList", "no runs: tarn exp log --ref BRANCH --metric NAME=NUMBER records one"},
    {"TagList", "no tags: tarn tag create NAME REF creates one"},
    {"TagRuleList", "no rules: tarn tag-protect add PATTERN REPOSITORY protects tags"},
    {"WebhookList", "no webhooks: tarn webhook set NAME URL creates one"},
}};

}  // namespace

std::string_view empty_list_message(std::string_view kind) {
  const auto at = std::find_if(kMessages.begin(), kMessages.end(),
                               [&](const Entry& entry) { return entry.first == kind; });
  return at == kMessages.end() ? "nothing found" : at->second;
}

}  // namespace tarn::cli

#include "cli/failure_advice.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cli/client.h"
#include "core/base/reasons.h"
#include "core/base/sign_in_reasons.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// Collections below a repository whose members have names, with the word for one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kCollections{
    {{"branches", "branch"},
     {"tags", "tag"},
     {"refs", "ref"},
     {"commits", "commit"},
     {"aliases", "alias"},
     {"policies", "policy"},
     {"promotions", "promotion"},
     {"webhooks", "webhook"}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kAccounts{
    {{"users", "user"}, {"groups", "group"}, {"policies", "policy"}}};

constexpr std::string_view kSources =
    "a source is s3://BUCKET/PREFIX of a store that the server's configuration names, "
    "local:///DIRECTORY of the server's disk below one of store.local.import_roots, or a directory "
    "of this machine (./DIRECTORY), which is uploaded";

/// By reason.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kAdvice{
    {{reason::kRepositoryNotFound, "tarn repo list shows the repositories that you may read"},
     {reason::kBranchNotFound, "tarn branch list shows the branches"},
     {reason::kTagNotFound, "tarn tag list shows the tags"},
     {reason::kCommitNotFound, "tarn log REF shows the commits of a ref"},
     {reason::kRefNotFound, "tarn branch list, tarn tag list and tarn alias ls show the refs"},
     {reason::kAliasNotFound, "tarn alias ls shows the aliases"},
     {reason::kObjectNotFound, "tarn fs ls shows the objects below a prefix"},
     {reason::kPromotionNotFound, "tarn promote ls shows the promotions"},
     {reason::kWebhookNotFound, "tarn webhook ls shows the webhooks"},
     {reason::kHoldNotFound, "tarn hold ls shows the holds"},
     {reason::kOperationNotFound, "tarn op ls shows the operations of the last day"},
     {reason::kPolicyNotFound,
      "tarn policy ls shows the gate policies, tarn auth policies ls those of users"},
     {reason::kForbiddenPath, kSources},
     {reason::kInvalidImportSource, kSources},
     {reason::kInsufficientPermissions,
      "tarn auth whoami shows the user; an administrator attaches policies: tarn auth policies "
      "attach"}}};

std::string sign_in_problem(const Error& error, const Settings& settings) {
  const std::string& server = settings.endpoint.value;
  const Setting& key = settings.access_key;
  if (error.reason() == reason::kNoCredentials) {
    return str_cat("signing in to ", server, ": there is no access key");
  }
  if (error.reason() == reason::kUnknownAccessKey) {
    return str_cat("signing in to ", server, ": the server does not know the access key ",
                   key.value, " (from ", key.origin, ")");
  }
  if (error.reason() == reason::kWrongSecretKey) {
    return str_cat("signing in to ", server, ": the secret key (from ", settings.secret_key.origin,
                   ") is not that of the access key ", key.value);
  }
  if (error.reason() == reason::kInvalidToken) {
    return str_cat("signing in to ", server, ": the token (from ", settings.token.origin,
                   ") is not one of this server, or was ended by a logout");
  }
  if (error.reason() == reason::kExpiredToken) {
    return str_cat("signing in to ", server, " with the token from ", settings.token.origin, ": ",
                   error.message());
  }
  return "";
}

}  // namespace

std::string subject_of(std::string_view path, std::string_view object) {
  // A colon of a name is encoded: this one is before a verb.
  const std::vector<std::string> words = api_segments(path.substr(0, path.find_first_of("?:")));
  constexpr size_t kNamed = 2;    // repositories/lake
  constexpr size_t kMember = 4;   // repositories/lake/branches/main
  constexpr size_t kAccount = 3;  // auth/users/ann
  if (words.size() >= kAccount && words[0] == "auth") {
    for (const auto& [collection, noun] : kAccounts) {
      if (words[1] == collection) return str_cat(noun, ' ', words[2]);
    }
  }
  if (words.size() < kNamed || words[0] != "repositories") return "";
  const std::string repository = str_cat("tarn://", words[1]);
  if (words.size() == kNamed) return str_cat("repository ", repository);
  // repositories/lake/refs/dev/merge/main: a source that is missing is named by the server.
  if (words.size() == kMember + 2 && words[4] == "merge") {
    return str_cat("branch ", repository, '/', words[5]);
  }
  const auto at = std::find_if(kCollections.begin(), kCollections.end(),
                               [&](const auto& known) { return known.first == words[2]; });
  if (words.size() < kMember || at == kCollections.end()) return repository;
  if (words.size() > kMember && words[kMember] == "objects" && !object.empty()) {
    return str_cat("object ", repository, '/', words[3], '/', object);
  }
  return str_cat(at->second, ' ', repository, '/', words[3]);
}

Error with_advice(const Error& error, const Settings& settings) {
  if (const std::string problem = sign_in_problem(error, settings); !problem.empty()) {
    const std::string how = settings.token.value.empty()
                                ? "tarn auth login asks for a pair and keeps it"
                                : "tarn auth token makes another one";
    return Error(error.code(), error.reason(),
                 str_cat(problem, "; ", how, ", TARN_ACCESS_KEY and TARN_SECRET_KEY hold one too"));
  }
  const auto at = std::find_if(kAdvice.begin(), kAdvice.end(),
                               [&](const auto& known) { return known.first == error.reason(); });
  if (at == kAdvice.end()) return error;
  return Error(error.code(), error.reason(), str_cat(error.message(), "; ", at->second));
}

}  // namespace tarn::cli

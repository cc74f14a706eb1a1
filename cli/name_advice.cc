#include "cli/name_advice.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <nlohmann/json.hpp>

#include "cli/json_text.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

bool may_name_branch(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
  });
}

/// Whether the request succeeds; of a list, whether it has an item.
bool finds(Session& session, const Request& request) {
  const Answer answer = session.client.ask(request);
  if (!answer.ok()) return false;
  const Json body = parse_json(answer.body);
  return !body.is_object() || !body.contains("results") || !body["results"].empty();
}

bool is_repository(Session& session, std::string_view name) {
  return !name.empty() && finds(session, {.path = api_path({"repositories", name})});
}

bool is_ref(Session& session, std::string_view repository, std::string_view name) {
  return !name.empty() &&
         finds(session, {.path = api_path({"repositories", repository, "commits", name})});
}

std::string query_of(const Request& request, std::string_view name) {
  const auto at = std::find_if(request.query.begin(), request.query.end(),
                               [&](const auto& pair) { return pair.first == name; });
  return at == request.query.end() ? "" : at->second;
}

/// The branch in which a short path is read.
std::string branch_of(Session& session, const std::string& repository) {
  const Settings& settings = session.settings;
  if (settings.repository.value == repository && !settings.branch.value.empty()) {
    return settings.branch.value;
  }
  const Answer answer = session.client.ask({.path = api_path({"repositories", repository})});
  if (!answer.ok()) return "";
  return json_of(answer).value("default_branch", "");
}

std::string command_about_object(std::string_view command, const Uri& uri) {
  if (command == "tarn log") return str_cat("tarn log --object '", uri.path, '\'');
  if (command == "tarn diff") return str_cat("tarn diff --prefix '", uri.path, '\'');
  return str_cat("tarn fs stat '", to_string(uri), '\'');
}

std::string command_about_prefix(std::string_view command, const Uri& uri) {
  if (command == "tarn log" || command == "tarn diff") {
    return str_cat(command, " --prefix '", uri.path, '\'');
  }
  return str_cat("tarn fs ls '", to_string(uri), '\'');
}

/// Advice about a word that was taken for a ref of the repository.
std::string instead_of_ref(Session& session, std::string_view command,
                           const std::string& repository, const std::string& name) {
  const std::string branch = branch_of(session, repository);
  const std::string objects = api_path({"repositories", repository, "refs", branch, "objects"});
  const std::string lead = str_cat('"', name, "\" is ");
  const std::string tail =
      str_cat(" of tarn://", repository, '/', branch, " and was read as a branch, tag or commit: ");
  if (!name.ends_with('/') &&
      finds(session, {.path = objects + "/stat", .query = {{"path", name}}})) {
    return str_cat(lead, "an object", tail,
                   command_about_object(command, {repository, branch, name}));
  }
  const std::string prefix = name.ends_with('/') ? name : str_cat(name, '/');
  if (finds(session, {.path = objects + "/ls", .query = {{"prefix", prefix}, {"amount", "1"}}})) {
    return str_cat(lead, "a prefix", tail,
                   command_about_prefix(command, {repository, branch, prefix}));
  }
  if (is_repository(session, name.substr(0, name.find('/')))) {
    return str_cat(lead, "was read as a branch, tag or commit of tarn://", repository,
                   ": write tarn://", name, " to name a repository");
  }
  return "";
}

/// Advice about a path whose first part is a ref of the repository.
std::string instead_of_path(Session& session, const std::string& repository,
                            const std::string& path) {
  const size_t slash = std::min(path.find('/'), path.size());
  const std::string ref = path.substr(0, slash);
  if (!is_ref(session, repository, ref)) return "";
  return str_cat('"', ref, "\" is a branch, tag or commit and was read as a path: write tarn://",
                 repository, '/', ref, slash == path.size() ? "/" : path.substr(slash));
}

}  // namespace

std::string advice_for_missing(Session& session, std::string_view command, const Error& error,
                               const Request& missing) {
  const std::vector<std::string> words = api_segments(missing.path);
  constexpr size_t kNamed = 2;   // repositories/lake
  constexpr size_t kMember = 4;  // repositories/lake/branches/main
  if (words.size() < kNamed || words[0] != "repositories") return "";
  const std::string& repository = words[1];
  if (error.reason() == reason::kRepositoryNotFound) {
    const std::string& usual = session.settings.repository.value;
    if (usual.empty() || usual == repository || !is_ref(session, usual, repository)) return "";
    return str_cat('"', repository, "\" is a branch, tag or commit of tarn://", usual,
                   " and was read as a repository: write tarn://", usual, '/', repository,
                   " for it, or leave it out where a repository is wanted");
  }
  if (error.reason() == reason::kObjectNotFound) {
    return instead_of_path(session, repository, query_of(missing, "path"));
  }
  constexpr std::array<std::string_view, 3> kOfRefs{"branches", "refs", "commits"};
  const bool named = words.size() >= kMember &&
                     std::find(kOfRefs.begin(), kOfRefs.end(), words[2]) != kOfRefs.end();
  // A request that is wrong otherwise names something that exists.
  const bool refused = error.code() == ErrorCode::kInvalidArgument;
  if (refused && (error.reason() != name_of(error.code()) || !named || may_name_branch(words[3])))
    return "";
  return named ? instead_of_ref(session, command, repository, words[3]) : "";
}

std::string advice_for_empty(Session& session, const Request& empty) {
  const std::vector<std::string> words = api_segments(empty.path);
  const std::string prefix = query_of(empty, "prefix");
  constexpr std::array<std::string_view, 2> kOfPaths{"refs", "usage"};
  const bool of_paths = words.size() >= 3 && words[0] == "repositories" &&
                        std::find(kOfPaths.begin(), kOfPaths.end(), words[2]) != kOfPaths.end();
  if (!of_paths || prefix.empty()) return "";
  return instead_of_path(session, words[1], prefix);
}

}  // namespace tarn::cli

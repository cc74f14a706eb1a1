#include "cli/commands/new_key.h"

#include <chrono>

#include "cli/answer.h"
#include "cli/duration.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "cli/uri.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// The names in policies of what an argument of --can names: "*", an ARN, or
/// tarn://REPO[/REF[/PATH]], where '*' stands for any text.
std::vector<std::string> arns_of(const std::string& text) {
  if (text == "*" || text.starts_with("arn:")) return {text};
  const Uri uri = any_uri(text, {});
  const std::string repository = str_cat("arn:lakefs:fs:::repository/", uri.repository);
  if (!uri.path.empty()) return {str_cat(repository, "/ref/", uri.ref, "/object/", uri.path)};
  if (uri.ref.empty()) return {repository, repository + "/*"};
  return {str_cat(repository, "/branch/", uri.ref), str_cat(repository, "/tag/", uri.ref),
          str_cat(repository, "/ref/", uri.ref), str_cat(repository, "/ref/", uri.ref, "/*")};
}

/// Statements of "ACTION@RESOURCE".
void add_statements(Json& statements, const std::string& text) {
  const size_t at = text.find('@');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    throw usage_error(
        str_cat("--can ", text,
                ": expected ACTION@RESOURCE, such as fs:ReadObject@tarn://lake/main/data/*"));
  }
  for (const std::string& resource : arns_of(text.substr(at + 1))) {
    statements.push_back({{"effect", "allow"},
                          {"action", Json::array({text.substr(0, at)})},
                          {"resource", resource}});
  }
}

Request request_of(std::string_view user, const KeyLimits& limits) {
  if (!limits.any()) return post_request(keys_path(user));
  Json body = Json::object();
  if (!limits.life.empty()) {
    body["life_seconds"] =
        std::chrono::duration_cast<std::chrono::seconds>(parse_duration(limits.life)).count();
  }
  for (const std::string& one : limits.can) add_statements(body["statement"], one);
  return post_request(user_path(user) + "/keys", body);
}

}  // namespace

std::string user_path(std::string_view user) { return api_path({"auth", "users", user}); }
std::string keys_path(std::string_view user) { return user_path(user) + "/credentials"; }
std::string invitations_path(std::string_view user) { return user_path(user) + "/invitations"; }

void KeyLimits::declare(Command& command) {
  command.option("--for", life, "the key ends after this time: 30m, 12h")
      .option("--can", can,
              "what the key may do of what its user may: ACTION@RESOURCE, such as "
              "fs:ReadObject@tarn://lake/main/data/*; may be repeated");
}

KeyOrLink make_key(Client& client, std::string_view user, const KeyLimits& limits) {
  KeyOrLink out{.members = client.call(request_of(user, limits)),
                .remark = "the secret key cannot be shown again"};
  out.lines = {{"access key", out.members.value("access_key_id", "")},
               {"secret key", out.members.value("secret_access_key", "")}};
  if (out.members.contains("expires_at")) {
    out.lines.emplace_back("until", time_in_words(out.members["expires_at"].get<int64_t>()));
  }
  return out;
}

KeyOrLink make_link(Client& client, std::string_view user) {
  const Json made = client.call(post_request(invitations_path(user)));
  KeyOrLink out{.remark = str_cat("send the link to ", user,
                                  " alone: it makes one key, and then opens nothing more")};
  out.members = {{"link", made.at("url")}, {"link_expires_at", made.at("expires_at")}};
  out.lines = {{"link", made.value("url", "")},
               {"until", time_in_words(made.value("expires_at", int64_t{0}))}};
  return out;
}

}  // namespace tarn::cli

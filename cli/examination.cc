#include "cli/examination.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/json_text.h"
#include "cli/object_record.h"
#include "core/actions/action_file.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"

namespace tarn::cli {
namespace {

/// The server rejects signed requests with a skew beyond 15 minutes; warn well before.
constexpr std::chrono::minutes kSkewMax{5};
/// Short, because the user waits.
constexpr std::chrono::seconds kConnectMax{5};
constexpr std::chrono::seconds kAnswerMax{30};
constexpr size_t kProbeNameBytes = 8;
constexpr int kRangeNotSatisfiable = 416;
constexpr std::string_view kProbeBranch = "tarn-doctor-";
/// Warn while there is time to act.
constexpr uint64_t kFreeBytesMin = uint64_t{1} << 30;
/// A backup every night, with time to spare.
constexpr std::chrono::hours kBackupAgeMax{26};
/// Files, webhooks and policies that one run looks at.
constexpr size_t kLookedAtMax = 100;

Finding bad(std::string found, std::string advice) {
  return {FindingState::kBad, std::move(found), std::move(advice), ExitCode::kFailure};
}

/// "major.minor" of "1.2.3".
std::string_view line_of(std::string_view version) {
  const size_t dot = version.find('.');
  return version.substr(0, dot == std::string_view::npos ? dot : version.find('.', dot + 1));
}

/// The value of a gauge in the text of /metrics.
std::optional<double> gauge(std::string_view text, std::string_view name) {
  const std::string begin = str_cat('\n', name, ' ');
  const size_t at = text.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  double value = 0;
  const char* number = text.data() + at + begin.size();
  const auto [end, error] = std::from_chars(number, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

Finding unknown(std::string why) { return {FindingState::kUnknown, std::move(why)}; }

}  // namespace

Finding failed_check(const Error& error, std::string advice) {
  return {FindingState::kBad, error.message(), std::move(advice), exit_code_of(error)};
}

Examination::Examination(const Session& session, const ExaminationOptions& options)
    : session_(session),
      settings_(session.settings),
      options_(options),
      client_(settings_, {.attempts = 2, .connect = kConnectMax, .answer = kAnswerMax}) {}

std::string Examination::endpoint_advice(std::string_view what) const {
  return str_cat(what, "; the endpoint comes from ", settings_.endpoint.origin,
                 " (--endpoint, TARN_ENDPOINT or `tarn config set endpoint URL`)");
}

Finding Examination::server() {
  try {
    health_ = client_.ask({.path = "/healthcheck"});
  } catch (const Error& error) {
    return failed_check(error, endpoint_advice("start tarnd there, or correct the address"));
  }
  if (health_.ok()) return {.found = settings_.endpoint.value};
  return failed_check(
      error_from(health_),
      endpoint_advice("something else answers there: give the URL of the server itself, "
                      "without a path"));
}

Finding Examination::clock() {
  const auto there = parse_http_date(health_.header("Date"));
  if (!there) return unknown("the server sends no date");
  const auto skew = std::chrono::duration_cast<std::chrono::seconds>(SystemClock().now() - *there);
  if (std::chrono::abs(skew) <= kSkewMax) return {.found = str_cat(skew.count(), " s apart")};
  return failed_check(Error(ErrorCode::kPreconditionFailed,
                            str_cat(skew.count(), " s apart: signed S3 requests will be refused")),
                      "set the clocks of both machines by NTP");
}

Finding Examination::credentials() {
  const bool token = !settings_.token.value.empty();
  const Setting& from = token ? settings_.token : settings_.access_key;
  if (from.value.empty()) {
    return failed_check(Error(ErrorCode::kUnauthenticated, "no access key"),
                        "`tarn auth login`, or set TARN_ACCESS_KEY and TARN_SECRET_KEY");
  }
  const Answer answer = client_.ask({.path = "/user"});
  if (!answer.ok()) {
    return failed_check(error_from(answer),
                        str_cat("the ", token ? "token" : "access key", " comes from ", from.origin,
                                token ? ": ask for a new one, `tarn auth token`"
                                      : ": correct it and its secret key, or `tarn auth login`"));
  }
  const Json body = parse_json(answer.body);
  const std::string user = body.is_object() ? body.value("/user/id"_json_pointer, "") : "";
  if (user.empty()) {
    return failed_check(
        Error(ErrorCode::kInternal, "the answer names no user"),
        endpoint_advice("something else answers there: give the URL of a Tarn server"));
  }
  return {.found = str_cat("user ", user, ", from ", from.origin)};
}

Finding Examination::version() {
  const Json config = client_.call({.path = "/config"});
  const Json storage = config.value("storage_config", Json::object());
  const std::string lakefs = config.value("/version_config/version"_json_pointer, "unknown");
  const std::string tarn = config.value("/version_config/tarn_version"_json_pointer, "");
  if (!tarn.empty() && line_of(tarn) != line_of(TARN_VERSION)) {
    return bad(str_cat("the server is ", tarn, ", this command " TARN_VERSION),
               "install the command of the server's version: some options may not work");
  }
  return {.found = str_cat(tarn.empty() ? lakefs : tarn, ", this command " TARN_VERSION ", store ",
                           storage.value("blockstore_type", "unknown"), ", presigned URLs ",
                           storage.value("pre_sign_support", false) ? "yes" : "no")};
}

void Examination::find_repository() {
  if (!options_.repository.empty() || !settings_.repository.value.empty()) {
    repository_ = session_.repository(options_.repository).repository;
  } else {
    const Json page = client_.call({.path = "/repositories", .query = {{"amount", "1"}}});
    if (page.at("results").empty()) return;
    repository_ = page["results"][0].at("id").get<std::string>();
  }
  const Json found = client_.call({.path = api_path({"repositories", repository_})});
  branch_ = settings_.branch.value.empty() ? found.at("default_branch").get<std::string>()
                                           : settings_.branch.value;
}

Finding Examination::permissions() {
  try {
    find_repository();
  } catch (const Error& error) {
    const bool missing = exit_code_of(error) == ExitCode::kNotFound;
    return failed_check(error, missing ? "`tarn repo list` shows those there are"
                                       : "ask an administrator for a policy that allows reading "
                                         "repositories (`tarn auth policies`)");
  }
  if (repository_.empty()) {
    return {.found = "may list repositories; there is none: `tarn repo create`"};
  }
  const Answer answer = client_.ask({.path = api_path({"repositories", repository_, "branches",
                                                       branch_, "objects", "stage_allowed"}),
                                     .query = {{"path", "tarn-doctor"}}});
  const std::string branch = to_string({repository_, branch_, ""});
  if (answer.ok()) return {.found = str_cat("may write to ", branch)};
  // Not a problem: for many users read access suffices.
  return {.found = str_cat("may read ", branch, ", not write: ", answer.message())};
}

/// Reads the first byte, so that the store must deliver it.
Finding Examination::tried_read(const Uri& object) {
  Request request = read_request(object);
  request.headers.emplace_back("Range", "bytes=0-0");
  Answer answer;
  try {
    answer = client_.download(request, [](std::string_view) {});
  } catch (const Error& error) {
    answer.status = 0;
    answer.body = json_text({{"message", error.message()}});
  }
  const std::string name = to_string(object);
  if (answer.ok() || answer.status == kRangeNotSatisfiable)
    return {.found = str_cat("read ", name)};
  return failed_check(
      Error(ErrorCode::kInternal, str_cat("reading ", name, ": ", answer.message())),
      "on the server: look at its log and at the store's address and keys (`tarnd "
      "--check-config`)");
}

Finding Examination::store_reads() {
  if (repository_.empty()) return unknown("no repository to try");
  const Json page = client_.call(
      {.path = api_path({"repositories", repository_, "refs", branch_, "objects", "ls"}),
       .query = {{"amount", "1"}}});
  if (page.at("results").empty()) {
    return unknown(
        str_cat(to_string({repository_, branch_, ""}), " is empty; --write tries the store"));
  }
  return tried_read({repository_, branch_, page["results"][0].at("path").get<std::string>()});
}

Finding Examination::store_writes() {
  if (repository_.empty()) return unknown("no repository to try");
  const std::string name = str_cat(kProbeBranch, to_hex(random_bytes(kProbeNameBytes)));
  const std::string branches = api_path({"repositories", repository_, "branches"});
  const Answer made = client_.ask(
      post_request(branches, Json{{"name", name}, {"source", branch_}, {"hidden", true}}));
  if (!made.ok())
    return failed_check(error_from(made), "ask for a policy that allows making branches");
  const Uri object{repository_, name, "tarn-doctor"};
  const Request request{.method = Method::kPost,
                        .path = str_cat(branches, '/', name, "/objects"),
                        .query = {{"path", object.path}}};
  const auto open = [&name]() -> BodySource {
    return [text = std::string_view(name)]() mutable { return std::exchange(text, ""); };
  };
  std::optional<Finding> finding;
  try {
    const Answer answer = client_.upload({.request = request,
                                          .content_type = "text/plain",
                                          .size_bytes = static_cast<int64_t>(name.size()),
                                          .open = open});
    if (!answer.ok()) throw error_from(answer);
    finding = tried_read(object);
    if (finding->state == FindingState::kFine) finding->found = "written, read and deleted";
  } catch (const Error& error) {
    finding =
        failed_check(error,
                     "on the server: look at its log, and whether the store has room and lets "
                     "its keys write");
  }
  client_.ask(delete_request(str_cat(branches, '/', name)));
  return *finding;
}

/// A page of the server outside the REST API, which needs no keys.
Answer Examination::ask_page(std::string_view path) {
  return client_.ask({.url = str_cat(settings_.endpoint.value, path)});
}

Finding Examination::settings_file() {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::perms mode = fs::status(settings_.file, failed).permissions();
  if (failed || !fs::exists(settings_.file)) return unknown("there is no configuration file");
  const std::string name = settings_.file.string();
  constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
  if ((mode & kOthers) == fs::perms::none) return {.found = str_cat(name, " is yours alone")};
  if (!options_.fix) {
    return bad(str_cat("other users can read the keys in ", name),
               str_cat("chmod 600 ", name, ", or --fix"));
  }
  fs::permissions(settings_.file, kOthers, fs::perm_options::remove, failed);
  if (failed) return bad(str_cat(name, ": ", failed.message()), str_cat("chmod 600 ", name));
  return {.found = str_cat(name, " is yours alone"), .fixed = "made it readable for you alone"};
}

std::vector<std::string> Examination::notes_that_begin(std::string_view word) const {
  std::vector<std::string> out;
  for (size_t at = 0; at < state_.size();) {
    const size_t end = std::min(state_.find('\n', at), state_.size());
    const std::string line = state_.substr(at, end - at);
    if (line.starts_with(word)) out.push_back(line);
    at = end + 1;
  }
  return out;
}

/// Stores, database and clock, as the server itself sees them.
Finding Examination::server_state() {
  const Answer answer = ask_page("/_ready");
  if (answer.body.find("ready") == std::string::npos) {
    return unknown("the server does not tell its state");
  }
  state_ = answer.body;
  std::string found;
  for (const char* word : {"store ", "database: ", "clock: "}) {
    for (const std::string& note : notes_that_begin(word))
      found += str_cat(found.empty() ? "" : "; ", note);
  }
  if (found.empty()) return {.found = "stores, database and clock are fine"};
  return bad(std::move(found),
             "on the server: its log has more; correct the store's address or keys, make room for "
             "the database, set the clock by NTP, stop the other database that owns a store or "
             "take the store over (tarn admin adopt)");
}

Finding Examination::disk() {
  const std::string text = metrics();
  std::string found;
  bool full = false;
  for (const auto& [name, what] : {std::pair{"tarn_store_free_bytes", "store"},
                                   std::pair{"tarn_database_free_bytes", "database"}}) {
    const auto free = gauge(text, name);
    if (!free) continue;
    full = full || *free < static_cast<double>(kFreeBytesMin);
    found += str_cat(found.empty() ? "" : ", ", what, " ",
                     size_in_words(static_cast<uint64_t>(*free)), " free");
  }
  if (found.empty()) return unknown("the server has no disk of its own, or its metrics elsewhere");
  if (!full) return {.found = std::move(found)};
  return bad(std::move(found), "on the server: make room (tarn gc plan shows what can go)");
}

Finding Examination::master_key() {
  if (state_.empty()) return unknown("the server does not tell its state");
  const std::vector<std::string> notes = notes_that_begin("master key: ");
  if (notes.empty()) return {.found = "the server has it"};
  return bad(notes.front(),
             "on the server: put the file back from a backup before the next start, or secrets are "
             "lost; let its owner alone read it (chmod 600)");
}

Finding Examination::hooks() {
  if (repository_.empty()) return unknown("no repository to look at");
  size_t count = 0;
  std::string problems;
  client_.each({.path = api_path({"repositories", repository_, "refs", branch_, "objects", "ls"}),
                .query = {{"prefix", std::string(kActionFilesPrefix)}, {"delimiter", "/"}}},
               [&](const Json& item) {
                 const std::string path = item.value("path", "");
                 if (!is_action_file(path)) return true;
                 std::string text;
                 const Answer answer = client_.download(
                     read_request({repository_, branch_, path}), [&](std::string_view piece) {
                       if (text.size() <= actions::kActionFileBytesMax) text += piece;
                     });
                 try {
                   if (!answer.ok()) throw error_from(answer);
                   actions::parse_action_file(text);
                 } catch (const Error& error) {
                   problems += str_cat(problems.empty() ? "" : "; ", path, ": ", error.message());
                 }
                 return ++count < kLookedAtMax;
               });
  if (!problems.empty()) {
    return bad(std::move(problems), "correct the file (tarn actions validate FILE) and commit it");
  }
  if (count == 0) return {.found = "none"};
  return {.found = str_cat(count, count == 1 ? " action file" : " action files", ", valid")};
}

std::vector<std::string> Examination::dead_deliveries(const std::string& webhook) {
  std::vector<std::string> ids;
  client_.each({.path = api_path({"repositories", repository_, "webhooks", webhook, "deliveries"}),
                .query = {{"state", "dead"}}},
               [&](const Json& item) {
                 ids.push_back(item.value("id", ""));
                 return ids.size() < kLookedAtMax;
               });
  return ids;
}

Finding Examination::webhooks() {
  if (repository_.empty()) return unknown("no repository to look at");
  size_t count = 0;
  std::string problems;
  std::string fixed;
  std::vector<std::string> names;
  client_.each({.path = api_path({"repositories", repository_, "webhooks"})},
               [&](const Json& item) {
                 names.push_back(item.value("id", ""));
                 return ++count < kLookedAtMax;
               });
  for (const std::string& name : names) {
    const std::vector<std::string> dead = dead_deliveries(name);
    if (dead.empty()) continue;
    if (!options_.fix) {
      problems +=
          str_cat(problems.empty() ? "" : "; ", name, ": ", dead.size(), " events were given up");
      continue;
    }
    for (const std::string& id : dead) {
      client_.call(post_request(
          str_cat(api_path({"repositories", repository_, "webhooks", name, "deliveries", id}),
                  ":redeliver")));
    }
    fixed += str_cat(fixed.empty() ? "" : "; ", name, ": sends ", dead.size(), " events again");
  }
  if (!problems.empty()) {
    return bad(std::move(problems),
               "see why: tarn webhook deliveries NAME --state dead; when the endpoint works again: "
               "tarn webhook redeliver NAME --dead, or --fix");
  }
  return {.found = count == 0 ? "none" : str_cat(count, ", every event was delivered or waits"),
          .fixed = std::move(fixed)};
}

/// Why the policy cannot be fulfilled, as far as that does not depend on candidates.
std::string Examination::problem_of_policy(const Json& policy) {
  const std::string name = policy.value("name", "");
  const Answer answer = client_.ask(
      post_request(api_path({"repositories", repository_, "policies", name}) + ":evaluate",
                   Json{{"candidates", {policy.value("destination", "")}}}));
  if (answer.status == 401 || answer.status == 403) return "";
  if (!answer.ok()) return str_cat(name, ": ", error_from(answer).message());
  const Json body = json_of(answer);
  if (body.contains("refusal")) {
    return str_cat(name, ": ", body.value("/refusal/reason"_json_pointer, ""));
  }
  for (const Json& candidate : body.value("results", Json::array())) {
    for (const Json& warning : candidate.value("warnings", Json::array())) {
      const std::string text = warning.get<std::string>();
      if (text.starts_with("after.webhook")) return str_cat(name, ": ", text);
    }
  }
  return "";
}

Finding Examination::policies() {
  if (repository_.empty()) return unknown("no repository to look at");
  std::vector<Json> all;
  client_.each({.path = api_path({"repositories", repository_, "policies"})},
               [&](const Json& item) {
                 all.push_back(item);
                 return all.size() < kLookedAtMax;
               });
  std::string problems;
  for (const Json& policy : all) {
    const std::string problem = problem_of_policy(policy);
    if (!problem.empty()) problems += str_cat(problems.empty() ? "" : "; ", problem);
  }
  if (!problems.empty()) {
    return bad(std::move(problems),
               "correct what the message names, or the policy (tarn policy "
               "show, tarn policy apply)");
  }
  return {.found = all.empty() ? "none" : str_cat(all.size(), ", each can be fulfilled")};
}

/// Branches of an earlier --write that was interrupted.
Finding Examination::leftovers() {
  if (repository_.empty()) return unknown("no repository to look at");
  const std::string branches = api_path({"repositories", repository_, "branches"});
  std::vector<std::string> left;
  client_.each(
      {.path = branches, .query = {{"prefix", std::string(kProbeBranch)}, {"show_hidden", "true"}}},
      [&](const Json& item) {
        left.push_back(item.value("id", ""));
        return left.size() < kLookedAtMax;
      });
  if (left.empty()) return {.found = "none"};
  if (!options_.fix) {
    return bad(
        str_cat(left.size(), " branches of an interrupted tarn doctor --write"),
        str_cat("tarn branch delete ", to_string({repository_, left.front(), ""}), ", or --fix"));
  }
  for (const std::string& name : left) client_.call(delete_request(str_cat(branches, '/', name)));
  return {.found = "none", .fixed = str_cat("deleted ", left.size(), " of them")};
}

/// Whether only this machine can reach the endpoint.
bool Examination::is_local() const {
  const std::string_view url = settings_.endpoint.value;
  const std::string_view host = url.substr(std::min(url.find("://") + 3, url.size()));
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

/// The value in force, in the form of the configuration file; "" if it is not set.
std::string Examination::setting(std::string_view name) {
  const Json all = client_.call({.path = "/config/settings"});
  for (const Json& one : all.at("results")) {
    if (one.value("name", "") == name) return one.value("value", "");
  }
  return "";
}

std::string Examination::metrics() {
  return options_.metrics.empty() ? ask_page("/metrics").body
                                  : client_.ask({.url = options_.metrics}).body;
}

Finding Examination::https() {
  if (settings_.endpoint.value.starts_with("https://")) return {.found = settings_.endpoint.value};
  if (is_local()) return unknown("give the address of the team: --endpoint https://...");
  return bad(str_cat(settings_.endpoint.value, ": keys and data are sent in plain text"),
             "put a proxy with TLS in front of the server (docs/proxy.md)");
}

/// The server must know its proxy and its own name.
Finding Examination::proxy() {
  if (!settings_.endpoint.value.starts_with("https://")) return unknown("no HTTPS, no proxy");
  if (const std::string proxies = setting("http.trusted_proxies");
      proxies.empty() || proxies == "[]") {
    return bad("the server takes the address of the proxy for that of every client",
               "on the server: set http.trusted_proxies to the proxy's address");
  }
  const std::string own = setting("server.external_url");
  if (own.starts_with("https://")) return {.found = str_cat("presigned URLs begin with ", own)};
  return bad("the server does not know its address, which presigned URLs need",
             str_cat("on the server: set server.external_url to ", settings_.endpoint.value));
}

Finding Examination::operators_pages() {
  if (!settings_.endpoint.value.starts_with("https://")) return unknown("no HTTPS, no proxy");
  std::string open;
  for (const char* path : {"/metrics", "/_ready"}) {
    const int status = ask_page(path).status;
    if (status == 401 || status == 403 || status == 404) continue;
    open += str_cat(open.empty() ? "" : ", ", path);
  }
  if (open.empty()) return {.found = "/metrics and /_ready are not public"};
  return bad(str_cat("everybody can read ", open),
             "on the server: set metrics.listen, and have the proxy refuse these paths");
}

Finding Examination::administrators() {
  std::vector<std::string> names;
  client_.each({.path = api_path({"auth", "groups", "Admins", "members"})}, [&](const Json& item) {
    names.push_back(item.value("id", ""));
    return names.size() < kLookedAtMax;
  });
  if (names.size() > 1) return {.found = str_cat(names.size(), " administrators")};
  return bad("one administrator: nobody else can give that person a new key",
             "tarn auth users create NAME --group Admins --with-key");
}

Finding Examination::servers() {
  const Json all = client_.call({.path = "/config/servers"});
  std::string version;
  size_t alive = 0;
  for (const Json& one : all.at("results")) {
    if (!one.value("alive", false)) continue;
    ++alive;
    const std::string found = one.value("version", "");
    if (!version.empty() && found != version) {
      return bad(str_cat("servers of ", version, " and ", found), "finish the upgrade");
    }
    version = found;
  }
  return {.found = str_cat(alive, alive == 1 ? " server" : " servers", " of ", version)};
}

Finding Examination::backups() {
  constexpr std::string_view kGauge =
      R"(tarn_backup_last_success_timestamp_seconds{kind="objects"})";
  const auto last = gauge(metrics(), kGauge);
  if (!last) return unknown("the metrics are elsewhere: --metrics URL, on the server");
  const std::string advice =
      "on the server: systemctl enable --now tarn-backup.timer, or tarn admin backup PLACE "
      "--objects every night";
  if (*last == 0) return bad("there is no complete backup with the bytes of objects", advice);
  const Instant then = from_millis(static_cast<int64_t>(*last) * 1000);
  const std::string found = str_cat("the newest was complete at ", to_rfc3339(then));
  if (SystemClock().now() - then <= kBackupAgeMax) return {.found = found};
  return bad(found, advice);
}

}  // namespace tarn::cli

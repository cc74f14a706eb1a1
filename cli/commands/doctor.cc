// tarn doctor
#include <chrono>
#include <functional>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/object_record.h"
#include "cli/session.h"
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

struct Options {
  std::string repository;
  bool write = false;

  void declare(Command& command) {
    command
        .optional_argument("REPOSITORY", repository,
                           "the repository whose store is checked, tarn://NAME or NAME; default "
                           "--repo, or the first repository")
        .flag("--write", write,
              "also write, read and delete a small object on a temporary hidden branch");
  }
};

enum class State { kFine, kBad, kUnknown };

/// The result of a check, with advice.
struct Finding {
  State state = State::kFine;
  std::string found;
  std::string advice{};
  ExitCode code = ExitCode::kOk;
};

Finding bad(const Error& error, std::string advice) {
  return {State::kBad, error.message(), std::move(advice), exit_code_of(error)};
}

Finding unknown(std::string why) { return {State::kUnknown, std::move(why)}; }

/// The checks, in order; each may use results of earlier ones.
class Examination {
 public:
  Examination(const Session& session, const Options& options)
      : session_(session),
        settings_(session.settings),
        options_(options),
        client_(settings_, {.attempts = 2, .connect = kConnectMax, .answer = kAnswerMax}) {}

  Finding server();
  Finding clock();
  Finding credentials();
  Finding version();
  Finding permissions();
  Finding store_reads();
  Finding store_writes();

 private:
  std::string endpoint_advice(std::string_view what) const;
  void find_repository();
  Finding tried_read(const Uri& object);

  const Session& session_;
  const Settings& settings_;
  const Options& options_;
  Client client_;
  Answer health_;
  std::string repository_;
  std::string branch_;
};

std::string Examination::endpoint_advice(std::string_view what) const {
  return str_cat(what, "; the endpoint comes from ", settings_.endpoint.origin,
                 " (--endpoint, TARN_ENDPOINT or `tarn config set endpoint URL`)");
}

Finding Examination::server() {
  try {
    health_ = client_.ask({.path = "/healthcheck"});
  } catch (const Error& error) {
    return bad(error, endpoint_advice("start tarnd there, or correct the address"));
  }
  if (health_.ok()) return {.found = settings_.endpoint.value};
  return bad(error_from(health_),
             endpoint_advice("something else answers there: give the URL of the server itself, "
                             "without a path"));
}

Finding Examination::clock() {
  const auto there = parse_http_date(health_.header("Date"));
  if (!there) return unknown("the server sends no date");
  const auto skew = std::chrono::duration_cast<std::chrono::seconds>(SystemClock().now() - *there);
  if (std::chrono::abs(skew) <= kSkewMax) return {.found = str_cat(skew.count(), " s apart")};
  return bad(Error(ErrorCode::kPreconditionFailed,
                   str_cat(skew.count(), " s apart: signed S3 requests will be refused")),
             "set the clocks of both machines by NTP");
}

Finding Examination::credentials() {
  const bool token = !settings_.token.value.empty();
  const Setting& from = token ? settings_.token : settings_.access_key;
  if (from.value.empty()) {
    return bad(Error(ErrorCode::kUnauthenticated, "no access key"),
               "`tarn auth login`, or set TARN_ACCESS_KEY and TARN_SECRET_KEY");
  }
  const Answer answer = client_.ask({.path = "/user"});
  if (!answer.ok()) {
    return bad(error_from(answer),
               str_cat("the ", token ? "token" : "access key", " comes from ", from.origin,
                       token ? ": ask for a new one, `tarn auth token`"
                             : ": correct it and its secret key, or `tarn auth login`"));
  }
  const Json body = Json::parse(answer.body, nullptr, false);
  const std::string user = body.is_object() ? body.value("/user/id"_json_pointer, "") : "";
  if (user.empty()) {
    return bad(Error(ErrorCode::kInternal, "the answer names no user"),
               endpoint_advice("something else answers there: give the URL of a Tarn server"));
  }
  return {.found = str_cat("user ", user, ", from ", from.origin)};
}

Finding Examination::version() {
  const Json config = client_.call({.path = "/config"});
  const Json storage = config.value("storage_config", Json::object());
  const std::string lakefs = config.value("/version_config/version"_json_pointer, "unknown");
  return {.found = str_cat(config.value("/version_config/tarn_version"_json_pointer, lakefs),
                           ", this command " TARN_VERSION ", store ",
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
    return bad(error, missing ? "`tarn repo list` shows those there are"
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
    answer.body = Json{{"message", error.message()}}.dump();
  }
  const std::string name = to_string(object);
  if (answer.ok() || answer.status == kRangeNotSatisfiable)
    return {.found = str_cat("read ", name)};
  return bad(Error(ErrorCode::kInternal, str_cat("reading ", name, ": ", answer.message())),
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
  const std::string name = str_cat("tarn-doctor-", to_hex(random_bytes(kProbeNameBytes)));
  const std::string branches = api_path({"repositories", repository_, "branches"});
  const Answer made = client_.ask(
      post_request(branches, Json{{"name", name}, {"source", branch_}, {"hidden", true}}));
  if (!made.ok()) return bad(error_from(made), "ask for a policy that allows making branches");
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
    if (finding->state == State::kFine) finding->found = "written, read and deleted";
  } catch (const Error& error) {
    finding = bad(error,
                  "on the server: look at its log, and whether the store has room and lets "
                  "its keys write");
  }
  client_.ask(delete_request(str_cat(branches, '/', name)));
  return *finding;
}

Finding outcome_of(Examination& examination, Finding (Examination::*check)()) {
  try {
    return (examination.*check)();
  } catch (const Error& error) {
    return bad(error, "");
  } catch (const Json::exception& error) {
    return bad(Error(ErrorCode::kInternal, error.what()),
               "something else answers there: give the URL of a Tarn server");
  }
}

std::string_view word_for(State state) {
  switch (state) {
    case State::kFine:
      return "yes";
    case State::kBad:
      return "no";
    case State::kUnknown:
      return "-";
  }
  return "";
}

ExitCode run(Session& session, const Options& options) {
  struct Check {
    const char* name;
    Finding (Examination::*run)();
    bool ends_it;  ///< after its failure later checks would only fail too
  };
  std::vector<Check> checks{{"server", &Examination::server, true},
                            {"clock", &Examination::clock, false},
                            {"credentials", &Examination::credentials, true},
                            {"version", &Examination::version, false},
                            {"permissions", &Examination::permissions, true},
                            {"store", &Examination::store_reads, false}};
  if (options.write) checks.push_back({"store writes", &Examination::store_writes, false});
  Examination examination(session, options);
  ListWriter rows = session.out.list("Doctor", {"check", "ok", "found", "what to do"});
  ExitCode worst = ExitCode::kOk;
  for (const Check& check : checks) {
    const Finding finding = outcome_of(examination, check.run);
    Json ok = nullptr;
    if (finding.state != State::kUnknown) ok = finding.state == State::kFine;
    rows.add(
        {{"check", check.name}, {"ok", ok}, {"found", finding.found}, {"advice", finding.advice}},
        {check.name, std::string(word_for(finding.state)), finding.found, finding.advice});
    if (worst == ExitCode::kOk) worst = finding.code;
    if (finding.state == State::kBad && check.ends_it) break;
  }
  rows.finish();
  return worst;
}

}  // namespace

void add_doctor_command(CommandTree& tree) {
  tree.add<Options>("doctor", "Check server, clock, credentials, permissions and store", run);
}

}  // namespace tarn::cli

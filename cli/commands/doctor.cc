// tarn doctor
#include <chrono>
#include <functional>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"

namespace tarn::cli {
namespace {

/// Signed requests fail beyond 15 minutes; warn well before.
constexpr std::chrono::minutes kSkewMax{5};

struct Options {};

void declare(Command&, Options&) {}

/// A check returns what it found, or throws.
struct Check {
  const char* name;
  std::function<std::string()> run;
};

std::string reachable(Session& session) {
  const Answer answer = session.client.ask({.path = "/healthcheck"});
  if (!answer.ok()) throw error_from(answer);
  return session.settings.endpoint.value;
}

std::string clock(Session& session) {
  const Answer answer = session.client.ask({.path = "/healthcheck"});
  const auto there = parse_http_date(answer.header("Date"));
  if (!there) return "the server sends no date";
  const auto skew = std::chrono::duration_cast<std::chrono::seconds>(SystemClock().now() - *there);
  if (std::chrono::abs(skew) > kSkewMax) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat("comparing clocks: ", skew.count(),
                        " s apart; signed S3 requests will be refused"));
  }
  return str_cat(skew.count(), " s apart");
}

std::string credentials(Session& session) {
  if (session.settings.access_key.value.empty()) {
    throw Error(ErrorCode::kUnauthenticated,
                "no access key: set TARN_ACCESS_KEY and TARN_SECRET_KEY, or `tarn config set "
                "access_key ...`");
  }
  session.client.call({.path = "/repositories", .query = {{"amount", "1"}}});
  return session.settings.access_key.value;
}

std::string server_version(Session& session) {
  const Json config = session.client.call({.path = "/config"});
  return config.value("/version_config/version"_json_pointer, "unknown");
}

ExitCode run(Session& session, const Options&) {
  const Check checks[] = {{"server", [&] { return reachable(session); }},
                          {"clock", [&] { return clock(session); }},
                          {"credentials", [&] { return credentials(session); }},
                          {"version", [&] { return server_version(session); }}};
  ListWriter rows = session.out.list("Doctor", {"check", "ok", "found"});
  ExitCode worst = ExitCode::kOk;
  for (const Check& check : checks) {
    std::string found;
    bool ok = true;
    try {
      found = check.run();
    } catch (const Error& error) {
      ok = false;
      found = error.message();
      if (worst == ExitCode::kOk) worst = exit_code_of(error);
    }
    rows.add({{"check", check.name}, {"ok", ok}, {"found", found}},
             {check.name, ok ? "yes" : "no", found});
    // Without a server the other checks would only repeat that.
    if (worst == ExitCode::kUnavailable) break;
  }
  rows.finish();
  return worst;
}

}  // namespace

void add_doctor_command(CommandTree& tree) {
  tree.add<Options>("doctor", "Check endpoint, clock and credentials", declare, run);
}

}  // namespace tarn::cli

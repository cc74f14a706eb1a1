// tarn log
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"

namespace tarn::cli {
namespace {

struct LogOptions {
  std::string ref;
  int64_t amount = 0;
  bool first_parent = false;
  bool no_merges = false;
  std::string since;
  std::string stop_at;
  std::vector<std::string> prefixes;
  std::vector<std::string> objects;

  void declare(Command& command) {
    command
        .optional_argument("REF", ref,
                           "tarn://repository/ref, or a ref in --repo; default: the default branch")
        .option("-n,--amount", amount, "maximum number of results")
        .option("--since", since,
                "only commits at or after this time: 2026-11-20 or 2026-11-20T08:00:00Z")
        .option("--prefix", prefixes,
                "only commits that changed an object below this prefix; may be repeated")
        .option("--object", objects, "only commits that changed this object; may be repeated")
        .option("--stop-at", stop_at, "the last commit to show: a commit id, branch or tag")
        .flag("--first-parent", first_parent, "follow only the first parent of merge commits")
        .flag("--no-merges", no_merges, "leave out merge commits");
  }
};

Request request_for(const Uri& uri, const LogOptions& options) {
  Request request{.path = api_path({"repositories", uri.repository, "refs", uri.ref, "commits"})};
  if (options.first_parent) request.query.emplace_back("first_parent", "true");
  if (!options.since.empty()) request.query.emplace_back("since", options.since);
  if (!options.stop_at.empty()) request.query.emplace_back("stop_at", options.stop_at);
  for (const std::string& prefix : options.prefixes) request.query.emplace_back("prefixes", prefix);
  for (const std::string& object : options.objects) request.query.emplace_back("objects", object);
  return request;
}

void run_log(Session& session, const LogOptions& options) {
  const Uri uri = session.ref_or_default(options.ref);
  if (options.amount < 0) throw usage_error("showing a log: --amount cannot be negative");
  ListWriter rows = session.out.list("CommitList", {"commit", "date", "committer", "message"});
  int64_t left = options.amount == 0 ? -1 : options.amount;
  session.client.each(request_for(uri, options), [&](const Json& commit) {
    if (options.no_merges && commit.value("parents", Json::array()).size() > 1) return true;
    rows.add(commit, commit_cells(session.out, commit));
    return --left != 0;
  });
  rows.finish();
}

}  // namespace

void add_log_command(CommandTree& tree) {
  tree.add<LogOptions>("log", "Show the history of a ref", run_log);
}

}  // namespace tarn::cli

// tarn log
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr size_t kShortId = 12;

struct Options {
  std::string ref;
  int64_t amount = 0;
  bool first_parent = false;
  std::string since;
  std::vector<std::string> prefixes;
  std::vector<std::string> objects;
};

void declare(Command& command, Options& options) {
  command.optional_argument("REF", options.ref, "tarn://repository/ref, or a ref in --repo")
      .option("-n,--amount", options.amount, "at most so many")
      .option("--since", options.since, "not older: 2026-11-20 or 2026-11-20T08:00:00Z")
      .option("--prefix", options.prefixes,
              "only commits that changed something below; again for more")
      .option("--object", options.objects, "only commits that changed this path; again for more")
      .flag("--first-parent", options.first_parent, "leave out what merges brought");
}

Request request_for(const Uri& uri, const Options& options) {
  Request request{.path = api_path({"repositories", uri.repository, "refs", uri.ref, "commits"})};
  if (options.first_parent) request.query.emplace_back("first_parent", "true");
  if (!options.since.empty()) request.query.emplace_back("since", options.since);
  for (const std::string& prefix : options.prefixes) request.query.emplace_back("prefixes", prefix);
  for (const std::string& object : options.objects) request.query.emplace_back("objects", object);
  return request;
}

ExitCode run(Session& session, const Options& options) {
  const Uri uri = session.ref(options.ref);
  if (options.amount < 0) throw usage_error("showing a log: --amount cannot be negative");
  const bool people = session.out.format() == Format::kTable;
  ListWriter rows = session.out.list("CommitList", {"commit", "date", "committer", "message"});
  int64_t left = options.amount == 0 ? -1 : options.amount;
  session.client.each(request_for(uri, options), [&](const Json& commit) {
    const std::string id = commit.value("id", "");
    const std::string message = commit.value("message", "");
    rows.add(commit, {people ? id.substr(0, kShortId) : id,
                      time_in_words(commit.value("creation_date", int64_t{0})),
                      commit.value("committer", ""),
                      people ? message.substr(0, message.find('\n')) : message});
    return --left != 0;
  });
  rows.finish();
  return ExitCode::kOk;
}

}  // namespace

void add_log_command(CommandTree& tree) {
  tree.add<Options>("log", "Show the history of a ref", declare, run);
}

}  // namespace tarn::cli

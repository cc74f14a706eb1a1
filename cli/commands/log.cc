// tarn log

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"
#include "core/base/error.h"

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

// tarn show

namespace {

struct ShowOptions {
  std::string ref;

  void declare(Command& command) {
    command.optional_argument(
        "REF", ref, "tarn://repository/ref, or a ref in --repo; default: the default branch");
  }
};

void run_show(Session& session, const ShowOptions& options) {
  const Uri uri = session.ref_or_default(options.ref);
  print_commit(session.out, "Commit", get_commit(session.client, uri.repository, uri.ref));
}

}  // namespace

void add_show_command(CommandTree& tree) {
  tree.add<ShowOptions>("show", "Show the commit of a ref", run_show);
}

// tarn annotate

namespace {

struct AnnotateOptions {
  std::string prefix;
  bool recursive = false;
  bool first_parent = false;

  void declare(Command& command) {
    command.optional_argument("PREFIX", prefix, "tarn://repository/ref/path, or a path in --branch")
        .flag("-r,--recursive", recursive, "recurse below the prefix")
        .flag("--first-parent", first_parent, "follow only the first parent of merge commits");
  }
};

/// The newest commit that changed the object, or anything below the prefix; null if none did, or if
/// that is unknown since the history of the time has expired.
Json last_change(Client& client, const Uri& uri, const Json& item, bool first_parent) {
  const bool object = item.value("path_type", "") == "object";
  Request request{.path = api_path({"repositories", uri.repository, "refs", uri.ref, "commits"}),
                  .query = {{object ? "objects" : "prefixes", item.value("path", "")},
                            {"amount", "1"},
                            {"limit", "true"}}};
  if (first_parent) request.query.emplace_back("first_parent", "true");
  Json commits;
  try {
    commits = client.call(request);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kGone) return {};
    throw;
  }
  return commits.at("results").empty() ? Json() : commits["results"][0];
}

void run_annotate(Session& session, const AnnotateOptions& options) {
  Uri uri = session.prefix_or_default(options.prefix);
  // Resolve once, so that all lines show one state despite concurrent commits.
  uri.ref = get_commit_id(session.client, uri.repository, uri.ref);
  Request listing{
      .path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects", "ls"}),
      .query = {{"prefix", uri.path}}};
  if (!options.recursive) listing.query.emplace_back("delimiter", "/");
  ListWriter rows =
      session.out.list("AnnotationList", {"path", "commit", "date", "committer", "message"});
  session.client.each(listing, [&](const Json& item) {
    const Json change = last_change(session.client, uri, item, options.first_parent);
    const std::string path = item.value("path", "");
    Cells cells{path};
    for (std::string& cell : commit_cells(session.out, change)) cells.push_back(std::move(cell));
    rows.add({{"path", path}, {"commit", change}}, std::move(cells));
    return true;
  });
  rows.finish();
}

}  // namespace

void add_annotate_command(CommandTree& tree) {
  tree.add<AnnotateOptions>("annotate", "Show the last commit that changed each object",
                            run_annotate);
}

}  // namespace tarn::cli

// tarn annotate
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"
#include "core/base/error.h"

namespace tarn::cli {
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

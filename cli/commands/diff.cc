// tarn diff
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct DiffOptions {
  std::string left;
  std::string right;
  std::string prefix;
  bool two_dot = false;
  bool exit_code = false;

  void declare(Command& command) {
    command
        .optional_argument("LEFT", left,
                           "a ref; if alone, a branch whose uncommitted changes are shown; "
                           "default: the default branch")
        .optional_argument("RIGHT", right, "a ref; shows what merging it into LEFT would change")
        .option("--prefix", prefix, "only paths that begin with this prefix")
        .flag("--two-dot", two_dot, "compare the two refs directly, not with their common ancestor")
        .flag("--exit-code", exit_code,
              "exit with 1 if there are differences, and with 128 for errors that otherwise exit "
              "with 1");
  }
};

Request diff_request(Session& session, const DiffOptions& options) {
  const Uri left = session.ref_or_default(options.left);
  if (options.right.empty()) {
    if (options.two_dot) throw usage_error("comparing: --two-dot needs LEFT and RIGHT");
    return {.path = api_path({"repositories", left.repository, "branches", left.ref, "diff"}),
            .query = {{"prefix", options.prefix}}};
  }
  const Uri right = ref_uri(options.right, {left.repository, ""});
  need_same_repository(left, right);
  return {
      .path = api_path({"repositories", left.repository, "refs", left.ref, "diff", right.ref}),
      .query = {{"prefix", options.prefix}, {"type", options.two_dot ? "two_dot" : "three_dot"}}};
}

ExitCode compare_refs(Session& session, const DiffOptions& options) {
  const Request request = diff_request(session, options);
  ListWriter rows = session.out.list("DiffList", {"path", "type", "size"});
  bool different = false;
  session.client.each(request, [&](const Json& item) {
    different = true;
    const bool sized = item.contains("size_bytes") && item["size_bytes"].is_number();
    rows.add(item, {item.value("path", ""), item.value("type", ""),
                    sized ? std::to_string(item["size_bytes"].get<int64_t>()) : ""});
    return true;
  });
  rows.finish();
  return different && options.exit_code ? ExitCode::kFailure : ExitCode::kOk;
}

ExitCode run_diff(Session& session, const DiffOptions& options) {
  try {
    return compare_refs(session, options);
  } catch (const Error& error) {
    if (!options.exit_code || exit_code_of(error) != ExitCode::kFailure) throw;
    session.out.warn(str_cat("tarn: ", error.message()));
    return ExitCode::kDiffTrouble;
  }
}

}  // namespace

void add_diff_command(CommandTree& tree) {
  tree.add<DiffOptions>("diff", "Show uncommitted changes, or the differences between two refs",
                        run_diff);
}

}  // namespace tarn::cli

// tarn checkout-path
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct CheckoutPathOptions {
  std::string ref;
  std::vector<std::string> globs;
  bool yes = false;
  bool dry_run = false;

  void declare(Command& command) {
    command.argument("REF", ref, "tarn://repository/ref, or a ref in --repo")
        .arguments("GLOB", globs,
                   "a pattern of paths such as \"models/**\"; paths that the ref lacks are deleted")
        .flag("-y,--yes", yes, "do not ask for confirmation before objects are deleted")
        .flag("--dry-run", dry_run, "only count what would be written and deleted");
  }
};

void run_checkout_path(Session& session, const CheckoutPathOptions& options) {
  const Uri source = session.ref(options.ref);
  const Uri branch = ref_uri("", {source.repository, session.settings.branch.value});
  const auto checkout = [&](bool dry_run) {
    Json body{{"ref", source.ref}, {"paths", options.globs}};
    if (dry_run) body["dry_run"] = true;
    return session.client.call(post_request(
        api_path({"repositories", branch.repository, "branches", branch.ref, "checkout-path"}),
        body));
  };
  if (!options.yes && !options.dry_run) {
    const int64_t deleted = checkout(true).at("deleted").get<int64_t>();
    if (deleted > 0) {
      session.confirm(
          str_cat("This checkout deletes ", deleted, deleted == 1 ? " object" : " objects", " of ",
                  to_string(branch), " that ", source.ref, " lacks. Go on?"),
          false);
    }
  }
  const Json counts = checkout(options.dry_run);
  session.out.object("Checkout", counts,
                     {{"added", json_text(counts.at("added"))},
                      {"changed", json_text(counts.at("changed"))},
                      {"deleted", json_text(counts.at("deleted"))},
                      {"unchanged", json_text(counts.at("unchanged"))}});
}

}  // namespace

void add_checkout_path_command(CommandTree& tree) {
  tree.add<CheckoutPathOptions>(
      "checkout-path", "Stage objects of another ref on --branch by reference; no bytes move",
      run_checkout_path);
}

}  // namespace tarn::cli

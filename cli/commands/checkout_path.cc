// tarn checkout-path
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/json_text.h"
#include "cli/session.h"

namespace tarn::cli {
namespace {

struct CheckoutPathOptions {
  std::string ref;
  std::vector<std::string> globs;

  void declare(Command& command) {
    command.argument("REF", ref, "tarn://repository/ref, or a ref in --repo")
        .arguments(
            "GLOB", globs,
            "a pattern of paths such as \"models/**\"; paths that the ref lacks are deleted");
  }
};

void run_checkout_path(Session& session, const CheckoutPathOptions& options) {
  const Uri source = session.ref(options.ref);
  const Uri branch = ref_uri("", {source.repository, session.settings.branch.value});
  const Json counts = session.client.call(post_request(
      api_path({"repositories", branch.repository, "branches", branch.ref, "checkout-path"}),
      Json{{"ref", source.ref}, {"paths", options.globs}}));
  session.out.object("Checkout", counts,
                     {{"written", json_text(counts.at("written"))},
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

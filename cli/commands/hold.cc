// tarn hold add | ls | rm
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

std::string holds_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "gc", "holds"});
}

struct Add {
  std::string ref;
  std::string until;
  std::string reason;

  void declare(Command& command) {
    command
        .argument(
            "REF", ref,
            "tarn://repository/ref[/path], or a ref in --repo; of a path only the objects below "
            "it are kept")
        .option("--until", until,
                "a time as 2027-01-31T00:00:00Z, or 72h, 90d; default: until it is removed")
        .option("--reason", reason, "the reason, kept with the hold");
  }
};

void add(Session& session, const Add& options) {
  const bool full = options.ref.find("://") != std::string::npos;
  const Uri uri = full ? session.prefix(options.ref) : session.ref(options.ref);
  Json body{{"ref", uri.ref}, {"reason", options.reason}};
  if (!uri.path.empty()) body["path"] = uri.path;
  if (!options.until.empty()) body["until"] = options.until;
  Json hold = session.client.call(post_request(holds_path(uri), body));
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"hold", hold.value("id", "")},
      {"commit", hold.value("commit_id", "")},
      {"until", hold.value("until", "it is removed")}};
  session.out.object("Hold", std::move(hold), lines);
}

void list_holds(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  print_list(session, {.path = holds_path(uri)}, "HoldList",
             {"hold", "commit", "path", "until", "by", "reason"},
             [&out = session.out](const Json& item) -> Cells {
               return {item.value("id", ""),    short_id(out, item.value("commit_id", "")),
                       item.value("path", ""),  item.value("until", ""),
                       item.value("actor", ""), item.value("reason", "")};
             });
}

struct RemoveHold {
  std::string id;
  std::string repository;

  void declare(Command& command) {
    command.argument("ID", id, "as `hold ls` shows it")
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

void remove_hold(Session& session, const RemoveHold& options) {
  const Uri uri = session.repository(options.repository);
  session.client.call(
      delete_request(api_path({"repositories", uri.repository, "gc", "holds", options.id})));
  session.out.remark(str_cat("removed ", options.id));
}

}  // namespace

void add_hold_commands(CommandTree& tree) {
  tree.group("hold", "Holds: commits that garbage collection keeps");
  tree.add<Add>("hold add", "Keep a commit and its ancestors from garbage collection", add);
  tree.add<InRepository>("hold ls", "List the holds of a repository", list_holds);
  tree.add<RemoveHold>("hold rm", "Remove a hold", remove_hold);
}

}  // namespace tarn::cli

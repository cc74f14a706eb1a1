// tarn fs cp | mv
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/fs_transfer.h"
#include "cli/exit_code.h"
#include "cli/object_record.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct Options {
  std::string source;
  std::string destination;
  TransferOptions how;
};

void declare_copy(Command& command, Options& options) {
  command
      .argument("FROM", options.source,
                "tarn://repository/ref/path, or a local file; '-' for standard input")
      .argument("TO", options.destination,
                "as FROM, on a branch; ending in '/': below it, with the same name");
  declare_transfer(command, options.how);
  declare_new_object(command, options.how);
}

void declare_move(Command& command, Options& options) {
  command.argument("OBJECT", options.source, "tarn://repository/branch/path")
      .argument("TARGET", options.destination,
                "as OBJECT; ending in '/': below it, with the same name")
      .flag("-r,--recursive", options.how.recursive, "everything below")
      .option("-p,--parallel", options.how.parallel, "with -r: so many at once (8)");
}

bool is_uri(std::string_view text) { return text.find("://") != std::string_view::npos; }

/// One object to its new place, by reference.
Json copy_object(Client& client, const Uri& source, const Uri& destination) {
  const Json body{{"src_path", source.path}, {"src_ref", source.ref}};
  return client.call({.method = Method::kPost,
                      .path = api_path({"repositories", source.repository, "branches",
                                        destination.ref, "objects", "copy"}),
                      .query = {{"dest_path", destination.path}},
                      .json = body.dump()});
}

Json move_object(Client& client, const Uri& source, const Uri& destination) {
  Json stats = copy_object(client, source, destination);
  client.call(
      {.method = Method::kDelete,
       .path = api_path({"repositories", source.repository, "branches", source.ref, "objects"}),
       .query = {{"path", source.path}}});
  return stats;
}

using Transform = Json (*)(Client&, const Uri& source, const Uri& destination);

ExitCode place_one(Session& session, const Options& options, Transform place) {
  const Uri source = session.object(options.source);
  Uri destination = session.prefix(options.destination);
  need_same_repository(source, destination);
  if (destination.path.empty() || destination.path.ends_with('/')) {
    destination.path += last_segment(source.path);
  }
  if (source == destination)
    throw usage_error(str_cat("placing ", to_string(source), ": it is there already"));
  print_object(session.out, destination, place(session.client, source, destination));
  return ExitCode::kOk;
}

ExitCode place_tree(Session& session, const Options& options, Transform place,
                    std::string_view kind) {
  const Uri source = directory_of(session.prefix(options.source));
  const Uri destination = directory_of(session.prefix(options.destination));
  need_same_repository(source, destination);
  if (source.ref == destination.ref && destination.path.starts_with(source.path)) {
    throw usage_error(str_cat("placing ", to_string(source), " into itself"));
  }
  Crew crew(session, workers_of(options.how), "placing");
  session.client.each(
      {.path = api_path({"repositories", source.repository, "refs", source.ref, "objects", "ls"}),
       .query = {{"prefix", source.path}}},
      [&](const Json& item) {
        Uri from = source;
        Uri to = destination;
        from.path = item.value("path", "");
        to.path += from.path.substr(source.path.size());
        crew.add(from.path, [&crew, place, from, to](Client& client) {
          crew.moved(0);
          place(client, from, to);
          return Outcome::kDone;
        });
        return true;
      });
  return print_tally(session, kind, crew.finish());
}

ExitCode copy(Session& session, const Options& options) {
  const bool from_here = !is_uri(options.source);
  const bool to_here = !is_uri(options.destination);
  if (from_here && to_here) {
    throw usage_error(
        "copying: neither is a tarn:// URI; objects are named by those here, files by paths");
  }
  if (from_here) return upload(session, options.source, options.destination, options.how);
  if (to_here) return download(session, options.source, options.destination, options.how);
  return options.how.recursive ? place_tree(session, options, copy_object, "Copy")
                               : place_one(session, options, copy_object);
}

ExitCode move(Session& session, const Options& options) {
  return options.how.recursive ? place_tree(session, options, move_object, "Move")
                               : place_one(session, options, move_object);
}

}  // namespace

void add_fs_copy_commands(CommandTree& tree) {
  tree.add<Options>("fs cp",
                    "Copy objects by reference, or files to and from a branch with their bytes",
                    declare_copy, copy);
  tree.add<Options>("fs mv", "Move objects by reference; no bytes move", declare_move, move);
}

}  // namespace tarn::cli

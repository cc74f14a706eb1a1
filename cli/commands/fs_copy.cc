// tarn fs cp | mv
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/fs_transfer.h"
#include "cli/exit_code.h"
#include "cli/object_record.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct CopyOptions {
  std::string source;
  std::string destination;
  TransferOptions how;
};

struct Copy : CopyOptions {
  void declare(Command& command) {
    command
        .argument("FROM", source,
                  "tarn://repository/ref/path, or a local file; '-' for standard input")
        .argument("TO", destination,
                  "as FROM, on a branch; ending in '/': below it, with the same name");
    declare_transfer(command, how);
    declare_new_object(command, how);
  }
};

struct Move : CopyOptions {
  void declare(Command& command) {
    command.argument("OBJECT", source, "tarn://repository/branch/path")
        .argument("TARGET", destination, "as OBJECT; ending in '/': below it, with the same name")
        .flag("-r,--recursive", how.recursive, "recursive")
        .option("-p,--parallel", how.parallel, "with -r: number of parallel transfers (8)");
  }
};

bool is_uri(std::string_view text) { return text.find("://") != std::string_view::npos; }

/// Copies one object by reference.
Json copy_object(Client& client, const Uri& source, const Uri& destination) {
  Request request = post_request(
      api_path({"repositories", source.repository, "branches", destination.ref, "objects", "copy"}),
      Json{{"src_path", source.path}, {"src_ref", source.ref}});
  request.query = {{"dest_path", destination.path}};
  return client.call(request);
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

struct Ends {
  Uri source;
  Uri destination;
};

Ends ends_of(const Session& session, const CopyOptions& options) {
  const bool tree = options.how.recursive;
  Ends ends{tree ? directory_of(session.prefix(options.source)) : session.object(options.source),
            session.prefix(options.destination)};
  need_same_repository(ends.source, ends.destination);
  std::string& path = ends.destination.path;
  if (tree) {
    ends.destination = directory_of(ends.destination);
  } else if (path.empty() || path.ends_with('/')) {
    path += last_segment(ends.source.path);
  }
  const bool into_itself = tree ? path.starts_with(ends.source.path) : path == ends.source.path;
  if (ends.source.ref == ends.destination.ref && into_itself)
    throw usage_error(str_cat("placing ", to_string(ends.source), " into itself"));
  return ends;
}

ExitCode place_one(Session& session, const Ends& ends, Transform place) {
  print_object(session.out, ends.destination, place(session.client, ends.source, ends.destination));
  return ExitCode::kOk;
}

ExitCode place_tree(Session& session, const CopyOptions& options, const Ends& ends, Transform place,
                    std::string_view kind) {
  const Uri& source = ends.source;
  ThreadPool pool(session, workers_of(options.how), "placing");
  session.client.each(
      {.path = api_path({"repositories", source.repository, "refs", source.ref, "objects", "ls"}),
       .query = {{"prefix", source.path}}},
      [&](const Json& item) {
        Uri from = source;
        Uri to = ends.destination;
        from.path = item.value("path", "");
        to.path += from.path.substr(source.path.size());
        pool.add(from.path, [&pool, place, from, to](Client& client) {
          pool.moved(0);
          place(client, from, to);
          return Outcome::kDone;
        });
        return true;
      });
  return print_tally(session, kind, pool.finish());
}

/// Moves within one branch atomically on the server. nullopt if the server cannot (lakeFS).
std::optional<uint64_t> move_at_once(Client& client, const Ends& ends, bool tree) {
  const Uri& branch = ends.source;
  const Json body{{tree ? "src_prefix" : "src_path", ends.source.path},
                  {tree ? "dest_prefix" : "dest_path", ends.destination.path}};
  const Answer answer = client.ask(post_request(
      api_path({"repositories", branch.repository, "branches", branch.ref, "objects", "move"}),
      body));
  if (!answer.ok() && answer.reason().empty()) return std::nullopt;
  return json_of(answer).at("moved").get<uint64_t>();
}

ExitCode copy(Session& session, const CopyOptions& options) {
  const bool from_here = !is_uri(options.source);
  const bool to_here = !is_uri(options.destination);
  if (from_here && to_here) {
    throw usage_error(
        "copying: neither is a tarn:// URI; objects are named by those here, files by paths");
  }
  if (from_here) return upload(session, options.source, options.destination, options.how);
  if (to_here) return download(session, options.source, options.destination, options.how);
  const Ends ends = ends_of(session, options);
  return options.how.recursive ? place_tree(session, options, ends, copy_object, "Copy")
                               : place_one(session, ends, copy_object);
}

ExitCode move(Session& session, const CopyOptions& options) {
  const Ends ends = ends_of(session, options);
  const bool tree = options.how.recursive;
  if (ends.source.ref == ends.destination.ref) {
    if (const auto moved = move_at_once(session.client, ends, tree)) {
      if (tree) return print_tally(session, "Move", {.done = *moved});
      print_object(session.out, ends.destination, stat_object(session.client, ends.destination));
      return ExitCode::kOk;
    }
  }
  return tree ? place_tree(session, options, ends, move_object, "Move")
              : place_one(session, ends, move_object);
}

}  // namespace

void add_fs_copy_commands(CommandTree& tree) {
  tree.add<Copy>("fs cp",
                 "Copy objects by reference, or files to and from a branch with their bytes", copy);
  tree.add<Move>("fs mv", "Move objects by reference; no bytes move", move);
}

}  // namespace tarn::cli

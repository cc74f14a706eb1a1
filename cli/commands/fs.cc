// tarn fs ls | stat | cat | presign | metadata | rm

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/fs_transfer.h"
#include "cli/exit_code.h"
#include "cli/local_file.h"
#include "cli/object_record.h"
#include "cli/session.h"
#include "cli/transfer.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

std::string objects_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "branches", uri.ref, "objects"});
}

struct Listing {
  std::string prefix;
  bool recursive = false;

  void declare(Command& command) {
    command.optional_argument("PREFIX", prefix, "tarn://repository/ref/path, or a path in --branch")
        .flag("-r,--recursive", recursive, "recurse below the prefix");
  }
};

void ls(Session& session, const Listing& options) {
  const Uri uri = session.prefix_or_default(options.prefix);
  ListWriter rows = session.out.list("ObjectList", {"path", "size", "modified", "type"});
  Request request{
      .path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects", "ls"}),
      .query = {{"prefix", uri.path}}};
  if (!options.recursive) request.query.emplace_back("delimiter", "/");
  session.client.each(request, [&](const Json& item) {
    const bool object = item.value("path_type", "") == "object";
    rows.add(item, {item.value("path", ""),
                    object ? std::to_string(item.value("size_bytes", int64_t{0})) : "",
                    object ? time_in_words(item.value("mtime", int64_t{0})) : "",
                    object ? "object" : "prefix"});
    return true;
  });
  rows.finish();
}

struct OneObject {
  std::string object;

  void declare(Command& command) {
    command.argument("OBJECT", object, "tarn://repository/ref/path, or a path in --branch");
  }
};

void stat(Session& session, const OneObject& options) {
  const Uri uri = session.object(options.object);
  print_object(session.out, uri, stat_object(session.client, uri));
}

void cat(Session& session, const OneObject& options) {
  download_file(session.client, Way::kServer, session.object(options.object), "-", [](uint64_t) {});
}

void presign(Session& session, const OneObject& options) {
  const Uri uri = session.object(options.object);
  const Json stats = stat_object(session.client, uri, true);
  const std::string url = stats.value("physical_address", "");
  if (!url.starts_with("http")) {
    throw Error(ErrorCode::kUnimplemented,
                str_cat("signing a URL for ", to_string(uri), ": this server does not sign URLs"));
  }
  const int64_t expiry = stats.value("physical_address_expiry", int64_t{0});
  Json fields{{"url", url}, {"path", uri.path}};
  if (expiry > 0) fields["expires"] = expiry;
  if (session.out.format() == Format::kTable) {
    // The bare URL, to be piped to curl.
    session.out.data() << url << '\n';
  } else {
    session.out.object("PresignedUrl", std::move(fields), {{"url", url}});
  }
  if (expiry > 0) session.out.remark(str_cat("anybody may read it until ", time_in_words(expiry)));
}

struct MetadataOptions {
  std::string object;
  std::vector<std::string> pairs;
  bool clear = false;

  void declare(Command& command) {
    command.argument("OBJECT", object, "tarn://repository/branch/path, or a path in --branch")
        .option("--meta", pairs, "replace all metadata by key=value; may be repeated")
        .flag("--clear", clear, "remove all metadata");
  }
};

void metadata(Session& session, const MetadataOptions& options) {
  const Uri uri = session.object(options.object);
  if (options.clear && !options.pairs.empty())
    throw usage_error("changing metadata: --meta and --clear exclude each other");
  if (options.clear || !options.pairs.empty()) {
    Request request = put_request(str_cat(objects_path(uri), "/stat/user_metadata"),
                                  Json{{"set", metadata_from(options.pairs)}});
    request.query = {{"path", uri.path}};
    session.client.call(request);
  }
  const Json stats = stat_object(session.client, uri);
  const Json pairs = stats.value("metadata", Json::object());
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [key, value] : pairs.items()) lines.emplace_back(key, value.get<std::string>());
  session.out.object("Metadata", {{"path", uri.path}, {"metadata", pairs}}, lines);
}

struct RemoveObject {
  std::string object;
  bool recursive = false;

  void declare(Command& command) {
    command.argument("OBJECT", object, "tarn://repository/branch/path, or a path in --branch")
        .flag("-r,--recursive", recursive, "everything whose path begins with OBJECT");
  }
};

ExitCode remove_below(Session& session, const Uri& uri) {
  ObjectDeletion deletion(session, uri);
  each_object_below(session.client, uri,
                    [&](const Json& item) { deletion.add(item.value("path", "")); });
  deletion.finish();
  session.out.object("Deletion",
                     {{"deleted", deletion.deleted()},
                      {"failed", deletion.failed()},
                      {"changed", deletion.deleted() > 0}},
                     {{"deleted", std::to_string(deletion.deleted())}});
  return deletion.failed() > 0 ? ExitCode::kPartial : ExitCode::kOk;
}

ExitCode rm(Session& session, const RemoveObject& options) {
  if (options.recursive) return remove_below(session, session.prefix(options.object));
  const Uri uri = session.object(options.object);
  stat_object(session.client, uri);  // the server takes the deletion of an absent path for success
  session.client.call(
      {.method = Method::kDelete, .path = objects_path(uri), .query = {{"path", uri.path}}});
  session.out.remark(str_cat("deleted ", to_string(uri)));
  return ExitCode::kOk;
}

}  // namespace

void add_fs_commands(CommandTree& tree) {
  tree.group("fs", "Objects: list, read, write, copy");
  tree.add<Listing>("fs ls", "List objects", ls);
  tree.add<OneObject>("fs stat", "Show the metadata of an object", stat);
  tree.add<OneObject>("fs cat", "Print the bytes of an object", cat);
  tree.add<OneObject>("fs presign",
                      "Print a presigned URL with which anyone can read an object until it expires",
                      presign);
  tree.add<MetadataOptions>("fs metadata", "Show an object's metadata, or replace it", metadata);
  add_fs_copy_commands(tree);
  add_fs_stage_command(tree);
  add_fs_upload_command(tree);
  add_fs_download_command(tree);
  add_fs_archive_command(tree);
  tree.add<RemoveObject>("fs rm", "Delete objects from a branch; commits keep them", rm);
}

// tarn fs cp | mv

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
  each_object_below(session.client, source, [&](const Json& item) {
    Uri from = source;
    Uri to = ends.destination;
    from.path = item.value("path", "");
    to.path += from.path.substr(source.path.size());
    pool.add(from.path, [&pool, place, from, to](Client& client) {
      pool.moved(0);
      place(client, from, to);
      return Outcome::kDone;
    });
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

// tarn fs archive

namespace {

/// The server's limit of paths, and the limit of the file that lists them.
constexpr size_t kPathsMax = 100'000;
constexpr size_t kListBytesMax = 16 * 1024 * 1024;

struct ArchiveOptions {
  std::string source;
  std::string file = "-";
  std::string format = "tar";
  std::string paths_from;
  std::string missing = "fail";
  bool strict = false;

  void declare(Command& command) {
    command
        .argument("PREFIX", source,
                  "tarn://repository/ref/path, or a path in --branch; everything below it")
        .optional_argument("FILE", file, "output file; default: standard output ('-')")
        .option("--format", format, "tar or zip (tar)")
        .option("--paths-from", paths_from,
                "only the paths that this file lists, one path below PREFIX per line, in its "
                "order; '-' = standard input")
        .option("--missing", missing,
                "with --paths-from, for a path that does not exist: fail, or mark = add an empty "
                "file <path>.missing (fail)")
        .flag("--strict", strict,
              "fail if a name cannot be unpacked safely; by default the object is left out, "
              "_skipped.txt lists it and the exit status is 20");
  }
};

Json read_paths(const std::string& list, const std::string& prefix) {
  const std::string text = read_whole_file(list, kListBytesMax);
  Json paths = Json::array();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) paths.push_back(prefix + text.substr(at, end - at));
    at = end + 1;
  }
  if (paths.empty()) throw usage_error(str_cat("reading ", list, ": it lists no path"));
  if (paths.size() > kPathsMax) {
    throw usage_error(str_cat("reading ", list, ": it lists more than ", kPathsMax,
                              " paths; fetch them in parts"));
  }
  return paths;
}

Request archive_request(const Uri& uri, const ArchiveOptions& options) {
  Request request{
      .path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects", "archive"}),
      .query = {{"format", options.format}}};
  if (options.paths_from.empty()) {
    request.query.emplace_back("prefix", uri.path);
    if (options.strict) request.query.emplace_back("strict", "true");
    return request;
  }
  request.method = Method::kPost;
  return with_body(request, Json{{"paths", read_paths(options.paths_from, uri.path)},
                                 {"missing", options.missing}});
}

ExitCode run_archive(Session& session, const ArchiveOptions& options) {
  const Uri uri = session.prefix(options.source);
  const Request request = archive_request(uri, options);
  const bool to_output = options.file == "-";
  Progress progress(to_string(uri), Unit::kBytes, 0, session.terminal.shows_progress && !to_output);
  FileWriter file(options.file);
  const Answer answer = session.client.download(request, [&](std::string_view piece) {
    file.write(piece);
    progress.add(piece.size());
  });
  progress.wipe();
  if (!answer.ok()) throw error_from(answer);
  file.finish();
  const std::string skipped = answer.header("X-Tarn-Skipped");
  if (!skipped.empty()) {
    session.out.warn(str_cat("tarn: ", skipped,
                             " objects were left out, because their names cannot be unpacked "
                             "safely: the last file of the archive lists them"));
  }
  const ExitCode code = skipped.empty() ? ExitCode::kOk : ExitCode::kPartial;
  if (to_output) return code;
  session.out.object("Archive", {{"file", options.file}, {"size_bytes", file.written_bytes()}},
                     {{"file", options.file}, {"size", size_in_words(file.written_bytes())}});
  return code;
}

}  // namespace

void add_fs_archive_command(CommandTree& tree) {
  tree.add<ArchiveOptions>("fs archive", "Download many objects of one commit as a tar or zip file",
                           run_archive);
}

// tarn fs stage

namespace {

struct StageOptions {
  std::string object;
  std::string location;
  std::string checksum;
  std::string content_type;
  std::vector<std::string> metadata;
  int64_t size = kNotGiven;
  int64_t mtime = kNotGiven;

  void declare(Command& command) {
    command.argument("OBJECT", object, "tarn://repository/branch/path, or a path in --branch")
        .option("--location", location, "address of the bytes: s3://bucket/key")
        .option("--size", size, "in bytes")
        .option("--checksum", checksum, "MD5 in hex, or the ETag that the store gives")
        .option("--content-type", content_type, "(by the extension)")
        .option("--mtime", mtime, "modification time, in seconds since 1970 (now)")
        .option("--meta", metadata, "metadata of the object, key=value; may be repeated");
  }
};

void run_stage(Session& session, const StageOptions& options) {
  const Uri uri = session.object(options.object);
  if (options.location.empty() || options.checksum.empty() || options.size < 0) {
    throw usage_error(str_cat("staging ", to_string(uri),
                              ": --location, --checksum and --size (0 or more) are needed"));
  }
  Json body{{"physical_address", options.location},
            {"checksum", options.checksum},
            {"size_bytes", options.size},
            {"metadata", metadata_from(options.metadata)}};
  if (!options.content_type.empty()) body["content_type"] = options.content_type;
  if (options.mtime != kNotGiven) body["mtime"] = options.mtime;
  Request request =
      put_request(api_path({"repositories", uri.repository, "branches", uri.ref, "objects"}), body);
  request.query = {{"path", uri.path}};
  print_object(session.out, uri, session.client.call(request));
}

}  // namespace

void add_fs_stage_command(CommandTree& tree) {
  tree.add<StageOptions>("fs stage", "Stage an object whose bytes are in the store already",
                         run_stage);
}

}  // namespace tarn::cli

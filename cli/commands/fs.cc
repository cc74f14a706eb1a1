// tarn fs ls | stat | cat | presign | metadata | rm
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/object_record.h"
#include "cli/session.h"
#include "cli/transfer.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// Most paths that one delete request may name.
constexpr size_t kDeleteBatch = 1000;

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

/// Returns the number of failures, with a warning for each.
size_t delete_batch(Session& session, const Uri& uri, const Json& paths) {
  const Json answer =
      session.client.call(post_request(objects_path(uri) + "/delete", Json{{"paths", paths}}));
  const Json errors = answer.value("errors", Json::array());
  for (const Json& error : errors) {
    session.out.warn(str_cat("tarn: deleting \"", error.value("path", ""),
                             "\": ", error.value("message", "failed")));
  }
  return errors.size();
}

ExitCode remove_below(Session& session, const Uri& uri) {
  const Request listing{
      .path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects", "ls"}),
      .query = {{"prefix", uri.path}}};
  Json batch = Json::array();
  size_t deleted = 0;
  size_t failed = 0;
  const auto send = [&] {
    if (batch.empty()) return;
    const size_t errors = delete_batch(session, uri, batch);
    failed += errors;
    deleted += batch.size() - errors;
    batch = Json::array();
  };
  session.client.each(listing, [&](const Json& item) {
    batch.push_back(item.value("path", ""));
    if (batch.size() == kDeleteBatch) send();
    return true;
  });
  send();
  session.out.object("Deletion",
                     {{"deleted", deleted}, {"failed", failed}, {"changed", deleted > 0}},
                     {{"deleted", std::to_string(deleted)}});
  return failed > 0 ? ExitCode::kPartial : ExitCode::kOk;
}

ExitCode rm(Session& session, const RemoveObject& options) {
  if (options.recursive) return remove_below(session, session.prefix(options.object));
  const Uri uri = session.object(options.object);
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

}  // namespace tarn::cli

// tarn fs download
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/fs_transfer.h"
#include "cli/exit_code.h"
#include "cli/local_file.h"
#include "cli/object_record.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;

struct DownloadOptions {
  std::string source;
  std::string local;
  TransferOptions how;

  void declare(Command& command) {
    command.argument("OBJECT", source, "tarn://repository/ref/path, or a path in --branch")
        .optional_argument(
            "LOCAL", local,
            "file, directory, or '-' for standard output; default: the same name here");
    declare_transfer(command, how);
  }
};

void fetch(ThreadPool& pool, const DownloadOptions& options, const Uri& below, const Json& item) {
  const std::string key = item.value("path", "");
  const uint64_t size = item.value("size_bytes", uint64_t{0});
  // A directory marker ("a/", empty) is no file; its directory is created with its files.
  if (key.ends_with('/') && size == 0) return;
  pool.expect(size);
  const TransferOptions& how = options.how;
  const fs::path root = options.local.empty() ? "." : options.local;
  pool.add(key, [&pool, &how, below, key, size, target = path_below(root, below.path, key),
                 checksum = item.value("checksum", "")](Client& client) {
    if (!target)
      throw Error(ErrorCode::kInvalidArgument, "its name is no path below the directory");
    const auto looked = [&](uint64_t) { pool.moved(0); };
    if (!how.all && is_same(*target, size, checksum, how.size_only, looked)) {
      pool.moved(size);
      return Outcome::kSkipped;
    }
    download_file(client, how.way(), {below.repository, below.ref, key}, *target,
                  [&](uint64_t bytes) { pool.moved(bytes); });
    return Outcome::kDone;
  });
}

ExitCode download_tree(Session& session, const DownloadOptions& options) {
  const Uri below = directory_of(session.prefix(options.source));
  ThreadPool pool(session, workers_of(options.how), "downloading");
  session.client.each(
      {.path = api_path({"repositories", below.repository, "refs", below.ref, "objects", "ls"}),
       .query = {{"prefix", below.path}}},
      [&](const Json& item) {
        fetch(pool, options, below, item);
        return true;
      });
  return print_tally(session, "Download", pool.finish());
}

fs::path target_of(const Uri& source, const std::string& local) {
  fs::path target = local;
  if (!target.empty() && (target == "-" || !fs::is_directory(target))) return target;
  const auto named = path_below(target.empty() ? "." : target, "", last_segment(source.path));
  if (named) return *named;
  throw usage_error(str_cat("downloading ", to_string(source), ": LOCAL must name the file"));
}

ExitCode run_download(Session& session, const DownloadOptions& options) {
  if (options.how.recursive) return download_tree(session, options);
  const Uri uri = session.object(options.source);
  const fs::path target = target_of(uri, options.local);
  const bool shown = session.terminal.shows_progress && target != "-";
  const uint64_t size =
      shown ? stat_object(session.client, uri).value("size_bytes", uint64_t{0}) : 0;
  Progress progress(uri.path, Unit::kBytes, size, shown);
  const uint64_t written = download_file(session.client, options.how.way(), uri, target,
                                         [&](uint64_t bytes) { progress.add(bytes); });
  progress.wipe();
  if (target == "-") return ExitCode::kOk;
  session.out.object("Download",
                     {{"path", uri.path}, {"file", target.string()}, {"size_bytes", written}},
                     {{"file", target.string()}, {"size", size_in_words(written)}});
  return ExitCode::kOk;
}

}  // namespace

ExitCode download(Session& session, const std::string& source, const std::string& local,
                  const TransferOptions& options) {
  return run_download(session, {source, local, options});
}

void add_fs_download_command(CommandTree& tree) {
  tree.add<DownloadOptions>("fs download", "Download an object, or everything below a prefix",
                            run_download);
}

}  // namespace tarn::cli

#include "cli/commands/fs_transfer.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/local_file.h"
#include "cli/object_record.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

constexpr int64_t kParallelMax = 64;

}  // namespace

void declare_transfer(Command& command, TransferOptions& options) {
  command
      .flag("-r,--recursive", options.recursive,
            "recursive; objects that exist already with the same size and checksum are skipped")
      .option("-p,--parallel", options.parallel, "with -r: number of parallel transfers (8)")
      .flag("--all", options.all, "with -r: also transfer objects that exist already")
      .flag("--size-only", options.size_only,
            "with -r: skip files of the same size without comparing checksums")
      .flag("--presign", options.presign,
            "transfer bytes directly to and from the object store by presigned URLs");
}

void declare_new_object(Command& command, TransferOptions& options) {
  command.flag("--no-clobber", options.no_clobber, "fail if the object exists")
      .option("--content-type", options.content_type,
              "content type of new objects (by their extensions)")
      .option("--meta", options.metadata, "metadata of new objects, key=value; may be repeated")
      .flag("--follow", options.follow, "with -r: follow symbolic links to directories")
      .flag("--skip-special", options.skip_special,
            "with -r: succeed although links to directories or to nothing, pipes, sockets, devices "
            "and names that are not UTF-8 are left out");
}

size_t workers_of(const TransferOptions& options) {
  if (options.parallel < 1 || options.parallel > kParallelMax)
    throw usage_error(str_cat("--parallel ", options.parallel, ": expected 1 to ", kParallelMax));
  return static_cast<size_t>(options.parallel);
}

ExitCode print_tally(Session& session, std::string_view kind, const Tally& tally) {
  session.out.object(kind,
                     {{"done", tally.done},
                      {"skipped", tally.skipped},
                      {"failed", tally.failed},
                      {"changed", tally.done > 0}},
                     {{"done", std::to_string(tally.done)},
                      {"skipped", std::to_string(tally.skipped)},
                      {"failed", std::to_string(tally.failed)}});
  return tally.failed > 0 ? ExitCode::kPartial : ExitCode::kOk;
}

Uri directory_of(Uri uri) {
  if (!uri.path.empty() && !uri.path.ends_with('/')) uri.path += '/';
  return uri;
}

std::string last_segment(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// tarn fs upload

namespace {

namespace fs = std::filesystem;

struct UploadOptions {
  std::string local;
  std::string target;
  TransferOptions how;

  void declare(Command& command) {
    command.argument("LOCAL", local, "a file, '-' for standard input, or with -r a directory")
        .argument("TARGET", target,
                  "tarn://repository/branch/path; ending in '/': below it, with the same name");
    declare_transfer(command, how);
    declare_new_object(command, how);
  }
};

NewObject new_object(const TransferOptions& options) {
  NewObject facts{options.content_type, {}, options.no_clobber};
  const Json metadata = metadata_from(options.metadata);
  for (const auto& [key, value] : metadata.items()) {
    facts.metadata.emplace_back(key, value.get<std::string>());
  }
  return facts;
}

}  // namespace

namespace {

/// Links to directories that lead to where the iteration is.
class FollowedLinks {
 public:
  /// Whether the iteration may go through the link at `path` without coming back to it.
  bool enter(const fs::path& path, int depth) {
    while (!entered_.empty() && entered_.back().first >= depth) entered_.pop_back();
    std::error_code failed;
    const fs::path target = fs::canonical(path, failed) / "";
    if (failed) return false;
    const fs::path here = fs::canonical(path.parent_path(), failed) / "";
    const auto is_below = [&](const fs::path& place) {
      return place.native().starts_with(target.native());
    };
    if (failed || is_below(here)) return false;
    for (const auto& [at, place] : entered_) {
      if (is_below(place)) return false;
    }
    entered_.emplace_back(depth, here);
    return true;
  }

 private:
  std::vector<std::pair<int, fs::path>> entered_;
};

}  // namespace

LocalTree files_below(Session& session, const std::string& root, bool follow) {
  LocalTree tree;
  FollowedLinks links;
  std::error_code failed;
  fs::path path = root;  // the last one visited, for error messages
  fs::recursive_directory_iterator at(root, fs::directory_options::follow_directory_symlink,
                                      failed);
  const auto leave_out = [&](std::string_view why) {
    session.out.warn(str_cat("tarn: ", printable(path.string()), ": ", why, "; left out"));
    ++tree.left_out;
    at.disable_recursion_pending();
  };
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    path = at->path();
    std::error_code missing;
    const fs::file_status status = fs::status(path, missing);
    if (fs::is_directory(status)) {
      if (!at->is_symlink()) continue;
      if (follow && links.enter(path, at.depth())) continue;
      leave_out(follow ? "a symbolic link to a directory that it is in"
                       : "a symbolic link to a directory; --follow goes through it");
    } else if (status.type() == fs::file_type::not_found && at->is_symlink()) {
      leave_out("a symbolic link to nothing");
    } else if (!fs::is_regular_file(status)) {
      leave_out(missing ? missing.message() : "neither a file nor a directory");
    } else if (!is_utf8(path.lexically_relative(root).native())) {
      leave_out("its name is not UTF-8");
    } else if (!is_partial_download(path)) {
      tree.files.push_back({path.lexically_relative(root).generic_string(), at->file_size(failed)});
    }
    if (failed) break;
  }
  if (failed) {
    throw Error(ErrorCode::kInternal,
                str_cat("reading ", path.string(), ": ", failed.message(), "; nothing was sent"));
  }
  std::sort(tree.files.begin(), tree.files.end(),
            [](const LocalFile& a, const LocalFile& b) { return a.key < b.key; });
  return tree;
}

namespace {

/// Uploads the files of one directory, except those that the branch already has.
class TreeUpload {
 public:
  TreeUpload(Session& session, const UploadOptions& options, Uri below)
      : session_(session),
        how_(options.how),
        root_(options.local),
        below_(std::move(below)),
        facts_(new_object(options.how)),
        local_(files_below(session, options.local, options.how.follow)),
        files_(local_.files),
        pool_(session, workers_of(options.how), "uploading") {}

  Tally run() {
    for (const LocalFile& file : files_) pool_.expect(file.size_bytes);
    try {
      go_over_branch();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound || error.reason() == "repository_not_found") throw;
      throw Error(ErrorCode::kNotFound, "branch_not_found",
                  str_cat("branch '", below_.ref, "' not found: nothing was sent"));
    }
    while (next_ < files_.size()) send(files_[next_++], nullptr);
    Tally tally = pool_.finish();
    (how_.skip_special ? tally.skipped : tally.failed) += local_.left_out;
    return tally;
  }

 private:
  /// Compares with the branch and sends the missing files. Also reports a missing branch once
  /// instead of for every file.
  void go_over_branch() {
    session_.client.each(
        {.path = api_path({"repositories", below_.repository, "refs", below_.ref, "objects", "ls"}),
         .query = {{"prefix", below_.path}}},
        [&](const Json& item) { return meet(item); });
  }

  /// Both lists have the same order: sends the files before `item`, and the file with its name if
  /// needed.
  bool meet(const Json& item) {
    if (how_.all) return false;
    const std::string path = item.value("path", "");
    const std::string_view key = std::string_view(path).substr(below_.path.size());
    while (next_ < files_.size() && files_[next_].key < key) send(files_[next_++], nullptr);
    if (next_ < files_.size() && files_[next_].key == key) send(files_[next_++], item);
    return next_ < files_.size();
  }

  void send(const LocalFile& file, const Json& there) {
    const fs::path local = root_ / file.key;
    Uri target = below_;
    target.path += file.key;
    pool_.add(local.string(), [this, &file, local, target, there](Client& client) {
      if (!there.is_null() && is_there(local, there)) {
        pool_.moved(file.size_bytes);
        return Outcome::kSkipped;
      }
      upload_file(client, how_.way(), local.string(), target, facts_,
                  [this](uint64_t bytes) { pool_.moved(bytes); });
      return Outcome::kDone;
    });
  }

  /// Whether an upload would not change the object.
  bool is_there(const fs::path& local, const Json& object) {
    if (!facts_.content_type.empty() && facts_.content_type != kUnknownType &&
        object.value("content_type", "") != facts_.content_type)
      return false;
    const Json metadata = object.value("metadata", Json::object());
    for (const auto& [key, value] : facts_.metadata) {
      // Keys that were sent as header names have become lower case.
      if (metadata.value(key, metadata.value(lower(key), "")) != value) return false;
    }
    return is_same(local, object.value("size_bytes", uint64_t{0}), object.value("checksum", ""),
                   how_.size_only, [this](uint64_t) { pool_.moved(0); });
  }

  Session& session_;
  const TransferOptions& how_;
  const fs::path root_;
  const Uri below_;
  const NewObject facts_;
  const LocalTree local_;
  const std::vector<LocalFile>& files_;
  size_t next_ = 0;
  ThreadPool pool_;  ///< last: its jobs use all of the above
};

ExitCode upload_one(Session& session, const UploadOptions& options) {
  Uri uri = session.prefix(options.target);
  const bool named = !uri.path.empty() && !uri.path.ends_with('/');
  if (!named && options.local == "-")
    throw usage_error("uploading standard input: TARGET must name the object");
  if (!named) uri.path += last_segment(options.local);
  std::error_code unknown;
  const uint64_t size = fs::file_size(options.local, unknown);
  Progress progress(uri.path, Unit::kBytes, unknown ? 0 : size, session.terminal.shows_progress);
  const Json stats =
      upload_file(session.client, options.how.way(), options.local, uri, new_object(options.how),
                  [&](uint64_t bytes) { progress.add(bytes); });
  progress.wipe();
  print_object(session.out, uri, stats);
  return ExitCode::kOk;
}

ExitCode run_upload(Session& session, const UploadOptions& options) {
  if (!options.how.recursive) return upload_one(session, options);
  if (!fs::is_directory(options.local)) {
    throw Error(ErrorCode::kNotFound, str_cat("uploading ", options.local, ": not a directory"));
  }
  const Uri below = directory_of(session.prefix(options.target));
  return print_tally(session, "Upload", TreeUpload(session, options, below).run());
}

}  // namespace

ExitCode upload(Session& session, const std::string& local, const std::string& target,
                const TransferOptions& options) {
  return run_upload(session, {local, target, options});
}

void add_fs_upload_command(CommandTree& tree) {
  tree.add<UploadOptions>("fs upload", "Upload a local file or directory to a branch", run_upload);
}

// tarn fs download

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
  each_object_below(session.client, below,
                    [&](const Json& item) { fetch(pool, options, below, item); });
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

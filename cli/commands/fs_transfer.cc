#include "cli/commands/fs_transfer.h"

#include <algorithm>
#include <filesystem>
#include <set>
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
/// Most paths that one delete request may name.
constexpr size_t kDeleteBatch = 1000;
/// Most paths that a question names.
constexpr size_t kNamedMax = 3;

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

void declare_removal(Command& command, TransferOptions& options) {
  command
      .flag("--delete", options.remove,
            "with -r: afterwards, delete what the destination has and the source has not")
      .flag("-y,--yes", options.yes, "do not ask before --delete");
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

ExitCode print_tally(Session& session, std::string_view kind, const Tally& tally,
                     std::optional<uint64_t> deleted) {
  Json members{{"done", tally.done},
               {"skipped", tally.skipped},
               {"failed", tally.failed},
               {"changed", tally.done > 0 || deleted.value_or(0) > 0}};
  Pairs lines{{"done", std::to_string(tally.done)},
              {"skipped", std::to_string(tally.skipped)},
              {"failed", std::to_string(tally.failed)}};
  if (deleted) {
    members["deleted"] = *deleted;
    lines.emplace_back("deleted", std::to_string(*deleted));
  }
  session.out.object(kind, std::move(members), lines);
  return tally.failed > 0 ? ExitCode::kPartial : ExitCode::kOk;
}

void ObjectDeletion::add(std::string path) {
  batch_.push_back(std::move(path));
  if (batch_.size() == kDeleteBatch) finish();
}

void ObjectDeletion::finish() {
  if (batch_.empty()) return;
  size_t errors = batch_.size();
  try {
    errors = failures_of_batch();
  } catch (const Error& error) {
    // The server refuses a batch as a whole if none of its paths may be deleted.
    if (error.code() != ErrorCode::kPermissionDenied || deleted_ + failed_ == 0) throw;
    session_.out.warn(str_cat("tarn: deleting ", errors, " objects: ", error.message()));
  }
  failed_ += errors;
  deleted_ += batch_.size() - errors;
  batch_.clear();
}

size_t ObjectDeletion::failures_of_batch() {
  const Json answer = session_.client.call(post_request(
      api_path({"repositories", branch_.repository, "branches", branch_.ref, "objects", "delete"}),
      Json{{"paths", batch_}}));
  const Json errors = answer.value("errors", Json::array());
  for (const Json& error : errors) {
    session_.out.warn(str_cat("tarn: deleting \"", error.value("path", ""),
                              "\": ", error.value("message", "failed")));
  }
  return errors.size();
}

namespace {

/// Refuses before anything is sent what could not be asked afterwards.
void check_removal(const Session& session, const TransferOptions& how) {
  if (!how.remove) return;
  if (!how.recursive) throw usage_error("--delete: needs -r");
  if (!how.yes && !session.terminal.may_prompt)
    throw usage_error("--delete: nobody to ask here; add --yes to delete without asking");
}

/// Whether to delete `paths`, of which the source has none. A source of which not all arrived may
/// have them.
bool agreed_to_remove(Session& session, const TransferOptions& how, const Tally& tally,
                      const std::vector<std::string>& paths, std::string_view where) {
  if (paths.empty()) return false;
  if (tally.failed > 0) {
    session.out.warn(str_cat("tarn: nothing was deleted, since ", tally.failed,
                             " transfers failed; repeat the command"));
    return false;
  }
  std::string named;
  for (size_t i = 0; i < std::min(paths.size(), kNamedMax); ++i)
    named += str_cat("  ", paths[i], "\n");
  session.confirm(str_cat(named, "Delete ", paths.size() > kNamedMax ? "these and others, " : "",
                          paths.size(), " in all, below ", where, "?"),
                  how.yes);
  return true;
}

}  // namespace

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
    declare_removal(command, how);
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

  /// Objects of the branch that no file stands for; with --delete.
  const std::vector<std::string>& left_over() const { return left_over_; }

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
    if (how_.all && !how_.remove) return false;
    const std::string path = item.value("path", "");
    const std::string_view key = std::string_view(path).substr(below_.path.size());
    while (next_ < files_.size() && files_[next_].key < key) send(files_[next_++], nullptr);
    if (next_ < files_.size() && files_[next_].key == key) {
      send(files_[next_++], how_.all ? Json() : item);
    } else if (how_.remove) {
      left_over_.push_back(path);
    }
    return how_.remove || next_ < files_.size();
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
  std::vector<std::string> left_over_;
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
  check_removal(session, options.how);
  if (!options.how.recursive) return upload_one(session, options);
  if (!fs::is_directory(options.local)) {
    throw Error(ErrorCode::kNotFound, str_cat("uploading ", options.local, ": not a directory"));
  }
  const Uri below = directory_of(session.prefix(options.target));
  TreeUpload files(session, options, below);
  Tally tally = files.run();
  if (!options.how.remove) return print_tally(session, "Upload", tally);
  ObjectDeletion deletion(session, below);
  if (agreed_to_remove(session, options.how, tally, files.left_over(), to_string(below))) {
    for (const std::string& path : files.left_over()) deletion.add(path);
    deletion.finish();
    tally.failed += deletion.failed();
  }
  return print_tally(session, "Upload", tally, deletion.deleted());
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
    declare_removal(command, how);
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

/// Removes the files of the directory that are none of `keys`, and returns how many.
uint64_t remove_files(Session& session, const DownloadOptions& options, const Tally& tally,
                      const std::set<std::string>& keys) {
  const fs::path root = options.local.empty() ? "." : options.local;
  std::vector<std::string> left_over;
  for (const LocalFile& file : files_below(session, root.string()).files) {
    if (!keys.contains(file.key)) left_over.push_back(file.key);
  }
  if (!agreed_to_remove(session, options.how, tally, left_over, root.string())) return 0;
  for (const std::string& key : left_over) fs::remove(root / key);
  return left_over.size();
}

ExitCode download_tree(Session& session, const DownloadOptions& options) {
  const Uri below = directory_of(session.prefix(options.source));
  ThreadPool pool(session, workers_of(options.how), "downloading");
  std::set<std::string> keys;
  each_object_below(session.client, below, [&](const Json& item) {
    if (options.how.remove) keys.insert(item.value("path", "").substr(below.path.size()));
    fetch(pool, options, below, item);
  });
  Tally tally = pool.finish();
  if (!options.how.remove) return print_tally(session, "Download", tally);
  return print_tally(session, "Download", tally, remove_files(session, options, tally, keys));
}

fs::path target_of(const Uri& source, const std::string& local) {
  fs::path target = local;
  if (!target.empty() && (target == "-" || !fs::is_directory(target))) return target;
  const auto named = path_below(target.empty() ? "." : target, "", last_segment(source.path));
  if (named) return *named;
  throw usage_error(str_cat("downloading ", to_string(source), ": LOCAL must name the file"));
}

ExitCode run_download(Session& session, const DownloadOptions& options) {
  check_removal(session, options.how);
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

// tarn fs upload | download
#include <algorithm>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/object_record.h"
#include "cli/local_file.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kDefaultType = "application/octet-stream";
constexpr size_t kMd5HexLength = 32;

bool is_md5(std::string_view text) {
  return text.size() == kMd5HexLength &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Parts and foreign stores have checksums of other kinds; those say nothing about the bytes alone.
void check_md5(std::string_view what, const std::string& expected, const std::string& actual) {
  if (!is_md5(expected) || expected == actual) return;
  throw Error(ErrorCode::kDataLoss,
              str_cat(what, ": the bytes have checksum ", actual, ", the server says ", expected));
}

struct UploadOptions {
  std::string local;
  std::string target;
  std::string content_type{kDefaultType};
  std::vector<std::string> metadata;
  bool recursive = false;
  bool no_clobber = false;
};

void declare_upload(Command& command, UploadOptions& options) {
  command.argument("LOCAL", options.local, "a file, '-' for standard input, or with -r a directory")
      .argument("TARGET", options.target,
                "tarn://repository/branch/path; ending in '/': below it, with the same name")
      .flag("-r,--recursive", options.recursive, "every file below the directory")
      .flag("--no-clobber", options.no_clobber, "fail when the object exists")
      .option("--content-type", options.content_type, "of the objects (application/octet-stream)")
      .option("--meta", options.metadata, "key=value to keep with the object; again for more");
}

Request upload_request(const Uri& uri, const UploadOptions& options) {
  Request request{
      .method = Method::kPost,
      .path = api_path({"repositories", uri.repository, "branches", uri.ref, "objects"}),
      .query = {{"path", uri.path}}};
  const Json metadata = metadata_from(options.metadata);
  for (const auto& [key, value] : metadata.items()) {
    request.headers.emplace_back(str_cat("X-Lakefs-Meta-", key), value.get<std::string>());
  }
  if (options.no_clobber) request.headers.emplace_back("If-None-Match", "*");
  return request;
}

Json upload_file(Session& session, const std::string& local, const Uri& uri,
                 const UploadOptions& options) {
  FileReader file(local);
  const auto size = static_cast<uint64_t>(std::max<int64_t>(file.size_bytes(), 0));
  Progress progress(uri.path, Unit::kBytes, size, session.terminal.shows_progress);
  const auto open = [&]() -> BodySource {
    if (file.size_bytes() >= 0) file.rewind();
    return [&] {
      const std::string_view piece = file.next();
      progress.add(piece.size());
      return piece;
    };
  };
  const Answer answer = session.client.upload({.request = upload_request(uri, options),
                                               .content_type = options.content_type,
                                               .size_bytes = file.size_bytes(),
                                               .open = open});
  if (!answer.ok()) throw error_from(answer);
  Json stats = Json::parse(answer.body);
  check_md5(str_cat("uploading ", local), stats.value("checksum", ""), file.md5());
  return stats;
}

std::string last_segment(const std::string& path) { return path.substr(path.rfind('/') + 1); }

ExitCode print_counts(Session& session, std::string_view kind, size_t done, size_t failed) {
  session.out.object(kind, {{"done", done}, {"failed", failed}, {"changed", done > 0}},
                     {{"done", std::to_string(done)}, {"failed", std::to_string(failed)}});
  return failed > 0 ? ExitCode::kPartial : ExitCode::kOk;
}

/// Regular files below `root` in byte order of their paths.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Failures that would meet every further file too.
bool is_hopeless(const Error& error) {
  const ExitCode code = exit_code_of(error);
  return code == ExitCode::kAuth || code == ExitCode::kUnavailable || code == ExitCode::kUsage;
}

ExitCode upload_tree(Session& session, const UploadOptions& options) {
  if (!std::filesystem::is_directory(options.local)) {
    throw Error(ErrorCode::kNotFound, str_cat("uploading ", options.local, ": not a directory"));
  }
  Uri below = session.prefix(options.target);
  if (!below.path.empty() && !below.path.ends_with('/')) below.path += '/';
  size_t done = 0;
  size_t failed = 0;
  for (const std::filesystem::path& file : files_below(options.local)) {
    Uri uri = below;
    uri.path += file.lexically_relative(options.local).generic_string();
    try {
      upload_file(session, file.string(), uri, options);
      ++done;
    } catch (const Error& error) {
      if (is_hopeless(error)) throw;
      session.out.warn(str_cat("tarn: ", file.string(), ": ", error.message()));
      ++failed;
    }
  }
  return print_counts(session, "Upload", done, failed);
}

ExitCode upload(Session& session, const UploadOptions& options) {
  if (options.recursive) return upload_tree(session, options);
  Uri uri = session.prefix(options.target);
  const bool named = !uri.path.empty() && !uri.path.ends_with('/');
  if (!named && options.local == "-")
    throw usage_error("uploading standard input: TARGET must name the object");
  if (!named) uri.path += last_segment(options.local);
  print_object(session.out, uri, upload_file(session, options.local, uri, options));
  return ExitCode::kOk;
}

struct DownloadOptions {
  std::string source;
  std::string local;
  bool recursive = false;
};

void declare_download(Command& command, DownloadOptions& options) {
  command.argument("SOURCE", options.source, "tarn://repository/ref/path, or a path in --branch")
      .optional_argument("LOCAL", options.local,
                         "file, directory, or '-' for standard output; default: the same name here")
      .flag("-r,--recursive", options.recursive,
            "everything below the prefix, into the directory LOCAL");
}

std::string unquoted(std::string etag) {
  std::erase(etag, '"');
  return etag;
}

uint64_t download_file(Session& session, const Uri& uri, const std::filesystem::path& target,
                       uint64_t size) {
  FileWriter file(target);
  Progress progress(uri.path, Unit::kBytes, size, session.terminal.shows_progress && target != "-");
  const Answer answer = session.client.download(read_request(uri), [&](std::string_view piece) {
    file.write(piece);
    progress.add(piece.size());
  });
  if (!answer.ok()) throw error_from(answer);
  check_md5(str_cat("downloading ", to_string(uri)), unquoted(answer.header("ETag")), file.md5());
  file.finish();
  return file.written_bytes();
}

ExitCode download_tree(Session& session, const DownloadOptions& options) {
  const Uri below = session.prefix(options.source);
  const std::string prefix =
      below.path.empty() || below.path.ends_with('/') ? below.path : below.path + '/';
  const std::filesystem::path root = options.local.empty() ? "." : options.local;
  size_t done = 0;
  size_t failed = 0;
  const Request listing{
      .path = api_path({"repositories", below.repository, "refs", below.ref, "objects", "ls"}),
      .query = {{"prefix", prefix}}};
  session.client.each(listing, [&](const Json& item) {
    const std::string key = item.value("path", "");
    const uint64_t size = item.value("size_bytes", uint64_t{0});
    // A directory marker ("a/", empty) is no file; its directory comes with what is in it.
    if (key.ends_with('/') && size == 0) return true;
    try {
      const auto target = path_below(root, prefix, key);
      if (!target)
        throw Error(ErrorCode::kInvalidArgument, "its name is no path below the directory");
      download_file(session, {below.repository, below.ref, key}, *target, size);
      ++done;
    } catch (const Error& error) {
      if (is_hopeless(error)) throw;
      session.out.warn(str_cat("tarn: ", printable(key), ": ", error.message()));
      ++failed;
    }
    return true;
  });
  return print_counts(session, "Download", done, failed);
}

ExitCode download(Session& session, const DownloadOptions& options) {
  if (options.recursive) return download_tree(session, options);
  const Uri uri = session.object(options.source);
  std::filesystem::path target = options.local;
  if (target.empty() || (target != "-" && std::filesystem::is_directory(target))) {
    const auto named = path_below(target.empty() ? "." : target, "", last_segment(uri.path));
    if (!named)
      throw usage_error(str_cat("downloading ", to_string(uri), ": LOCAL must name the file"));
    target = *named;
  }
  const uint64_t size = session.terminal.shows_progress && target != "-"
                            ? stat_object(session.client, uri).value("size_bytes", uint64_t{0})
                            : 0;
  const uint64_t written = download_file(session, uri, target, size);
  if (target == "-") return ExitCode::kOk;
  session.out.object("Download",
                     {{"path", uri.path}, {"file", target.string()}, {"size_bytes", written}},
                     {{"file", target.string()}, {"size", size_in_words(written)}});
  return ExitCode::kOk;
}

}  // namespace

void add_fs_transfer_commands(CommandTree& tree) {
  tree.add<UploadOptions>("fs upload", "Write a local file, or a directory, to a branch",
                          declare_upload, upload);
  tree.add<DownloadOptions>("fs download", "Fetch an object, or everything below a prefix",
                            declare_download, download);
}

}  // namespace tarn::cli

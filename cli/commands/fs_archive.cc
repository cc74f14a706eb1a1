// tarn fs archive
#include <string>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/fs_transfer.h"
#include "cli/exit_code.h"
#include "cli/local_file.h"
#include "cli/object_record.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
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
                "file <path>.missing (fail)");
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
    return request;
  }
  request.method = Method::kPost;
  return with_body(request, Json{{"paths", read_paths(options.paths_from, uri.path)},
                                 {"missing", options.missing}});
}

void run_archive(Session& session, const ArchiveOptions& options) {
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
  if (to_output) return;
  session.out.object("Archive", {{"file", options.file}, {"size_bytes", file.written_bytes()}},
                     {{"file", options.file}, {"size", size_in_words(file.written_bytes())}});
}

}  // namespace

void add_fs_archive_command(CommandTree& tree) {
  tree.add<ArchiveOptions>("fs archive", "Download many objects of one commit as a tar or zip file",
                           run_archive);
}

}  // namespace tarn::cli

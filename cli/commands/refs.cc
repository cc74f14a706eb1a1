// tarn refs dump | restore
#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "cli/local_file.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPoll{100};
constexpr milliseconds kSlowestPoll{2000};
/// The ids of a dump are short; a longer file is another one.
constexpr size_t kDumpBytesMax = 64 << 10;
constexpr const char* kIds[] = {"commits_meta_range_id", "tags_meta_range_id",
                                "branches_meta_range_id"};

struct Dump {
  std::string repository;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

struct RestoreRefs {
  std::string file;
  std::string repository;
  bool force = false;

  void declare(Command& command) {
    command.argument("FILE", file, "the output of `tarn refs dump -o json`; '-' = standard input")
        .optional_argument("REPOSITORY", repository,
                           "a bare repository, tarn://NAME or NAME; default --repo")
        .flag("--force", force, "restore even into a read-only repository");
  }
};

/// Starts a task and waits for its end. Throws interrupted; the task continues.
Json run_task(Session& session, const Request& request) {
  const std::string& path = request.path;
  const Json started = session.client.call(request);
  const std::string id = started.at("id").get<std::string>();
  const InterruptWatch watch;
  for (milliseconds pause = kFirstPoll;; pause = std::min(pause * 2, kSlowestPoll)) {
    Json status = session.client.call({.path = path, .query = {{"task_id", id}}});
    const std::string error = status.value("error", "");
    if (!error.empty()) throw Error(ErrorCode::kInternal, str_cat("task ", id, ": ", error));
    if (status.value("done", false)) return status;
    if (watch.sleep(pause)) {
      throw Error(ErrorCode::kUnavailable, kReasonInterrupted,
                  str_cat("waiting for task ", id, ": interrupted; it goes on at the server"));
    }
  }
}

void dump(Session& session, const Dump& options) {
  const Uri uri = session.repository(options.repository);
  const Json refs =
      run_task(session, post_request(api_path({"repositories", uri.repository, "dump"})))
          .at("refs");
  std::vector<std::pair<std::string, std::string>> lines;
  for (const char* id : kIds) lines.emplace_back(id, refs.value(id, ""));
  session.out.object("RefsDump", refs, lines);
}

Json read_dump(const std::string& file) {
  const Json given = parse_json(read_whole_file(file, kDumpBytesMax));
  Json refs = Json::object();
  for (const char* id : kIds) {
    if (!given.is_object() || !given.contains(id) || !given[id].is_string()) {
      throw usage_error(str_cat("reading dump ", file, ": no ", id,
                                " in it; `tarn refs dump -o json` makes such a file"));
    }
    refs[id] = given[id];
  }
  return refs;
}

void restore_refs(Session& session, const RestoreRefs& options) {
  const Uri uri = session.repository(options.repository);
  Json body = read_dump(options.file);
  if (options.force) body["force"] = true;
  run_task(session, post_request(api_path({"repositories", uri.repository, "restore"}), body));
  session.out.object("RefsRestore", {{"repository", uri.repository}, {"changed", true}},
                     {{"restored", to_string(uri)}});
}

}  // namespace

void add_refs_commands(CommandTree& tree) {
  tree.group("refs", "Dump and restore all branches, tags and commits");
  tree.add<Dump>("refs dump", "Dump all branches, tags and commits, and print the ids of the dump",
                 dump);
  tree.add<RestoreRefs>("refs restore",
                        "Bring the branches, tags and history of a dump into a bare repository",
                        restore_refs);
}

}  // namespace tarn::cli

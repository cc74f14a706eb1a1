// tarn import | import-verify
#include <chrono>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/fs_transfer.h"
#include "cli/duration.h"
#include "cli/json_text.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/model/names.h"

namespace tarn::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPoll{100};
constexpr milliseconds kSlowestPoll{2000};
/// Paths that are added, changed and removed that a preview shows, of each.
constexpr size_t kPathsShown = 10;

struct ImportOptions {
  std::string source;
  std::string target;
  std::string message;
  std::string timeout;
  std::string resume;
  std::vector<std::string> metadata;
  bool single = false;
  bool no_wait = false;
  bool cancel = false;
  bool if_changed = false;
  std::string key;
  bool yes = false;
  bool dry_run = false;
  int64_t parallel = 8;

  void declare(Command& command) {
    command
        .optional_argument(
            "STORAGE", source,
            "the source: s3://bucket/prefix, local:///directory of the server, or a directory "
            "of this machine (./data), which is uploaded")
        .optional_argument("TARGET", target, "tarn://repository/branch/path, or a path in --branch")
        .option("-m,--message", message, "message of the commit")
        .option("--meta", metadata, "metadata of the commit, key=value; may be repeated")
        .flag("--object", single, "the source is one object, not a prefix")
        .flag("--no-wait", no_wait, "do not wait; print the id of the import")
        .option("--timeout", timeout, "stop waiting after 90s, 30m or 2h; the import continues")
        .flag("--if-changed", if_changed,
              "make no commit if the branch has the same objects already")
        .option("--idempotency-key", key,
                "a retry with the same key waits for the first import and starts no second one")
        .option("--resume", resume, "wait for the import with this id instead of starting one")
        .flag("-y,--yes,--replace", yes,
              "do not ask for confirmation: before objects below the target are removed that the "
              "source lacks, and before a directory of this machine is uploaded")
        .flag("--dry-run", dry_run, "only list what would be added, changed and removed")
        .option("-p,--parallel", parallel,
                "of a directory of this machine: number of parallel uploads (8)")
        .flag("--cancel-on-interrupt", cancel,
              "^C and SIGTERM cancel the import; by default they only stop waiting");
  }
};

std::string import_path(const Uri& target) {
  return api_path({"repositories", target.repository, "branches", target.ref, "import"});
}

Json import_body(const Uri& target, const ImportOptions& options) {
  const Json source{{"type", options.single ? "object" : "common_prefix"},
                    {"path", options.source},
                    {"destination", target.path}};
  Json body{
      {"paths", Json::array({source})},
      {"commit", {{"message", options.message}, {"metadata", metadata_from(options.metadata)}}}};
  if (options.if_changed) body["if_changed"] = true;
  return body;
}

/// A number that is absent when the server did not count it.
std::string counted(const Json& preview, const char* name) {
  return preview.contains(name) ? json_text(preview[name]) : "unknown";
}

Request preview_request(const Uri& target, const Json& body) {
  Request request = post_request(import_path(target) + "/preview", body);
  request.query.emplace_back("amount", std::to_string(kPathsShown));
  return request;
}

/// "3", or "3: a, b and more".
std::string counted_paths(const Json& preview, const std::string& name) {
  const std::string number = counted(preview, name.c_str());
  const auto paths = preview.value(name + "_paths", std::vector<std::string>{});
  if (paths.empty()) return number;
  const bool more = preview.value(name, uint64_t{0}) > paths.size();
  return str_cat(number, ": ", joined(paths, ", "), more ? " and more" : "");
}

/// Makes the import one of a single object where the source is the name of one. A source that
/// matches names beside a directory must say which it means. Errors of the preview are those of the
/// import, which follows.
void settle_source(Session& session, Uri& target, ImportOptions& options) {
  if (!target.path.empty() && !is_plain_path(target.path)) {
    throw usage_error(str_cat("importing to ", to_string(target),
                              ": the path may have no empty segment, \".\", \"..\" and backslash; "
                              "write DIRECTORY/ or DIRECTORY/NAME"));
  }
  if (!options.single && !options.source.ends_with('/')) {
    const Answer answer = session.client.ask(preview_request(target, import_body(target, options)));
    const Json preview = answer.ok() ? json_of(answer) : Json::object();
    options.single = preview.value("names_object", false);
    const std::string other = preview.value("also_matches", "");
    if (!options.single && !other.empty()) {
      throw usage_error(str_cat("importing ", options.source, ": it matches ", other,
                                " too; write ", options.source,
                                "/ for the directory, or --object for one object"));
    }
  }
  if (options.single && (target.path.empty() || target.path.ends_with('/'))) {
    target.path += last_segment(options.source);
  }
}

void print_preview(Session& session, const Uri& target, const Json& body) {
  const Json preview = session.client.call(preview_request(target, body));
  session.out.object("ImportPreview", preview,
                     {{"at destination", counted(preview, "at_destination")},
                      {"added", counted_paths(preview, "added")},
                      {"changed", counted_paths(preview, "changed")},
                      {"removed", counted_paths(preview, "removed")}});
}

/// Asks before objects are removed. Errors are those of the import, which follows.
void confirm_removal(Session& session, const Uri& target, const Json& body,
                     const ImportOptions& options) {
  if (options.yes) return;
  const Answer answer = session.client.ask(preview_request(target, body));
  if (!answer.ok()) return;
  const Json preview = json_of(answer);
  const int64_t there = preview.value("at_destination", int64_t{0});
  if (there == 0 || preview.value("removed", there) == 0) return;
  session.confirm(
      preview.contains("removed")
          ? str_cat("This import removes ", json_text(preview["removed"]), " of the ", there,
                    " objects at ", to_string(target), " (",
                    joined(preview.value("removed_paths", std::vector<std::string>{}), ", "),
                    preview.value("removed", uint64_t{0}) > kPathsShown ? " and more" : "",
                    ") and replaces ", counted(preview, "changed"), " of them. Go on?")
          : str_cat("This import replaces the ", there, " objects at ", to_string(target),
                    " and removes those that the source lacks. Go on?"),
      false);
}

std::string start_import(Session& session, const Uri& target, const ImportOptions& options) {
  const Json body = import_body(target, options);
  confirm_removal(session, target, body, options);
  Request request = post_request(import_path(target), body);
  if (!options.key.empty()) request.headers.emplace_back("Idempotency-Key", options.key);
  const Json answer = session.client.call(request);
  return answer.at("id").get<std::string>();
}

std::string how_to_resume(const Uri& target, const std::string& id) {
  return str_cat("tarn import --resume ", id, ' ', to_string({target.repository, target.ref, ""}));
}

Error gave_up(std::string_view reason, std::string_view why, const Uri& target,
              const std::string& id) {
  return Error(ErrorCode::kUnavailable, reason,
               str_cat("waiting for import ", id, ": ", why,
                       "; it goes on at the server, to wait again: ", how_to_resume(target, id)));
}

Error interrupted(Session& session, const Uri& target, const std::string& id, bool cancel) {
  if (!cancel) return gave_up(kReasonInterrupted, "interrupted", target, id);
  session.client.ask(
      {.method = Method::kDelete, .path = import_path(target), .query = {{"id", id}}});
  return Error(ErrorCode::kUnavailable, kReasonInterrupted,
               str_cat("import ", id, ": interrupted and cancelled"));
}

bool has_failed(const Json& status) {
  return status.contains("error") && !status["error"].is_null();
}

/// Waits for the terminal state. Throws timeout or interrupted, naming the id.
Json wait_for(Session& session, const Uri& target, const std::string& id,
              const ImportOptions& options) {
  using Time = std::chrono::steady_clock::time_point;
  std::optional<Time> deadline;
  if (!options.timeout.empty())
    deadline = std::chrono::steady_clock::now() + parse_duration(options.timeout);
  const InterruptWatch watch;
  Progress progress(str_cat("importing to ", to_string(target)), Unit::kObjects, 0,
                    session.terminal.shows_progress);
  for (milliseconds pause = kFirstPoll;; pause = std::min(pause * 2, kSlowestPoll)) {
    Json status = session.client.call({.path = import_path(target), .query = {{"id", id}}});
    if (status.value("completed", false) || has_failed(status)) return status;
    progress.set(status.value("ingested_objects", uint64_t{0}));
    if (watch.sleep(pause)) throw interrupted(session, target, id, options.cancel);
    if (deadline && std::chrono::steady_clock::now() >= *deadline) {
      throw gave_up(kReasonTimeout, "not done in time", target, id);
    }
  }
}

void print_status(Output& out, const std::string& id, Json status) {
  if (has_failed(status)) {
    const std::string message = status["error"].value("message", "failed");
    const std::string text = str_cat("import ", id, ": ", message);
    // The reason brings the advice which sources there are.
    if (message.find("storage address") != std::string::npos) {
      throw Error(ErrorCode::kInternal, reason::kForbiddenPath, text);
    }
    throw Error(ErrorCode::kInternal, text);
  }
  const std::string commit = status.value("/commit/id"_json_pointer, "");
  const std::string objects = std::to_string(status.value("ingested_objects", int64_t{0}));
  const auto number = [&status](const char* name) {
    return std::to_string(status.value(name, int64_t{0}));
  };
  const Cells counts{number("added"), number("replaced"), number("removed")};
  status["id"] = id;
  const bool changed = status.value("changed", true);
  status["changed"] = changed;
  if (!changed) out.remark("the branch has these objects already");
  out.object("Import", std::move(status),
             {{"commit", commit},
              {"objects", objects},
              {"added", counts[0]},
              {"changed", counts[1]},
              {"removed", counts[2]},
              {"import", id}});
}

/// Whether the source is a path of this machine instead of an address of the server's.
bool is_local_path(const std::string& source) { return source.find("://") == std::string::npos; }

/// Only the server reads by reference, and it does not see the disk of this machine.
ExitCode upload_instead(Session& session, const ImportOptions& options) {
  namespace fs = std::filesystem;
  if (!fs::exists(options.source)) {
    throw Error(ErrorCode::kNotFound,
                str_cat("importing ", options.source,
                        ": there is no such file or directory here; of the server it is written "
                        "local:///DIRECTORY or s3://BUCKET/PREFIX"));
  }
  const Uri target = session.prefix(options.target);
  session.confirm(
      str_cat(options.source, " is on this machine, where the server cannot read it by ",
              "reference. Upload it to ", to_string(target), "?"),
      options.yes);
  TransferOptions how;
  how.recursive = fs::is_directory(options.source);
  how.parallel = options.parallel;
  const ExitCode code = upload(session, options.source, to_string(target), how);
  if (options.message.empty() || code != ExitCode::kOk) {
    session.out.remark(
        str_cat("not committed: tarn commit ", to_string({target.repository, target.ref, ""}),
                " -m MESSAGE; after an interruption the same command sends the rest"));
    return code;
  }
  const Answer answer = session.client.ask(post_request(
      api_path({"repositories", target.repository, "branches", target.ref, "commits"}),
      Json{{"message", options.message}, {"metadata", metadata_from(options.metadata)}}));
  if (says_no_changes(answer)) {
    print_no_changes(session.out, "Commit", "the branch has these objects already");
    return code;
  }
  print_commit(session.out, "Commit", json_of(answer));
  return code;
}

ExitCode run_import(Session& session, const ImportOptions& given) {
  ImportOptions options = given;
  const bool resumes = !options.resume.empty();
  if (options.source.empty() && !resumes) throw usage_error("importing: STORAGE is needed");
  if (resumes && !options.target.empty())
    throw usage_error("importing: --resume takes only TARGET");
  if (!options.timeout.empty()) parse_duration(options.timeout);
  if (!resumes && is_local_path(options.source)) return upload_instead(session, options);
  Uri target = session.prefix(resumes ? options.source : options.target);
  if (!resumes) settle_source(session, target, options);
  if (options.dry_run && !resumes) {
    print_preview(session, target, import_body(target, options));
    return ExitCode::kOk;
  }
  const std::string id = resumes ? options.resume : start_import(session, target, options);
  if (options.no_wait) {
    session.out.object("Import", {{"id", id}, {"completed", false}}, {{"import", id}});
    return ExitCode::kOk;
  }
  print_status(session.out, id, wait_for(session, target, id, options));
  return ExitCode::kOk;
}

struct Verify {
  std::string prefix;

  void declare(Command& command) {
    command.optional_argument("PREFIX", prefix,
                              "tarn://repository/ref/path, or a path in --branch");
  }
};

ExitCode verify(Session& session, const Verify& options) {
  const Uri uri = session.prefix_or_default(options.prefix);
  ListWriter rows = session.out.list("ImportProblemList", {"path", "problem", "stored at"});
  bool fine = true;
  session.client.each(
      {.path = api_path({"repositories", uri.repository, "refs", uri.ref, "import", "verify"}),
       .query = {{"prefix", uri.path}}},
      [&](const Json& item) {
        fine = false;
        rows.add(item, {item.value("path", ""), item.value("problem", ""),
                        item.value("physical_address", "")});
        return true;
      });
  rows.finish();
  if (fine) session.out.remark("every source is as it was imported");
  return fine ? ExitCode::kOk : ExitCode::kPartial;
}

}  // namespace

void add_import_commands(CommandTree& tree) {
  tree.add<ImportOptions>("import", "Import existing objects by reference; no bytes are copied",
                          run_import);
  tree.add<Verify>("import-verify", "List imported objects whose source was changed or deleted",
                   verify);
}

}  // namespace tarn::cli

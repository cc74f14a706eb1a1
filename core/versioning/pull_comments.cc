#include "core/versioning/pull_comments.h"

#include <charconv>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/versioning/pull_comment_store.h"
#include "core/versioning/pull_requests.h"

namespace tarn::versioning {
namespace {

void check_body(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw_invalid("body: must not be empty");
  }
  if (body.size() > kPullCommentBytesMax) {
    throw_invalid(str_cat("body: is longer than ", kPullCommentBytesMax, " bytes"));
  }
}

void check_place(const PullComment& comment) {
  if (comment.thread != 0 && !comment.path.empty()) {
    throw_invalid("path: an answer has the place of its thread");
  }
  if (comment.path.empty() && (comment.line || comment.row)) {
    throw_invalid("line, row: need a path");
  }
  if (comment.line && comment.row) throw_invalid("line, row: give one of them");
  if (!comment.path.empty() && !comment.commit) {
    throw_invalid("commit_id: give the commit that the path was looked at in");
  }
}

/// The source's head, or the commit that was merged; nullopt: the branch is gone.
std::optional<CommitId> seen_now(branch::Engine& engine, const Repository& repository,
                                 const PullRequest& pull) {
  if (pull.merged_source) return pull.merged_source;
  const auto source = engine.branches.find(repository.id, pull.source);
  if (!source) return std::nullopt;
  return source->head;
}

[[noreturn]] void throw_comment_not_found() {
  throw Error(ErrorCode::kNotFound, reason::kCommentNotFound, "comment not found");
}

/// The error of a comment that the user could not change.
[[noreturn]] void throw_not_changed(branch::Engine& engine, const Repository& repository,
                                    std::string_view pull, int32_t id) {
  const auto found = PullCommentStore(engine.pool).find(repository.id, pull, id);
  if (!found || found->deleted) throw_comment_not_found();
  throw Error(ErrorCode::kPermissionDenied, reason::kNotCommentAuthor,
              str_cat("comment ", id, ": only '", found->author, "', who wrote it, may change it"));
}

}  // namespace

PullComment create_pull_comment(branch::Engine& engine, const Repository& repository,
                                std::string_view pull_id, PullComment comment) {
  check_body(comment.body);
  check_place(comment);
  branch::check_writable(engine, repository, /*force=*/false);
  const PullRequest pull = get_pull_request(engine, repository, pull_id);
  const std::optional<CommitId> now = seen_now(engine, repository, pull);
  if (comment.commit && comment.commit != now) {
    throw Error(
        ErrorCode::kConflict, reason::kSourceMoved,
        str_cat("commenting on pull request ", pull.id, ": the head of '", pull.source.str(),
                "' is ", now ? to_text(*now) : "gone", " by now, look at it first"));
  }
  comment.commit = now;
  comment.created = engine.clock.now();
  PullCommentStore store(engine.pool);
  const auto id = store.create(repository.id, pull.id, comment);
  if (id) return *store.find(repository.id, pull.id, *id);
  if (comment.thread != 0) {
    const auto thread = store.find(repository.id, pull.id, comment.thread);
    if (!thread || thread->thread != thread->id) throw_comment_not_found();
  }
  if (store.find(repository.id, pull.id, kPullCommentsMax)) {
    throw Error(ErrorCode::kInvalidArgument, reason::kTooManyComments,
                str_cat("pull request ", pull.id, ": has had ", kPullCommentsMax,
                        " comments, no more are taken"));
  }
  throw Error(ErrorCode::kNotFound, "user not found");
}

Page<PullComment> list_pull_comments(branch::Engine& engine, const Repository& repository,
                                     std::string_view pull, const PageStart& start) {
  int32_t after = 0;
  const char* end = start.after.data() + start.after.size();
  const auto [at, error] = std::from_chars(start.after.data(), end, after);
  if (!start.after.empty() && (error != std::errc() || at != end)) {
    throw_invalid("argument after: must be the id of a comment");
  }
  return PullCommentStore(engine.pool)
      .list(repository.id, get_pull_request(engine, repository, pull).id, after, start.limit);
}

void edit_pull_comment(branch::Engine& engine, const Repository& repository, std::string_view pull,
                       int32_t id, std::string_view user, std::string_view body) {
  check_body(body);
  branch::check_writable(engine, repository, /*force=*/false);
  if (!PullCommentStore(engine.pool)
           .edit(repository.id, pull, id, user, body, engine.clock.now())) {
    throw_not_changed(engine, repository, pull, id);
  }
}

void delete_pull_comment(branch::Engine& engine, const Repository& repository,
                         std::string_view pull, int32_t id, std::string_view user) {
  branch::check_writable(engine, repository, /*force=*/false);
  if (!PullCommentStore(engine.pool).remove(repository.id, pull, id, user)) {
    throw_not_changed(engine, repository, pull, id);
  }
}

void resolve_pull_thread(branch::Engine& engine, const Repository& repository,
                         std::string_view pull, int32_t thread, std::string_view user,
                         bool resolved) {
  branch::check_writable(engine, repository, /*force=*/false);
  if (!PullCommentStore(engine.pool)
           .resolve(repository.id, pull, thread, resolved ? user : std::string_view())) {
    throw_comment_not_found();
  }
}

}  // namespace tarn::versioning

// Verbs on comments of pull requests.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/pull_request.h"
#include "core/model/repository.h"

namespace tarn::versioning {

// Ids of pull requests are as parse_pull_request_id makes them. All throw not_found ("repository
// not found", "pull request not found"); those that change something permission_denied (read-only
// repository). Pull requests that are closed or merged can be commented on.

/// Adds a comment by `comment.author`, with a place and the commit that the author looked at, or as
/// an answer in a thread. Returns it as stored. Throws: invalid_argument (no text or too long; a
/// place of an answer; a line or row without a path, or both; a path without a commit; reason
/// "too_many_comments": the pull request has had kPullCommentsMax), conflict (reason
/// "source_moved": the source's head, or the commit that was merged, is another), not_found (reason
/// "comment_not_found": no such thread; the author is no user).
PullComment create_pull_comment(branch::Engine& engine, const Repository& repository,
                                std::string_view pull, PullComment comment);

/// The oldest first.
Page<PullComment> list_pull_comments(branch::Engine& engine, const Repository& repository,
                                     std::string_view pull, const PageStart& start);

// Both throw: not_found (reason "comment_not_found", also if it is deleted), permission_denied
// (reason "not_comment_author").

/// Throws: also invalid_argument (no text, or too long).
void edit_pull_comment(branch::Engine& engine, const Repository& repository, std::string_view pull,
                       int32_t id, std::string_view user, std::string_view body);
/// Removes the text; answers stay.
void delete_pull_comment(branch::Engine& engine, const Repository& repository,
                         std::string_view pull, int32_t id, std::string_view user);

/// Resolves a thread in the user's name, or opens it again. Throws: not_found (reason
/// "comment_not_found": the comment began no thread).
void resolve_pull_thread(branch::Engine& engine, const Repository& repository,
                         std::string_view pull, int32_t thread, std::string_view user,
                         bool resolved);

}  // namespace tarn::versioning

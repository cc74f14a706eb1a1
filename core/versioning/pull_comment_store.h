// Rows of comments on pull requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/db/pool.h"
#include "core/model/page.h"
#include "core/model/pull_request.h"

namespace tarn::versioning {

/// Safe from any thread.
class PullCommentStore {
 public:
  explicit PullCommentStore(db::Pool& pool) : pool_(pool) {}

  /// Returns the id. nullopt: there is no such pull request, thread or author, or the pull request
  /// has had kPullCommentsMax comments.
  std::optional<int32_t> create(RepositoryId repository, std::string_view pull,
                                const PullComment& comment);
  std::optional<PullComment> find(RepositoryId repository, std::string_view pull, int32_t id);
  /// The oldest first; the paging key is the id.
  Page<PullComment> list(RepositoryId repository, std::string_view pull, int32_t after,
                         uint32_t limit);

  // false: there is no such comment by the user, or it is deleted.
  bool edit(RepositoryId repository, std::string_view pull, int32_t id, std::string_view author,
            std::string_view body, Instant now);
  bool remove(RepositoryId repository, std::string_view pull, int32_t id, std::string_view author);

  /// `resolved_by`: empty = not resolved any more. Resolving again changes nothing. false: the
  /// comment began no thread.
  bool resolve(RepositoryId repository, std::string_view pull, int32_t thread,
               std::string_view resolved_by);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::versioning

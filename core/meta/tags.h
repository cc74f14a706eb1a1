// Tag rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/db/pool.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::meta {

/// Safe from any thread.
class Tags {
 public:
  explicit Tags(db::Pool& pool) : pool_(pool) {}

  std::optional<Tag> find(RepositoryId repository, const TagName& name);
  Page<Tag> list(RepositoryId repository, std::string_view prefix, std::string_view after,
                 uint32_t limit);
  enum class CreateOutcome { kDone, kExists, kBranchHasName, kCommitGone };
  /// `within` runs in the same transaction, when the tag was made.
  CreateOutcome create(RepositoryId repository, const TagName& name, const CommitId& commit,
                       const std::function<void(db::Connection&)>& within = {});
  /// Inside a transaction of the caller.
  static CreateOutcome create(db::Connection& connection, RepositoryId repository,
                              const TagName& name, const CommitId& commit);
  /// false if it is gone or now belongs to another commit. `within` as for create.
  bool remove(RepositoryId repository, const Tag& tag,
              const std::function<void(db::Connection&)>& within = {});

 private:
  db::Pool& pool_;
};

}  // namespace tarn::meta

#include "core/gc/removed_copies.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/blob/cached_store.h"
#include "core/blob/disk_cache.h"
#include "core/blob/stores.h"
#include "core/gc/candidate_store.h"
#include "core/meta/repositories.h"

namespace tarn::gc {
namespace {

/// Each removal is of 1,000 objects at most.
constexpr int64_t kRemovalsPerRead = 20;

}  // namespace

void RemovedCopies::forget(branch::Engine& engine) {
  if (copies_ == nullptr) return;
  Candidates candidates(engine.pool);
  const Removals now = candidates.removals();
  if (!seen_) seen_ = copies_->mark().value_or(-1);
  if (*seen_ == now.last) return;
  // Greater: another database, or one that was restored.
  if (*seen_ < now.purged || *seen_ > now.last) {
    copies_->clear();
  } else {
    for (int64_t after = *seen_; after < now.last; after += kRemovalsPerRead) {
      forget_between(engine, after, std::min(after + kRemovalsPerRead, now.last));
    }
  }
  seen_ = now.last;
  copies_->set_mark(now.last);
}

void RemovedCopies::forget_between(branch::Engine& engine, int64_t after, int64_t last) {
  std::map<RepositoryId, std::optional<Repository>> known;
  for (const RemovedObject& object : Candidates(engine.pool).removed_between(after, last)) {
    auto& repository = known[object.repository];
    if (!repository) repository = engine.repositories.get(object.repository);
    const blob::Located at = engine.stores.locate(
        str_cat(repository->storage_namespace, "/", relative_path(object.address)));
    if (auto* cached = dynamic_cast<blob::CachedStore*>(at.store)) cached->forget(at.key);
  }
}

}  // namespace tarn::gc

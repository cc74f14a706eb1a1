#include "core/gc/object_removal.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/base/fault_point.h"
#include "core/base/pause.h"
#include "core/base/str_cat.h"
#include "core/branch/namespace_marker.h"
#include "core/branch/store_owner.h"
#include "core/gc/batches.h"
#include "core/gc/collection_ends.h"
#include "core/gc/store_listing.h"

namespace tarn::gc {
namespace {

/// Rows whose objects are removed between two transactions: those of one are hardly more work than
/// those of ten, and each waits for the disk of the database.
constexpr size_t kRowsDoomedAtOnce = 5'000;

}  // namespace

void check_namespace(branch::Engine& engine, const Repository& repository) {
  if (branch::owns_namespace(engine.stores, repository)) return;
  throw CollectionRefused{
      str_cat(repository.storage_namespace, "/_tarn/repository lacks the line ",
              branch::marker_digits(repository),
              ": the objects there may be those of another installation; if none uses "
              "them, write that line below the repository's name")};
}

void ObjectRemoval::doom_objects(const Marked& marked, const KnownCandidates& known) {
  Batches<std::string> referenced([&](const auto& batch) { candidates_.forget(claim_, batch); });
  Batches<std::string> dead(
      [&](const auto& batch) {
        progress_.progress();
        remove(candidates_.doom(claim_, batch));
      },
      kRowsDoomedAtOnce);
  for (const auto& [key, candidate] : known.objects) {
    if (marked.objects.contains(own_address(key))) {
      ++report_.counts.rescued_objects;
      referenced.add(std::string(key));
    } else if (candidate->due) {
      dead.add(std::string(key));
    }
  }
  referenced.flush();
  dead.flush();
}

void ObjectRemoval::remove_doomed_objects() {
  for (std::string after;;) {
    const auto left = candidates_.doomed(claim_, after, kRowsDoomedAtOnce);
    if (left.empty()) return;
    if (after.empty()) check_namespace(engine_, repository_);
    after = left.back().address;
    remove(left);
  }
}

void ObjectRemoval::remove(std::span<const Candidate> doomed) {
  // A tenth of a second's at a time, so that a pace of few is even.
  const size_t at_once =
      options_.deletes_per_second == 0
          ? blob::kRemovedAtOnceMax
          : std::clamp<size_t>(options_.deletes_per_second / 10, 1, blob::kRemovedAtOnceMax);
  while (!doomed.empty()) {
    const auto batch = doomed.first(std::min(at_once, doomed.size()));
    doomed = doomed.subspan(batch.size());
    const auto begun = std::chrono::steady_clock::now();
    remove_batch(batch);
    if (options_.deletes_per_second > 0) note_removed();
    progress_.progress(static_cast<int64_t>(batch.size()));
    pace(batch.size(), begun);
  }
  note_removed();
}

void ObjectRemoval::remove_batch(std::span<const Candidate> batch) {
  // Removing takes hours where there is much.
  if (const auto why = engine_.owners.refusal(repository_)) throw CollectionRefused{*why};
  std::vector<OwnAddress> addresses;
  for (const Candidate& candidate : batch) {
    addresses.push_back(own_address(candidate.address));
  }
  std::set<std::string> kept;
  for (const UnremovedObject& object :
       remove_stored_objects(engine_.stores, repository_, addresses)) {
    if (!kept.insert(own_key(object.address)).second) continue;
    ++report_.counts.failed_objects;
    report_.note_failure(str_cat(relative_path(object.address), ": ", object.message));
  }
  fault_point("gc.batch_removed");
  for (const Candidate& candidate : batch) {
    if (!kept.contains(candidate.address)) removed_.push_back(candidate);
  }
}

// Rows that are not noted because the collection ends early are removed and counted by the next
// one.
void ObjectRemoval::note_removed() {
  if (removed_.empty()) return;
  std::vector<std::string> addresses;
  for (const Candidate& candidate : removed_) addresses.push_back(candidate.address);
  candidates_.set_removed(claim_, addresses);
  for (const Candidate& candidate : removed_) {
    ++report_.counts.removed_objects;
    report_.counts.removed_bytes += candidate.size_bytes;
    report_.removed.add(candidate.origin, candidate.size_bytes);
  }
  removed_.clear();
}

void ObjectRemoval::pace(size_t removed, std::chrono::steady_clock::time_point begun) {
  if (options_.deletes_per_second == 0) return;
  using std::chrono::milliseconds;
  const milliseconds due(static_cast<int64_t>(removed) * 1000 / options_.deletes_per_second);
  const auto taken =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
  if (taken < due) pause(stop_, due - taken);
}

}  // namespace tarn::gc

// Removal of a repository's objects from its store, once their rows say that they are to go.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <stop_token>
#include <vector>

#include "core/branch/engine.h"
#include "core/gc/candidate_store.h"
#include "core/gc/collection_options.h"
#include "core/gc/collection_report.h"
#include "core/gc/collection_store.h"
#include "core/gc/known_candidates.h"
#include "core/gc/leased_progress.h"
#include "core/gc/marking.h"
#include "core/model/repository.h"

namespace tarn::gc {

/// A repository of another installation may have its objects in the same namespace. Called before
/// anything is removed. Throws CollectionRefused.
void check_namespace(branch::Engine& engine, const Repository& repository);

/// The removals of one collection, on its thread.
class ObjectRemoval {
 public:
  ObjectRemoval(branch::Engine& engine, const Repository& repository, const CollectionClaim& claim,
                const CollectionOptions& options, LeasedProgress& progress,
                CollectionReport& report, const std::stop_token& stop)
      : engine_(engine),
        repository_(repository),
        claim_(claim),
        options_(options),
        progress_(progress),
        report_(report),
        stop_(stop),
        candidates_(engine.pool) {}

  /// Dooms the candidates that are due and that nothing refers to.
  void doom_objects(const Marked& marked, const KnownCandidates& known);
  /// Objects that an earlier collection had doomed: it was interrupted, or the store had refused.
  void remove_doomed_objects();

 private:
  void remove(std::span<const Candidate> doomed);
  void remove_batch(std::span<const Candidate> batch);
  void note_removed();
  void pace(size_t removed, std::chrono::steady_clock::time_point begun);

  branch::Engine& engine_;
  const Repository& repository_;
  const CollectionClaim& claim_;
  const CollectionOptions& options_;
  LeasedProgress& progress_;
  CollectionReport& report_;
  const std::stop_token& stop_;
  Candidates candidates_;
  std::vector<Candidate> removed_;  ///< from the store, and not noted yet
};

}  // namespace tarn::gc

// The steps of one collection, in their order.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>

#include "core/branch/engine.h"
#include "core/gc/candidate_store.h"
#include "core/gc/collection_options.h"
#include "core/gc/collection_report.h"
#include "core/gc/collection_store.h"
#include "core/gc/history_removal.h"
#include "core/gc/known_candidates.h"
#include "core/gc/leased_progress.h"
#include "core/gc/marking.h"
#include "core/gc/object_removal.h"
#include "core/model/repository.h"

namespace tarn::gc {

/// Objects that a collection may remove whatever their share of the repository is.
constexpr int64_t kRemovedWithoutShare = 100;

/// One collection, under a claim. One thread at a time.
class CollectionSteps {
 public:
  CollectionSteps(branch::Engine& engine, const CollectionClaim& claim,
                  const CollectionOptions& options, const std::stop_token& stop);
  CollectionSteps(const CollectionSteps&) = delete;

  /// Throws what collection_ends.h has, and Error.
  void run();

  const CollectionReport& report() const { return report_; }
  CollectionOutcome outcome() const { return {report_.counts, report_.failures, report_.removed}; }
  /// Whether it has removed many rows whose space it has not given back.
  bool owes_space() const;

 private:
  /// Stores what was done until now.
  void begin_step(std::string_view step, int64_t total = 0);
  int64_t stored_before();
  void check_owner();
  void wait_for_transactions(const CollectionFloors& floors);
  void find_candidates(const CollectionFloors& floors, const Marked& marked,
                       const KnownCandidates& known);
  void count_known(const KnownCandidate& candidate);
  void check_share() const;
  void remove_derived_rows();
  void remove_stray_files(Instant written_before);
  void remove_unfinished();
  void release_space();
  int64_t removed_rows() const;
  void remove_part_lists(const Marked& marked, const KnownCandidates& known);
  void remove_nodes(const CollectionFloors& floors, const Marked& marked);

  branch::Engine& engine_;
  const CollectionClaim& claim_;
  const CollectionOptions& options_;
  const std::stop_token& stop_;
  const Repository repository_;
  Collections collections_;
  Candidates candidates_;
  CollectionReport report_;
  CollectionCounts& counts_ = report_.counts;
  int64_t purged_candidates_ = 0;
  bool space_released_ = false;
  LeasedProgress progress_;
  HistoryRemoval history_;
  ObjectRemoval objects_;
};

}  // namespace tarn::gc

// The figures of one garbage collection.
#pragma once

#include <cstdint>

namespace tarn::gc {

/// Objects are files of the store below the repository's `data/`; bytes are theirs.
struct CollectionCounts {
  int64_t stored_objects = 0;  ///< listed
  int64_t live_objects = 0;    ///< of them, referenced
  int64_t found_objects = 0;   ///< of them, found unreferenced for the first time
  int64_t found_bytes = 0;
  int64_t waiting_objects = 0;  ///< found earlier; their grace is not over
  int64_t waiting_bytes = 0;
  int64_t due_objects = 0;  ///< found earlier, the grace is over, still unreferenced
  int64_t due_bytes = 0;
  int64_t removed_objects = 0;
  int64_t removed_bytes = 0;
  int64_t rescued_objects = 0;  ///< found earlier, referenced again
  int64_t strangers = 0;        ///< files that Tarn did not write; never removed
  int64_t removed_commits = 0;  ///< of a plan: that would be removed
  int64_t removed_nodes = 0;
  int64_t removed_part_lists = 0;
  int64_t expired_commits = 0;  ///< whose data the rules let go; of a plan: that would expire
  int64_t failed_objects = 0;   ///< the store did not remove them; the next collection tries again
  int64_t removed_unfinished = 0;  ///< leftovers of writers that died

  bool operator==(const CollectionCounts&) const = default;
};

}  // namespace tarn::gc

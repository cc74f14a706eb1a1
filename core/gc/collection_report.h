// The figures and failures of a collection under way: its report, once it has ended.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/gc/collection_counts.h"
#include "core/gc/garbage.h"

namespace tarn::gc {

struct CollectionReport {
  static constexpr size_t kFailuresNamedMax = 100;

  void note_failure(std::string failure) {
    if (failures.size() < kFailuresNamedMax) failures.push_back(std::move(failure));
  }

  CollectionCounts counts;
  std::vector<std::string> failures;
  GarbageGroups removed;
};

}  // namespace tarn::gc

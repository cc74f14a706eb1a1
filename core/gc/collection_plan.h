// The figures of garbage collections to come, without a change.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/branch/engine.h"
#include "core/gc/collection_counts.h"
#include "core/gc/collection_options.h"
#include "core/gc/garbage.h"
#include "core/model/address.h"
#include "core/model/repository.h"

namespace tarn::gc {

struct PlannedObject {
  OwnAddress address;
  uint64_t size_bytes = 0;
  bool due = false;  ///< the next collection removes it; else the one after its grace
  GarbageOrigin origin{};
};

/// Objects of a plan by the age of their address, in days.
struct GarbageAge {
  int64_t days_max = 0;  ///< younger than this; 0 = all older ones
  GarbageSize size{};
};

struct CollectionPlan {
  CollectionCounts counts{};
  GarbageGroups groups{};
  std::vector<GarbageAge> ages{};
};

/// The figures of the collections to come if nothing changed. Changes nothing. `visit` (may be
/// empty) is called for each object.
CollectionPlan plan_collection(branch::Engine& engine, const Repository& repository,
                               const CollectionOptions& options,
                               const std::function<void(const PlannedObject&)>& visit);

}  // namespace tarn::gc

// The reasons why nothing refers to an object, as far as they can be known.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/branch/engine.h"
#include "core/gc/garbage.h"
#include "core/gc/marking.h"
#include "core/gc/root_store.h"

namespace tarn::gc {

/// Objects of removed commits that it remembers, 16 bytes each; of more it knows no reason.
constexpr size_t kOriginsMax = size_t{4} << 20;

/// One thread at a time.
class Origins {
 public:
  /// Walks the trees of the commits, whose nodes must be there, but for what is `marked`.
  /// `on_progress` is called often, and may throw.
  Origins(branch::Engine& engine, std::span<const RemovedCommit> commits, const Marked& marked,
          const std::function<void()>& on_progress);

  /// The origin of an object that nothing refers to.
  GarbageOrigin of(const OwnAddress& address) const;

 private:
  std::vector<RemovedCommit> commits_;
  std::vector<std::pair<uint64_t, uint32_t>>
      objects_;                  ///< ascending prints, with the index of a commit
  std::vector<uint64_t> parts_;  ///< ascending
  bool complete_ = true;
};

}  // namespace tarn::gc

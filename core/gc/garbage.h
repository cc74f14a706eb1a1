// Garbage by reason and branch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace tarn::gc {

/// Stored in gc_candidates.
enum class GarbageReason : int16_t {
  kUncommitted = 0,  ///< in no commit: overwritten, deleted, reset, or never completed
  kCommit = 1,       ///< only in commits that no root reaches
  kPart = 2,         ///< a part of a multipart object that nothing refers to
  kRepository = 3,   ///< of a deleted repository
  kUnknown = 4,
};
std::string_view name_of(GarbageReason reason);

struct GarbageOrigin {
  GarbageReason reason = GarbageReason::kUncommitted;
  std::string branch{};  ///< that was deleted and led to the commit; "" = not known
  bool operator<(const GarbageOrigin& other) const {
    return std::pair(reason, std::string_view(branch)) <
           std::pair(other.reason, std::string_view(other.branch));
  }
};

struct GarbageSize {
  int64_t objects = 0;
  int64_t bytes = 0;
};

/// Groups that a plan or a report names; what is beyond counts with the branch "".
constexpr size_t kGarbageGroupsMax = 1000;

/// One thread at a time.
class GarbageGroups {
 public:
  void add(const GarbageOrigin& origin, int64_t bytes);
  const std::map<GarbageOrigin, GarbageSize>& sizes() const { return sizes_; }

 private:
  std::map<GarbageOrigin, GarbageSize> sizes_;
};

}  // namespace tarn::gc

#include "core/gc/garbage.h"

namespace tarn::gc {

std::string_view name_of(GarbageReason reason) {
  switch (reason) {
    case GarbageReason::kUncommitted:
      return "uncommitted";
    case GarbageReason::kCommit:
      return "commit";
    case GarbageReason::kPart:
      return "part";
    case GarbageReason::kRepository:
      return "repository";
    case GarbageReason::kUnknown:
      break;
  }
  return "unknown";
}

void GarbageGroups::add(const GarbageOrigin& origin, int64_t bytes) {
  const bool full = sizes_.size() >= kGarbageGroupsMax && !sizes_.contains(origin);
  GarbageSize& size = sizes_[full ? GarbageOrigin{origin.reason, ""} : origin];
  ++size.objects;
  size.bytes += bytes;
}

}  // namespace tarn::gc

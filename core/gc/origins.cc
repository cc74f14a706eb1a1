#include "core/gc/origins.h"

#include <algorithm>

#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"

namespace tarn::gc {
namespace {

constexpr size_t kNodesPerLoad = 64;

}  // namespace

Origins::Origins(branch::Engine& engine, std::span<const RemovedCommit> commits,
                 const Marked& marked, const std::function<void()>& on_progress)
    : commits_(commits.begin(), commits.end()), parts_(marked.dying_parts) {
  std::sort(parts_.begin(), parts_.end());
  UncachedNodes nodes(engine.pool);
  tree::NidSet visited;
  for (uint32_t number = 0; number < commits_.size(); ++number) {
    std::vector<Nid> waiting;
    if (commits_[number].root_nid != 0) waiting.push_back(commits_[number].root_nid);
    while (!waiting.empty()) {
      on_progress();
      std::vector<Nid> batch;
      while (!waiting.empty() && batch.size() < kNodesPerLoad) {
        const Nid nid = waiting.back();
        waiting.pop_back();
        if (!marked.nodes.contains(nid) && visited.insert(nid)) batch.push_back(nid);
      }
      if (batch.empty()) continue;
      for (const auto& node : nodes.load(batch)) {
        if (const auto* inner = dynamic_cast<const tree::InnerNode*>(node.get())) {
          for (uint32_t i = 0; i < inner->count(); ++i) waiting.push_back(inner->nid(i));
        }
        const auto* leaf = dynamic_cast<const tree::LeafNode*>(node.get());
        for (uint32_t i = 0; leaf != nullptr && i < leaf->count(); ++i) {
          const tree::EntryFields fields = leaf->fields(i);
          if (fields.external) continue;
          const Address address = decode_address(fields.address_tail);
          const auto* own = std::get_if<OwnAddress>(&address);
          if (own == nullptr || marked.objects.contains(*own)) continue;
          if (objects_.size() == kOriginsMax) {
            complete_ = false;
            break;
          }
          objects_.emplace_back(print_of(*own), number);
        }
      }
      if (!complete_) break;
    }
    if (!complete_) break;
  }
  std::sort(objects_.begin(), objects_.end());
}

GarbageOrigin Origins::of(const OwnAddress& address) const {
  const uint64_t print = print_of(address);
  const auto at = std::lower_bound(objects_.begin(), objects_.end(), std::pair(print, uint32_t{0}));
  if (at != objects_.end() && at->first == print) {
    return {GarbageReason::kCommit, commits_[at->second].branch};
  }
  if (std::binary_search(parts_.begin(), parts_.end(), print)) return {GarbageReason::kPart, ""};
  return {complete_ ? GarbageReason::kUncommitted : GarbageReason::kUnknown, ""};
}

}  // namespace tarn::gc

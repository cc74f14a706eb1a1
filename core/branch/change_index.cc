#include "core/branch/change_index.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/base/lease.h"
#include "core/branch/change_index_store.h"
#include "core/model/expiry.h"
#include "core/tree/changed_paths.h"

namespace tarn::branch {
namespace {

/// The nodes of the database and those that are about to be stored. One thread.
class NodesWithPending final : public tree::NodeSource {
 public:
  NodesWithPending(meta::NodeStore& stored, const meta::NodeWriter::Pending& pending)
      : stored_(stored), pending_(pending) {}

  using tree::NodeSource::load;
  std::vector<std::shared_ptr<const tree::Node>> load(std::span<const Nid> nids) override {
    std::vector<std::shared_ptr<const tree::Node>> out(nids.size());
    std::vector<Nid> stored;
    for (size_t i = 0; i < nids.size(); ++i) {
      const auto at = std::find(pending_.nids.begin(), pending_.nids.end(), nids[i]);
      if (at == pending_.nids.end()) {
        stored.push_back(nids[i]);
      } else {
        out[i] =
            tree::Node::decode(pending_.bodies[static_cast<size_t>(at - pending_.nids.begin())]);
      }
    }
    if (stored.empty()) return out;
    auto loaded = stored_.load(stored);
    for (size_t i = 0, next = 0; i < nids.size(); ++i) {
      if (!out[i]) out[i] = std::move(loaded[next++]);
    }
    return out;
  }

 private:
  meta::NodeStore& stored_;
  const meta::NodeWriter::Pending& pending_;
};

}  // namespace

std::string stored_changed_paths(Engine& engine, const TreeRoot& before, const TreeRoot& after,
                                 const meta::NodeWriter::Pending& pending) {
  NodesWithPending nodes(engine.nodes, pending);
  try {
    return tree::encode_changed_paths(tree::changed_paths(nodes, before, after));
  } catch (const Error& error) {
    // Nothing is known of a tree that has expired or is damaged. It must not keep anybody from
    // deleting what is damaged.
    if (error.code() != ErrorCode::kGone && error.code() != ErrorCode::kDataLoss) throw;
    return tree::encode_changed_paths(std::nullopt);
  }
}

bool fill_change_index(Engine& engine, std::stop_token stop) {
  ChangeIndexStore index(engine.pool);
  const int64_t owner = new_lease_owner();
  if (!index.claim(owner, change_fill_lease())) return false;
  const auto enough = std::chrono::steady_clock::now() + change_fill_lease() / 2;
  std::vector<ChangeIndexStore::Filled> filled;
  for (const auto& commit : index.unfilled(kChangeFillBatch)) {
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= enough) break;
    const bool is_compared = commit.parents == 1 && commit.has_parent;
    filled.push_back({commit.repository, commit.id,
                      is_compared ? stored_changed_paths(engine, commit.parent_root, commit.root)
                                  : tree::encode_changed_paths(std::nullopt)});
  }
  const bool held = index.fill(owner, change_fill_lease(), filled);
  if (held) index.release(owner);
  return held && !filled.empty();
}

}  // namespace tarn::branch

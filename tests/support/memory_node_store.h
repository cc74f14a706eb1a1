// A store of tree nodes in memory that counts reads and writes, so that tests can assert costs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/tree/body.h"
#include "core/tree/node.h"

namespace tarn::tree {

/// Stores node bodies by address, as the database does. One thread at a time.
class MemoryNodeStore final : public NodeSource, public NodeSink {
 public:
  struct Stored {
    uint8_t level = 0;
    Hash128 hash{};
    std::string body;
  };
  struct Counts {
    uint64_t loads = 0;  ///< nodes read
    uint64_t leaf_loads = 0;
    uint64_t round_trips = 0;  ///< calls of load()
    uint64_t puts = 0;
    uint64_t put_bytes = 0;
  };

  using NodeSource::load;
  std::vector<std::shared_ptr<const Node>> load(std::span<const Nid> nids) override {
    ++counts_.round_trips;
    std::vector<std::shared_ptr<const Node>> out;
    for (const Nid nid : nids) out.push_back(read(nid));
    return out;
  }

  Nid put(uint8_t level, const Hash128& hash, std::string encoding) override {
    std::string body = pack_body(encoding);
    ++counts_.puts;
    counts_.put_bytes += body.size();
    nodes_.emplace(next_, Stored{level, hash, std::move(body)});
    return next_++;
  }

  /// Caches decoded nodes from now on, as a server does.
  void keep_decoded() { keeps_decoded_ = true; }

  const Counts& counts() const { return counts_; }
  void reset_counts() { counts_ = {}; }
  const std::map<Nid, Stored>& nodes() const { return nodes_; }
  Stored& stored(Nid nid) { return nodes_.at(nid); }

 private:
  std::shared_ptr<const Node> read(Nid nid) {
    const auto found = nodes_.find(nid);
    if (found == nodes_.end()) {
      throw Error(ErrorCode::kDataLoss, "loading a tree node: it is missing");
    }
    ++counts_.loads;
    if (found->second.level == 0) ++counts_.leaf_loads;
    if (!keeps_decoded_) return Node::decode(found->second.body);
    std::shared_ptr<const Node>& decoded = decoded_[nid];
    if (!decoded) decoded = Node::decode(found->second.body);
    return decoded;
  }

  std::map<Nid, Stored> nodes_;
  std::map<Nid, std::shared_ptr<const Node>> decoded_;
  Counts counts_;
  Nid next_ = 1;
  bool keeps_decoded_ = false;
};

}  // namespace tarn::tree

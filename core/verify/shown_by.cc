#include "core/verify/shown_by.h"

#include "core/base/error.h"

namespace tarn::verify {
namespace {

constexpr size_t kNodesKeptMax = 4096;

}  // namespace

std::shared_ptr<const tree::Node> ShownBy::load(Nid nid) {
  const auto at = nodes_.find(nid);
  if (at != nodes_.end()) return at->second;
  std::shared_ptr<const tree::Node> node;
  const db::Rows rows = store_.nodes({&nid, 1});
  try {
    if (!rows.empty()) node = tree::Node::decode(rows.bytes(0, NodeColumn::kBody));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
  }
  if (nodes_.size() >= kNodesKeptMax) nodes_.clear();
  nodes_.emplace(nid, node);
  return node;
}

bool ShownBy::shows(const TreeRoot& root, const CollectedFinding& found) {
  const std::string& path = found.finding.path;
  Nid nid = root.nid;
  // A damaged tree may refer in a circle; no tree is higher than this.
  for (int level = 0; nid != 0 && level < 40; ++level) {
    if (nid == found.nid) return true;
    const auto node = load(nid);
    if (!node) return false;
    const uint32_t index = node->lower_bound(path);
    if (index == node->count()) return false;
    if (node->level() == 0) {
      return found.nid == 0 && node->key(index) == path &&
             encode_address(node->entry(index).address) == found.address;
    }
    nid = node->child(index).nid;
  }
  return false;
}

}  // namespace tarn::verify

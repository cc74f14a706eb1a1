#include "core/verify/node_walk.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/tree/body.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"
#include "core/tree/node_layout.h"

namespace tarn::verify {
namespace {

constexpr size_t kNodesPerBatch = 128;

uint64_t mixed(uint64_t sum, uint64_t value) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  sum = (sum ^ value) * kOdd;
  return sum ^ (sum >> 32);
}

uint64_t first_bytes(const Hash128& hash) {
  uint64_t out = 0;
  std::memcpy(&out, hash.bytes.data(), sizeof(out));
  return out | 1;  // 0 is a node without a hash
}

uint64_t facts_of(int level, uint64_t entries, uint64_t bytes, std::string_view last_key) {
  uint64_t sum = mixed(static_cast<uint64_t>(level), entries);
  sum = mixed(sum, bytes);
  return mixed(sum, std::hash<std::string_view>{}(last_key));
}

struct Decoded {
  Hash128 hash;
  std::unique_ptr<tree::Node> node;
  const tree::InnerNode* inner = nullptr;
  const tree::LeafNode* range = nullptr;
};

/// Throws data_loss.
Decoded decode(const tree::TreeFormat& format, std::string_view body) {
  tree::EncodedNode encoded;
  encoded.bytes = tree::unpack_body(body);
  encoded.canonical_bytes = encoded.bytes.size();
  tree::NodeReader in(encoded.bytes);
  Decoded out;
  if (tree::read_node_header(in).level == 0) {
    out.hash = hash_of(format, encoded);
    auto range = std::make_unique<tree::LeafNode>(std::move(encoded.bytes));
    out.range = range.get();
    out.node = std::move(range);
    return out;
  }
  auto inner = std::make_unique<tree::InnerNode>(encoded.bytes);
  encoded.canonical_bytes = inner->canonical_bytes();
  out.hash = hash_of(format, encoded);
  out.inner = inner.get();
  out.node = std::move(inner);
  return out;
}

std::string hash_text(const Hash128& hash) { return str_cat("hash ", to_hex(view_of(hash))); }

std::string shape_text(int level, uint64_t entries, uint64_t bytes, std::string_view last_key) {
  return str_cat("level ", level, ", ", entries, " entries of ", bytes, " bytes up to \"", last_key,
                 "\"");
}

}  // namespace

NodeWalk::NodeWalk(VerifyStore& store, RepositoryId repository, tree::TreeFormat format,
                   Collected& findings, VisitRange visit, AfterBatch after_batch)
    : store_(store),
      repository_(repository),
      format_(format),
      findings_(findings),
      visit_(std::move(visit)),
      after_batch_(std::move(after_batch)) {}

bool NodeWalk::later(const Reference& a, const Reference& b) {
  // Depth first within a tree, so that few references wait.
  return std::pair(a.root, a.level) > std::pair(b.root, b.level);
}

void NodeWalk::add_roots(std::span<const TreeRoot> roots) {
  while (next_root_ < roots.size() && waiting_.size() < kNodesPerBatch) {
    const TreeRoot& root = roots[next_root_];
    if (!root.empty()) {
      Reference reference;
      reference.nid = root.nid;
      reference.root = static_cast<uint32_t>(next_root_);
      reference.hash = root.hash;
      waiting_.push_back(std::move(reference));
      std::push_heap(waiting_.begin(), waiting_.end(), later);
    }
    ++next_root_;
  }
}

/// The next references to nodes that were not visited, at most kNodesPerBatch.
std::vector<NodeWalk::Reference> NodeWalk::take_batch() {
  std::vector<Reference> batch;
  std::vector<Reference> again;
  while (!waiting_.empty() && batch.size() < kNodesPerBatch) {
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    Reference reference = std::move(waiting_.back());
    waiting_.pop_back();
    const auto [at, fresh] = known_.try_emplace(reference.nid);
    if (fresh) {
      batch.push_back(std::move(reference));
    } else if (at->second.hash != 0) {
      check_again(reference, at->second);
    } else {
      again.push_back(std::move(reference));  // in this batch, or missing
    }
  }
  for (Reference& reference : again) {
    const bool in_batch = std::any_of(batch.begin(), batch.end(), [&](const Reference& other) {
      return other.nid == reference.nid;
    });
    if (!in_batch) continue;
    waiting_.push_back(std::move(reference));
    std::push_heap(waiting_.begin(), waiting_.end(), later);
  }
  return batch;
}

void NodeWalk::run(std::span<const TreeRoot> roots) {
  for (;;) {
    add_roots(roots);
    if (waiting_.empty() && next_root_ == roots.size()) return;
    throw_if_cancelled();
    visit_batch(take_batch());
    after_batch_(*this);
  }
}

void NodeWalk::visit_batch(const std::vector<Reference>& batch) {
  if (batch.empty()) return;
  std::vector<Nid> nids;
  nids.reserve(batch.size());
  for (const Reference& reference : batch) nids.push_back(reference.nid);
  const db::Rows rows = store_.nodes(nids);
  std::unordered_map<Nid, size_t> found;
  for (size_t row = 0; row < rows.size(); ++row)
    found.emplace(rows.integer(row, NodeColumn::kNid), row);
  for (const Reference& reference : batch) {
    ++nodes_;
    const auto at = found.find(reference.nid);
    if (at == found.end()) {
      report(FindingKind::kNodeMissing, reference, hash_text(reference.hash), "no row");
      continue;
    }
    visit_row(reference, rows, at->second);
  }
}

void NodeWalk::visit_row(const Reference& reference, const db::Rows& rows, size_t row) {
  const int64_t owner = rows.integer(row, NodeColumn::kRepoId);
  if (owner != static_cast<int32_t>(repository_)) {
    report(FindingKind::kNodeOwner, reference,
           str_cat("repository ", static_cast<int32_t>(repository_)),
           str_cat("repository ", owner));
  }
  Decoded decoded;
  Hash128 stored;
  try {
    stored = hash128_from_bytes(rows.bytes(row, NodeColumn::kHash));
    decoded = decode(format_, rows.bytes(row, NodeColumn::kBody));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    report(FindingKind::kNodeUnreadable, reference, hash_text(reference.hash), error.message());
    return;
  }
  const tree::Node& node = *decoded.node;
  known_[reference.nid] = {
      first_bytes(stored),
      facts_of(node.level(), node.entries(), node.object_bytes(), node.key(node.count() - 1))};
  check_hash(reference, stored, decoded.hash);
  check_content(reference, node, rows.integer(row, NodeColumn::kLevel));
  if (decoded.inner != nullptr) visit_inner(reference, *decoded.inner);
  if (decoded.range == nullptr) return;
  entries_ += decoded.range->count();
  visit_(*decoded.range, reference.root);
}

void NodeWalk::check_hash(const Reference& reference, const Hash128& stored,
                          const Hash128& computed) {
  if (computed != stored) {
    report(FindingKind::kNodeHash, reference, hash_text(stored), hash_text(computed));
  } else if (stored != reference.hash) {
    report(FindingKind::kNodeReference, reference, hash_text(reference.hash), hash_text(stored));
  }
}

void NodeWalk::check_content(const Reference& reference, const tree::Node& node,
                             int64_t stored_level) {
  if (stored_level != node.level()) {
    report(FindingKind::kNodeReference, reference, str_cat("level ", stored_level, " in its row"),
           str_cat("level ", node.level()));
  }
  const std::string last_key = node.key(node.count() - 1);
  if (reference.level != kAnyLevel &&
      (node.level() != reference.level || node.entries() != reference.entries ||
       node.object_bytes() != reference.bytes || last_key != reference.last_key)) {
    report(FindingKind::kNodeReference, reference,
           shape_text(reference.level, reference.entries, reference.bytes, reference.last_key),
           shape_text(node.level(), node.entries(), node.object_bytes(), last_key));
  }
  // The first key of an inner node is the last of its first child, whose own keys are compared with
  // the same bound.
  const std::string first_key = node.key(0);
  if (!reference.after.empty() && first_key <= reference.after) {
    report(FindingKind::kNodeBounds, reference, str_cat("keys after \"", reference.after, "\""),
           str_cat("key \"", first_key, "\""));
  }
}

void NodeWalk::check_again(const Reference& reference, const Known& known) {
  if (known.hash != first_bytes(reference.hash)) {
    report(FindingKind::kNodeReference, reference, hash_text(reference.hash), "another hash",
           reference.level == kAnyLevel ? 0 : reference.nid);
  } else if (reference.level != kAnyLevel &&
             known.rest != facts_of(reference.level, reference.entries, reference.bytes,
                                    reference.last_key)) {
    report(FindingKind::kNodeReference, reference,
           shape_text(reference.level, reference.entries, reference.bytes, reference.last_key),
           "other totals, level or keys");
  }
}

void NodeWalk::visit_inner(const Reference& reference, const tree::InnerNode& node) {
  std::string after = reference.after;
  for (uint32_t i = 0; i < node.count(); ++i) {
    const tree::ChildRef child = node.child(i);
    Reference next;
    next.nid = child.nid;
    next.root = reference.root;
    next.level = node.level() - 1;
    next.hash = child.hash;
    next.entries = child.entries;
    next.bytes = child.bytes;
    next.last_key = child.last_key;
    const auto at = known_.find(child.nid);
    if (at != known_.end() && at->second.hash != 0) {
      check_again(next, at->second);
    } else {
      next.after = after;
      waiting_.push_back(std::move(next));
      std::push_heap(waiting_.begin(), waiting_.end(), later);
    }
    after = child.last_key;
  }
}

void NodeWalk::report(FindingKind kind, const Reference& reference, std::string expected,
                      std::string found, std::optional<Nid> shown) {
  findings_.add({.finding = {.kind = kind,
                             .path = reference.last_key,
                             .after = reference.after,
                             .address = str_cat("node ", reference.nid),
                             .expected = std::move(expected),
                             .found = std::move(found)},
                 .origin = {.root = reference.root},
                 .nid = shown.value_or(reference.nid),
                 .address = {}});
}

}  // namespace tarn::verify

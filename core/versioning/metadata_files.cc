#include "core/versioning/metadata_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/model/repository.h"
#include "core/objects/objects.h"
#include "core/sstable/record.h"
#include "core/sstable/table_writer.h"
#include "core/tree/cursor.h"

namespace tarn::versioning {
namespace {

// The number is increased when earlier files must no longer be served.
constexpr std::string_view kFolder = "_tarn/sstables/1/";  // below versioning::kSstablesFolder
constexpr size_t kNameBytes = 16;
/// Nodes of one level in memory at once.
constexpr size_t kNodesAtOnce = 64;
/// Ranges that one call registers.
constexpr size_t kRangesAtOnce = 512;

struct ShownAddress {
  std::string text;
  bool relative = false;
};

ShownAddress address_of(branch::Engine& engine, const Repository& repository, const Entry& entry) {
  if (const auto* own = std::get_if<OwnAddress>(&entry.address)) {
    return {.text = relative_path(*own), .relative = true};
  }
  // There is no single file with its bytes. A reader must fail here rather than copy only the first
  // part.
  if (const auto* parts = std::get_if<PartListAddress>(&entry.address)) {
    return {.text = str_cat("tarn-parts://", repository.name.str(), "/", parts->id)};
  }
  return {.text = objects::physical_address(engine, repository, entry)};
}

std::string value_of(branch::Engine& engine, const Repository& repository, const Entry& entry) {
  const ShownAddress address = address_of(engine, repository, entry);
  return sstable::entry_value(entry, address.text, address.relative);
}

void write_range(branch::Engine& engine, const Repository& repository, const TreeRoot& node,
                 sstable::TableWriter& table) {
  tree::Cursor at(engine.nodes, node);
  for (at.seek(""); at.valid(); at.next()) {
    table.add(at.key(), value_of(engine, repository, at.entry()));
  }
}

/// Splits a tree into ranges: nodes of level 1, or leaves if such a node would be too large or does
/// not exist.
class MetarangeWriter {
 public:
  MetarangeWriter(branch::Engine& engine, const Repository& repository, sstable::TableWriter& table)
      : engine_(engine), repository_(repository), rows_(engine.pool), table_(table) {}

  void write(const TreeRoot& root) {
    visit(std::span(&root, 1));
    make_known();
  }

 private:
  struct Weight {
    uint64_t bytes = 0;
    uint64_t entries = 0;
  };

  /// Visits nodes of one level.
  void visit(std::span<const TreeRoot> siblings) {
    for (size_t first = 0; first < siblings.size(); first += kNodesAtOnce) {
      const auto some = siblings.subspan(first, std::min(kNodesAtOnce, siblings.size() - first));
      const auto nodes = load(some);
      for (size_t i = 0; i < some.size(); ++i) {
        const tree::Node& node = *nodes[i];
        if (node.level() == 0) {
          list(some[i], node, node.key(0), weight_of(node).bytes);
        } else if (node.level() > 1 || !list_if_small(some[i], node)) {
          visit(children_of(node));
        }
      }
    }
  }

  bool list_if_small(const TreeRoot& root, const tree::Node& node) {
    const std::vector<TreeRoot> leaves = children_of(node);
    const std::set<size_t> chosen{0, leaves.size() / 2, leaves.size() - 1};
    std::vector<TreeRoot> sample;
    for (const size_t i : chosen) sample.push_back(leaves[i]);
    const auto loaded = load(sample);
    Weight weight;
    for (const auto& leaf : loaded) {
      const Weight one = weight_of(*leaf);
      weight.bytes += one.bytes;
      weight.entries += one.entries;
    }
    const uint64_t estimate = weight.bytes / weight.entries * node.entries();
    if (estimate > kRangeBytesMax) return false;
    list(root, node, loaded.front()->key(0), estimate);
    return true;
  }

  void list(const TreeRoot& root, const tree::Node& node, std::string min_key, uint64_t bytes) {
    if (++count_ > kListedRangesMax) {
      throw_invalid(str_cat("metarange: it has more than ", kListedRangesMax, " ranges"));
    }
    sstable::RangeRecord record{.id = metadata_id(root.hash),
                                .min_key = std::move(min_key),
                                .max_key = node.key(node.count() - 1),
                                .estimated_bytes = bytes,
                                .count = node.entries()};
    table_.add(record.max_key, sstable::range_value(record));
    listed_.push_back(root);
    if (listed_.size() >= kRangesAtOnce) make_known();
  }

  void make_known() {
    rows_.add(repository_.id, SstableKind::kRange, listed_);
    listed_.clear();
  }

  std::vector<std::shared_ptr<const tree::Node>> load(std::span<const TreeRoot> nodes) {
    std::vector<Nid> nids;
    for (const TreeRoot& node : nodes) nids.push_back(node.nid);
    return engine_.nodes.load(nids);
  }

  static std::vector<TreeRoot> children_of(const tree::Node& node) {
    std::vector<TreeRoot> out;
    for (uint32_t i = 0; i < node.count(); ++i) {
      const tree::ChildRef child = node.child(i);
      out.push_back({child.nid, child.hash});
    }
    return out;
  }

  Weight weight_of(const tree::Node& leaf) {
    Weight out{.bytes = 0, .entries = leaf.count()};
    for (uint32_t i = 0; i < leaf.count(); ++i) {
      out.bytes += leaf.key(i).size() + value_of(engine_, repository_, leaf.entry(i)).size();
    }
    return out;
  }

  branch::Engine& engine_;
  const Repository& repository_;
  Sstables rows_;
  sstable::TableWriter& table_;
  std::vector<TreeRoot> listed_;  // and not yet registered
  uint64_t count_ = 0;
};

std::string write_file(branch::Engine& engine, const Repository& repository, SstableKind kind,
                       const TreeRoot& node) {
  std::string file = str_cat(kFolder, to_hex(random_bytes(kNameBytes)), ".sst");
  const blob::Located at = engine.stores.locate(str_cat(repository.storage_namespace, "/", file));
  const auto blob = at.store->create(at.key, std::nullopt);
  const bool range = kind == SstableKind::kRange;
  sstable::TableWriter table(range ? sstable::kRangesType : sstable::kMetarangesType,
                             [&blob](std::string_view bytes) { blob->write(bytes); });
  if (range) {
    write_range(engine, repository, node, table);
  } else {
    MetarangeWriter(engine, repository, table).write(node);
  }
  table.finish();
  if (!blob->finish()) {
    throw Error(ErrorCode::kUnavailable, reason::kAddressTaken, "writing metadata: try again");
  }
  return file;
}

/// nullopt if the file does not exist.
std::optional<MetadataFile> find_file(branch::Engine& engine, const Repository& repository,
                                      std::string_view file) {
  if (!file.starts_with(kFolder)) return std::nullopt;
  blob::Located at = engine.stores.locate(str_cat(repository.storage_namespace, "/", file));
  const auto stat = at.store->stat(at.key);
  if (!stat) return std::nullopt;
  return MetadataFile{
      .location = std::string(file), .at = std::move(at), .size_bytes = stat->size_bytes};
}

std::optional<Sstables::Found> find_node(branch::Engine& engine, const Repository& repository,
                                         SstableKind kind, const Hash128& hash) {
  Sstables& rows = engine.sstables;
  auto found = rows.find(repository.id, kind, hash);
  if (found || kind == SstableKind::kRange) return found;
  const auto commit = engine.commits.find_by_root(repository.id, hash);
  if (!commit || commit->root.empty()) return std::nullopt;
  rows.add(repository.id, kind, std::span(&commit->root, 1));
  return Sstables::Found{.nid = commit->root.nid, .file = ""};
}

}  // namespace

MetadataFile metadata_file(branch::Engine& engine, const Repository& repository, SstableKind kind,
                           const Hash128& hash) {
  const auto found = find_node(engine, repository, kind, hash);
  if (!found) {
    const bool range = kind == SstableKind::kRange;
    throw Error(ErrorCode::kNotFound, range ? reason::kRangeNotFound : reason::kMetarangeNotFound,
                str_cat(range ? "range " : "metarange ", metadata_id(hash), ": not found"));
  }
  if (auto file = find_file(engine, repository, found->file)) return *std::move(file);
  const TreeRoot node{found->nid, hash};
  const std::string written = write_file(engine, repository, kind, node);
  engine.sstables.set_file(repository.id, kind, node, written);
  auto file = find_file(engine, repository, written);
  if (!file) {
    throw Error(ErrorCode::kUnavailable, reason::kBytesMissing, "reading metadata: it was removed");
  }
  return *std::move(file);
}

std::string metadata_id(const Hash128& hash) {
  // Clients expect twice as many bytes: repeating the hash keeps the 64 digits and remains a
  // function of the content.
  const std::string half = to_hex(view_of(hash));
  return half + half;
}

}  // namespace tarn::versioning

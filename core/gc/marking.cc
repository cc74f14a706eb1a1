#include "core/gc/marking.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/db/pool.h"
#include "core/gc/root_store.h"
#include "core/imports/import_job.h"
#include "core/tree/leaf_node.h"
#include "core/tree/visit_nodes.h"

namespace tarn::gc {
namespace {

Address address_of(const tree::EntryFields& fields) {
  if (fields.external) return ExternalAddress{};
  return decode_address(fields.address_tail);
}

/// The roots of one repository, read in the snapshot of a connection.
class RootReader {
 public:
  RootReader(db::Connection& connection, const MarkRequest& request, Marked& marked)
      : roots_(connection), request_(request), marked_(marked) {}

  std::vector<Nid> read_own() {
    std::vector<Nid> trees = roots_.trees(request_.repository, request_.without);
    roots_.import_checkpoints(request_.repository, [&](std::string_view bytes) {
      const imports::ImportCheckpoint checkpoint = imports::decode_import_checkpoint(bytes);
      if (!checkpoint.root.empty()) trees.push_back(checkpoint.root.nid);
    });
    roots_.entries(request_.repository, [&](std::string_view bytes) {
      marked_.objects.add_own(decode_entry(bytes).address);
      request_.on_progress();
    });
    read_parts(request_.repository);
    return trees;
  }

  std::vector<Nid> read_of(RepositoryId reader) {
    roots_.entries(reader, [&](std::string_view bytes) {
      marked_.objects.add_foreign(decode_entry(bytes).address);
      request_.on_progress();
    });
    read_parts(reader);
    return roots_.trees(reader, {});
  }

  std::vector<RepositoryId> readers() { return roots_.readers(request_.repository); }

  /// The lists themselves are read in the same snapshot, and judged when the trees are marked.
  std::vector<std::pair<int64_t, meta::PartList>> lists_of(RepositoryId repository) {
    std::vector<std::pair<int64_t, meta::PartList>> out;
    roots_.part_lists(repository, [&](int64_t id, std::string_view bytes) {
      out.emplace_back(id, meta::decode_parts(bytes));
      request_.on_progress();
    });
    return out;
  }

 private:
  void read_parts(RepositoryId repository) {
    roots_.open_parts(repository, [&](std::string_view bytes) {
      marked_.objects.add_parts(meta::decode_parts(bytes), repository);
    });
  }

  Roots roots_;
  const MarkRequest& request_;
  Marked& marked_;
};

using ListedParts = std::vector<std::pair<int64_t, meta::PartList>>;

/// Parts of a list are live unless nothing refers to the list and it is dying.
void judge_lists(const MarkRequest& request, const ListedParts& lists, Marked& marked) {
  for (const auto& [id, parts] : lists) {
    const bool used = marked.objects.has_part_list(id);
    if (!used) marked.unused_part_lists.push_back(id);
    const bool dying =
        request.all_lists_die || request.deleted ||
        std::binary_search(request.dying_lists.begin(), request.dying_lists.end(), id);
    if (used || !dying) {
      marked.objects.add_parts(parts, request.repository);
      continue;
    }
    for (const meta::StoredPart& part : parts) {
      if (!part.owner) marked.dying_parts.push_back(print_of(part.address));
    }
  }
}

}  // namespace

Marked mark(branch::Engine& engine, const MarkRequest& request) {
  Marked marked(request.repository);
  std::vector<Nid> own_trees;
  std::vector<std::vector<Nid>> foreign_trees;
  ListedParts lists;
  {
    db::Pool::Lease lease = engine.pool.lease();
    lease->begin_snapshot();
    RootReader roots(*lease, request, marked);
    if (!request.deleted) own_trees = roots.read_own();
    lists = roots.lists_of(request.repository);
    for (const RepositoryId reader : roots.readers()) {
      foreign_trees.push_back(roots.read_of(reader));
      for (const auto& [id, parts] : roots.lists_of(reader))
        marked.objects.add_parts(parts, reader);
    }
    lease->commit();
  }
  UncachedNodes nodes(engine.pool);
  tree::visit_nodes(nodes, own_trees, marked.nodes, [&](Nid, const tree::Node& node) {
    request.on_progress();
    const auto* leaf = dynamic_cast<const tree::LeafNode*>(&node);
    for (uint32_t i = 0; leaf != nullptr && i < leaf->count(); ++i) {
      marked.objects.add_own(address_of(leaf->fields(i)));
    }
  });
  for (const std::vector<Nid>& trees : foreign_trees) {
    tree::NidSet visited;
    tree::visit_nodes(nodes, trees, visited, [&](Nid, const tree::Node& node) {
      request.on_progress();
      const auto* leaf = dynamic_cast<const tree::LeafNode*>(&node);
      for (uint32_t i = 0; leaf != nullptr && i < leaf->count(); ++i) {
        marked.objects.add_foreign(address_of(leaf->fields(i)));
      }
    });
  }
  judge_lists(request, lists, marked);
  marked.objects.finish();
  return marked;
}

}  // namespace tarn::gc

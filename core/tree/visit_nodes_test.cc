#include "core/tree/visit_nodes.h"

#include <set>

#include <gtest/gtest.h>

#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

EntryMap numbered_entries(uint64_t count) {
  EntryMap out;
  for (uint64_t i = 0; i < count; ++i) out.emplace(numbered(i), an_entry(i));
  return out;
}

/// Keys of all leaves that a visit shows; fails on a node shown twice.
std::multiset<std::string> visited_keys(MemoryNodeStore& store, std::vector<Nid> roots,
                                        NidSet& visited) {
  std::multiset<std::string> keys;
  std::set<Nid> seen;
  visit_nodes(store, roots, visited, [&](Nid nid, const Node& node) {
    EXPECT_TRUE(seen.insert(nid).second) << nid;
    for (uint32_t i = 0; node.level() == 0 && i < node.count(); ++i) keys.insert(node.key(i));
  });
  return keys;
}

TEST(VisitNodes, ShowsEveryLeafOfATreeOnce) {
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(50'000);
  const TreeRoot root = a_tree(store, entries);
  NidSet visited;
  const auto keys = visited_keys(store, {root.nid}, visited);
  ASSERT_EQ(keys.size(), entries.size());
  for (const auto& [key, entry] : entries) EXPECT_EQ(keys.count(key), 1u) << key;
  EXPECT_TRUE(visited.contains(root.nid));
  EXPECT_GT(visited.size(), 200u);
}

TEST(VisitNodes, SharedNodesAreReadOnceForAllRoots) {
  MemoryNodeStore store;
  const TreeRoot first = a_tree(store, numbered_entries(50'000));
  const TreeRoot second = edit(store, first, {{"k000042x", an_entry(7, 1)}}).root;
  NidSet visited;
  const auto before = visited_keys(store, {first.nid}, visited);
  const uint64_t nodes_of_first = visited.size();
  const auto changed = visited_keys(store, {second.nid, first.nid, second.nid}, visited);
  EXPECT_EQ(changed.count("k000042x"), 1u);
  EXPECT_LT(changed.size(), 1'000u) << "leaves that both trees share were shown again";
  EXPECT_LE(visited.size() - nodes_of_first, 6u);
}

TEST(VisitNodes, WithoutRootsNothingIsRead) {
  MemoryNodeStore store;
  NidSet visited;
  EXPECT_TRUE(visited_keys(store, {}, visited).empty());
  EXPECT_EQ(visited.size(), 0u);
}

TEST(VisitNodes, AMissingNodeIsAnError) {
  MemoryNodeStore store;
  NidSet visited;
  const std::vector<Nid> roots{4711};
  EXPECT_THROW(visit_nodes(store, roots, visited, [](Nid, const Node&) {}), Error);
}

}  // namespace
}  // namespace tarn::tree

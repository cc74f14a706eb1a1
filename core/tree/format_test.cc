// Tests of the byte formats: golden files in tests/golden/tree and the examples in docs/format.
// After an intended change of a format (which needs a new version of it), TARN_UPDATE_GOLDEN=1
// writes the golden files again.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/tree/body.h"
#include "core/tree/chunker.h"
#include "core/tree/inner_node.h"
#include "core/tree/node_encoder.h"
#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

std::string source_path(std::string_view relative) {
  return std::string(TARN_SOURCE_DIR) + "/" + std::string(relative);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = source_path("tests/golden/tree/" + name);
  if (std::getenv("TARN_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(text, read_text(path)) << name;
}

void expect_in_page(const std::string& page, const std::string& example) {
  EXPECT_NE(read_text(source_path("docs/format/" + page)).find(example), std::string::npos)
      << page << " should show:\n"
      << example;
}

/// Sixteen bytes a line, offset first, printable characters last.
std::string dump(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 16) {
    const std::string_view row = bytes.substr(at, 16);
    char offset[20];
    std::snprintf(offset, sizeof offset, "%04zx", at);
    out += offset;
    std::string text;
    for (const char c : row) {
      out += " " + to_hex({&c, 1});
      text.push_back(c > ' ' && c < '\x7f' ? c : '.');
    }
    out += std::string(3 * (16 - row.size()), ' ') + "  " + text + "\n";
  }
  return out;
}

constexpr TreeFormat kZeroSalt{0};

Entry first_example() {
  Entry entry;
  entry.size_bytes = 1000;
  entry.mtime = from_millis(1700000000000);
  entry.etag = "d41d8cd98f00b204e9800998ecf8427e";
  entry.address = OwnAddress{{0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x00, 1, 2, 3, 4, 5, 6, 0x2a}};
  entry.content_type = "text/csv";
  return entry;
}

Entry second_example() {
  Entry entry;
  entry.size_bytes = 5;
  entry.mtime = from_millis(1700000000250);
  entry.etag = "d41d8cd98f00b204e9800998ecf8427e-2";
  entry.address = ExternalAddress{"s3://b/in/x"};
  entry.content_type = "text/csv";
  entry.set_user_metadata({{"k", "v"}});
  return entry;
}

EncodedNode example_leaf() {
  LeafEncoder encoder;
  EntryBytes bytes;
  const Entry first = first_example();
  bytes.assign(first);
  encoder.add("data/a", bytes.fields());
  const Entry second = second_example();
  bytes.assign(second);
  encoder.add("data/ab", bytes.fields());
  return encoder.encode();
}

EncodedNode example_inner() {
  InnerEncoder encoder(1);
  const Hash128 leaf = hash_of(kZeroSalt, example_leaf());
  encoder.add({"data/ab", 1000, leaf, 2, 1005, true});
  encoder.add({"data/b", 1007, Hash128{{0xff}}, 300, 70000, false});
  return encoder.encode();
}

std::string hash_line(const EncodedNode& node) { return to_hex(view_of(hash_of(kZeroSalt, node))); }

TEST(Format, NodesMatchTheGoldenFiles) {
  const EncodedNode leaf = example_leaf();
  const EncodedNode inner = example_inner();
  expect_golden("leaf.txt", dump(leaf.bytes) + hash_line(leaf) + "\n");
  expect_golden("inner.txt", dump(inner.bytes) + hash_line(inner) + "\n");
}

TEST(Format, ThePageOfNodesShowsThem) {
  const EncodedNode leaf = example_leaf();
  const EncodedNode inner = example_inner();
  for (const EncodedNode& node : {leaf, inner}) {
    expect_in_page("node.md", dump(node.bytes));
    expect_in_page("node.md", hash_line(node));
  }
}

/// A stored body of an earlier build: the compressor may change, reading it may not.
TEST(Format, AStoredBodyStaysReadable) {
  const std::string path = source_path("tests/golden/tree/body.hex");
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(50);
  const std::string body = store.stored(a_tree(store, entries).nid).body;
  if (std::getenv("TARN_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << to_hex(body) << "\n";
  std::string text = read_text(path);
  text.pop_back();
  const auto node = Node::decode(from_hex(text).value());
  ASSERT_EQ(node->count(), entries.size());
  uint32_t index = 0;
  for (const auto& [key, entry] : entries) {
    EXPECT_EQ(node->key(index), key);
    EXPECT_EQ(node->entry(index), entry);
    ++index;
  }
}

TEST(Format, RootHashesMatchTheGoldenFiles) {
  std::string lines;
  for (const uint64_t salt : {uint64_t{0}, kTestFormat.salt}) {
    for (const uint64_t count : {1u, 2u, 23u, 24u, 160u, 480u, 1000u, 10000u, 60000u}) {
      MemoryNodeStore store;
      const TreeFormat format{salt};
      const TreeRoot root = a_tree(store, numbered_entries(count), format);
      lines += std::to_string(salt) + " " + std::to_string(count) + " " +
               std::to_string(store.nodes().size()) + " " + to_hex(view_of(root.hash)) + "\n";
    }
  }
  expect_golden("roots.txt", lines);
}

/// Last keys of the nodes that the keys k00000000, k00000001, ... fall into.
std::string boundaries(uint8_t level, uint32_t weight) {
  Chunker chunker(kZeroSalt, level);
  std::string line;
  for (uint64_t i = 0, found = 0; found < 6; ++i) {
    if (!chunker.add(numbered(i), weight)) continue;
    line += (found == 0 ? "" : " ") + numbered(i);
    ++found;
  }
  return line;
}

TEST(Format, BoundariesMatchTheGoldenFilesAndThePage) {
  std::string lines;
  for (const uint8_t level : {uint8_t{0}, uint8_t{1}, uint8_t{2}}) {
    for (const uint32_t weight : {1u, 3u}) {
      if (level > 0 && weight > 1) continue;
      lines += std::to_string(level) + " " + std::to_string(weight) + " " +
               boundaries(level, weight) + "\n";
    }
  }
  expect_golden("boundaries.txt", lines);
  expect_in_page("chunker.md", lines);
}

TEST(Format, ThePageOfEntriesShowsAnExample) {
  expect_in_page("entry.md", dump(encode_entry(first_example())));
  expect_in_page("entry.md", dump(encode_entry(second_example())));
}

Commit example_commit() {
  Commit commit;
  commit.root.hash = Hash128{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  CommitId parent;
  parent.bytes.fill(0xab);
  commit.parents = {parent};
  commit.committer = "ann";
  commit.message = "add a table";
  commit.metadata = {{"job", "42"}};
  commit.created = from_millis(1700000000000);
  return commit;
}

TEST(Format, ThePageOfCommitsShowsAnExample) {
  const std::string id = to_text(compute_commit_id(example_commit()));
  expect_golden("commit.txt", id + "\n");
  expect_in_page("commit.md", id);
}

}  // namespace
}  // namespace tarn::tree

#include "core/tree/node.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include "core/base/wire.h"
#include "core/tree/body.h"
#include "core/tree/chunker.h"
#include "core/tree/leaf_node.h"
#include "core/tree/node_encoder.h"
#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

/// Entries of every kind that the format knows.
EntryMap every_kind() {
  EntryMap out;
  Entry entry = an_entry(1);
  out["own"] = entry;
  entry.address = PartListAddress{1234567890123};
  entry.etag += "-17";
  out["parts"] = entry;
  entry.address = ForeignAddress{RepositoryId{77}, OwnAddress{{1, 2, 3}}};
  entry.etag = "not an md5";
  out["foreign"] = entry;
  entry.address = ExternalAddress{"s3://bucket/path/to/file"};
  entry.size_bytes = UINT64_MAX / 8;
  out["external/1"] = entry;
  entry.address = ExternalAddress{"s3://bucket/path/to/another file"};
  entry.mtime = from_millis(-5);
  out["external/2"] = entry;
  entry.address = ExternalAddress{"no-slash"};
  entry.etag = "";
  out["external/3"] = entry;
  entry.address = ExternalAddress{""};
  entry.content_type = "";
  out["external/4"] = entry;
  entry.set_user_metadata({{"a", "1"}, {"b", std::string(300, 'v')}});
  entry.extras.set(ExtraTag::kCacheControl, "no-cache");
  entry.extras.set(static_cast<ExtraTag>(4000000000), "a tag of a later version");
  out["extras"] = entry;
  for (uint8_t i = 0; i < 2; ++i) out[numbered(i, "digest/")] = a_digested_entry(1, i);
  for (uint64_t i = 0; i < 40; ++i) out[numbered(i, "more/")] = an_entry(i, i);
  return out;
}

std::string leaf_body() {
  MemoryNodeStore store;
  return store.stored(a_tree(store, every_kind()).nid).body;
}

LeafNode leaf_of(const EntryMap& entries) {
  LeafEncoder encoder;
  EntryBytes bytes;
  for (const auto& [key, entry] : entries) {
    bytes.assign(entry);
    encoder.add(key, bytes.fields());
  }
  return LeafNode(encoder.encode().bytes);
}

std::string inner_body() {
  MemoryNodeStore store;
  return store.stored(a_tree(store, numbered_entries(8000)).nid).body;
}

std::string raw(const std::string& body) { return std::string(1, '\0') + unpack_body(body); }

/// Whether `body` decodes; what decodes must then be readable everywhere, and in order.
bool survives(std::string_view body) {
  std::shared_ptr<const Node> node;
  try {
    node = Node::decode(body);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
    return false;
  }
  std::string previous;
  for (uint32_t i = 0; i < node->count(); ++i) {
    const std::string key = node->key(i);
    EXPECT_LT(previous, key);
    EXPECT_EQ(node->lower_bound(key), i);
    previous = key;
    if (node->level() == 0) {
      node->entry(i);
    } else {
      EXPECT_EQ(node->child(i).last_key, key);
      EXPECT_GT(node->child(i).nid, 0);
    }
  }
  EXPECT_EQ(node->lower_bound(previous + '\0'), node->count());
  return true;
}

TEST(Node, KeepsEveryKindOfEntry) {
  MemoryNodeStore store;
  EXPECT_EQ(contents(store, a_tree(store, every_kind())), every_kind());
}

TEST(Node, EntriesOfTwoLeavesCompareAsFieldsDo) {
  const LeafNode left = leaf_of(every_kind());
  EntryMap changed = every_kind();
  changed.erase("extras");  // other dictionaries and indexes
  changed["external/2"].address = ExternalAddress{"s3://bucket/elsewhere/another file"};
  // Each differs in one field from the entry of its key.
  changed["own"].extras.set(ExtraTag::kCacheControl, "no-cache");
  changed["parts"].content_type = "another/type";
  changed["foreign"].etag = "another etag";
  changed[numbered(1, "more/")].address = OwnAddress{{9}};
  changed["external/1"].size_bytes = 1;
  const LeafNode right = leaf_of(changed);
  for (uint32_t i = 0; i < left.count(); ++i) {
    for (uint32_t j = 0; j < right.count(); ++j) {
      EXPECT_EQ(left.has_content_of(i, right, j), same_content(left.fields(i), right.fields(j)))
          << left.key(i) << " " << right.key(j);
    }
  }
}

TEST(Node, EachByteOfAnEntryCountsWhenLeavesAreCompared) {
  Entry entry = every_kind()["own"];
  const auto same = [](const Entry& a, const Entry& b) {
    return leaf_of({{"key", a}}).has_content_of(0, leaf_of({{"key", b}}), 0);
  };
  for (size_t size = 0; size < 40; ++size) {
    entry.content_type = std::string(size, 't');
    EXPECT_TRUE(same(entry, entry)) << size;
    for (size_t at = 0; at < size; ++at) {
      Entry other = entry;
      other.content_type[at] = 'u';
      EXPECT_FALSE(same(entry, other)) << size << " " << at;
    }
  }
  for (size_t at = 0; at < entry.etag.size(); ++at) {
    Entry other = entry;
    other.etag[at] = other.etag[at] == '0' ? '1' : '0';
    EXPECT_FALSE(same(entry, other)) << at;
  }
  const auto& own = std::get<OwnAddress>(entry.address);
  for (size_t at = 0; at < own.id.size(); ++at) {
    Entry other = entry;
    std::get<OwnAddress>(other.address).id[at] ^= 1;
    EXPECT_FALSE(same(entry, other)) << at;
  }
}

TEST(Node, ScansAdvanceTogetherOverEqualEntries) {
  std::mt19937_64 random(5);
  uint64_t advanced = 0;
  for (int round = 0; round < 300; ++round) {
    EntryMap entries;
    while (entries.size() < 100) entries[awkward_key(random)] = an_entry(1);
    EntryMap changed = entries;
    for (auto it = changed.begin(); it != changed.end();) {
      const uint64_t fate = random() % 60;
      if (fate == 0) it->second = an_entry(2);
      it = fate == 1 ? changed.erase(it) : std::next(it);
    }
    for (int i = 0; i < 2; ++i) changed[awkward_key(random)] = an_entry(3);
    const LeafNode left = leaf_of(entries);
    const LeafNode right = leaf_of(changed);
    const auto same = [&](uint32_t i, uint32_t j) { return left.has_content_of(i, right, j); };
    for (uint32_t i = 0; i < left.count(); ++i) {
      const KeySection::Position at = right.keys().find(left.key(i));
      if (!at.exact) continue;
      uint32_t steps = 0;
      while (i + steps + 1 < left.count() && at.index + steps + 1 < right.count() &&
             left.key(i + steps + 1) == right.key(at.index + steps + 1) &&
             same(i + steps + 1, at.index + steps + 1)) {
        ++steps;
      }
      KeyScan a(left.keys(), i);
      KeyScan b(right.keys(), at.index);
      KeyScan::advance_while_equal(a, b, same);
      ASSERT_EQ(a.index(), i + steps);
      ASSERT_EQ(b.index(), at.index + steps);
      ASSERT_EQ(a.key(), left.key(a.index()));
      ASSERT_EQ(b.key(), a.key());
      advanced += steps;
      const auto goes_on = [](KeyScan& scan, const LeafNode& leaf) {
        scan.next();
        if (scan.index() < leaf.count()) {
          EXPECT_EQ(scan.key(), leaf.key(scan.index()));
        }
      };
      goes_on(a, left);
      goes_on(b, right);
    }
  }
  EXPECT_GT(advanced, 100'000u);
}

TEST(Node, LowerBoundAgreesWithASortedList) {
  std::mt19937_64 random(3);
  EntryMap entries;
  while (entries.size() < 150) entries[awkward_key(random)] = an_entry(1);
  const LeafNode node = leaf_of(entries);
  for (int i = 0; i < 5000; ++i) {
    const std::string key = awkward_key(random);
    const auto expected = std::distance(entries.begin(), entries.lower_bound(key));
    ASSERT_EQ(node.lower_bound(key), expected);
  }
}

TEST(Node, AnyFlippedByteIsNoticedOrHarmless) {
  for (const std::string& body : {leaf_body(), raw(leaf_body()), inner_body(), raw(inner_body())}) {
    ASSERT_TRUE(survives(body));
    for (size_t i = 0; i < body.size(); ++i) {
      for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
        std::string flipped = body;
        flipped[i] = static_cast<char>(flipped[i] ^ mask);
        survives(flipped);
      }
    }
  }
}

TEST(Node, AFlippedByteOfACompressedBodyNeverChangesWhatIsRead) {
  const std::string body = leaf_body();
  const std::string encoding = unpack_body(body);
  ASSERT_EQ(body[0], 1) << "compressed";
  for (size_t i = 1; i < body.size(); ++i) {
    for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
      std::string flipped = body;
      flipped[i] = static_cast<char>(flipped[i] ^ mask);
      // A few bits are padding: without them the same comes out.
      if (survives(flipped)) {
        EXPECT_EQ(unpack_body(flipped), encoding) << i;
      }
    }
  }
}

TEST(Node, AnyTruncationIsDataLoss) {
  for (const std::string& body : {leaf_body(), raw(leaf_body()), inner_body(), raw(inner_body())}) {
    for (size_t size = 0; size < body.size(); ++size) {
      // A copy of just that size: reading past it is then seen by a sanitizer.
      const std::vector<char> cut(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(survives({cut.data(), cut.size()})) << size;
    }
    EXPECT_FALSE(survives(body + '\0'));
  }
}

TEST(Node, RandomDamageIsNoticedOrHarmless) {
  std::mt19937_64 random(4);
  for (const std::string& body : {raw(leaf_body()), raw(inner_body())}) {
    for (int round = 0; round < 5000; ++round) {
      std::string damaged = body;
      for (uint64_t i = 1 + random() % 4; i > 0; --i) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      if (random() % 4 == 0) damaged.erase(random() % damaged.size(), random() % 40);
      survives(damaged);
    }
  }
}

/// Whether a section of these keys, each the length of what it shares and the rest, is accepted.
bool accepts_keys(const std::vector<std::pair<uint64_t, std::string>>& keys) {
  std::string bytes;
  std::string restarts;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i % kRestartInterval == 0) put_fixed(restarts, bytes.size(), 4);
    put_varint(bytes, keys[i].first);
    put_bytes(bytes, keys[i].second);
  }
  bytes += restarts;
  NodeReader in(bytes);
  try {
    KeySection::parse(in, static_cast<uint32_t>(keys.size()));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    return false;
  }
  return true;
}

TEST(Node, RefusesKeysThatDoNotAscendOrAreNotCompressed) {
  EXPECT_TRUE(accepts_keys({{0, "ab"}, {1, "c"}, {2, "d"}, {0, "b"}}));
  EXPECT_FALSE(accepts_keys({{0, "b"}, {0, "a"}}));
  EXPECT_FALSE(accepts_keys({{0, "abx"}, {1, "a"}}));
  EXPECT_TRUE(accepts_keys({{0, "a\x7f"}, {1, "\x80"}}));
  EXPECT_FALSE(accepts_keys({{0, "a\x80"}, {1, "\x7f"}}));
  EXPECT_FALSE(accepts_keys({{0, "ab"}, {1, "bc"}})) << "shares more than it says";
  EXPECT_FALSE(accepts_keys({{0, "abc"}, {1, "ba"}}));
  EXPECT_FALSE(accepts_keys({{0, "ab"}, {2, ""}})) << "the same key";
  EXPECT_FALSE(accepts_keys({{0, "ab"}, {1, ""}}));
  std::vector<std::pair<uint64_t, std::string>> keys = {{0, "k"}};
  while (keys.size() < kRestartInterval) keys.emplace_back(keys.size(), "k");
  const std::string last(kRestartInterval, 'k');
  for (const auto& [whole, accepted] : std::vector<std::pair<std::string, bool>>{
           {last + "a", true}, {"l", true}, {last, false}, {"kk", false}, {"a", false}}) {
    keys.resize(kRestartInterval);
    keys.emplace_back(0, whole);
    EXPECT_EQ(accepts_keys(keys), accepted) << whole;
  }
}

TEST(Node, AColumnReadsTheSameInBothWays) {
  for (unsigned bits = 0; bits <= 64; bits += 8) {
    std::vector<uint64_t> values;
    for (uint64_t i = 0; i < 20; ++i) {
      values.push_back(bits == 0 ? 0 : (i * 0x9e3779b97f4a7c15) >> (64 - bits));
    }
    std::string bytes;
    put_uint_column(bytes, values);
    NodeReader in(bytes);
    const UintColumn column = UintColumn::parse(in, 20);
    std::vector<uint64_t> each;
    column.each(20, [&](uint64_t value) { each.push_back(value); });
    EXPECT_EQ(each, values) << bits;
    for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(column.at(i), values[i]);
  }
}

TEST(Node, RefusesBodiesThatUnpackToTooMuch) {
  const std::string zeros(kNodeBytesMax + 1, '\0');
  std::string body(ZSTD_compressBound(zeros.size()) + 1, '\1');
  body.resize(1 + ZSTD_compress(body.data() + 1, body.size() - 1, zeros.data(), zeros.size(), 1));
  ASSERT_LT(body.size(), 10000u);
  EXPECT_FALSE(survives(body));
  EXPECT_FALSE(survives(std::string(1, '\0') + zeros));
}

TEST(Node, TheHashLeavesOutAddressesOnly) {
  const ChildRef child{"key", 5, Hash128{{1}}, 10, 100, true};
  const auto hash_with = [](const ChildRef& ref, const TreeFormat& format) {
    InnerEncoder encoder(1);
    encoder.add(ref);
    return hash_of(format, encoder.encode());
  };
  const Hash128 hash = hash_with(child, kTestFormat);
  ChildRef other = child;
  other.nid = 6;
  EXPECT_EQ(hash_with(other, kTestFormat), hash);
  EXPECT_NE(hash_with(child, TreeFormat{9}), hash);
  other = child;
  other.closed_by_rule = false;
  EXPECT_NE(hash_with(other, kTestFormat), hash);
  other = child;
  other.bytes = 101;
  EXPECT_NE(hash_with(other, kTestFormat), hash);
  other = child;
  other.hash.bytes[0] = 2;
  EXPECT_NE(hash_with(other, kTestFormat), hash);
}

TEST(Node, TheHashCanBeCheckedAgainstAStoredBody) {
  MemoryNodeStore store;
  a_tree(store, numbered_entries(8000));
  for (const auto& [nid, stored] : store.nodes()) {
    EXPECT_EQ(hash_of_body(kTestFormat, stored.body), stored.hash);
  }
}

TEST(Node, RefusesAnEntryTooLongForANode) {
  MemoryNodeStore store;
  Entry entry = an_entry(1);
  entry.extras.set(ExtraTag::kUserMetadata, std::string(kEntryExtraBytesMax, 'x'));
  EXPECT_THROW(a_tree(store, {{"a", entry}}), Error);
  entry.extras.set(ExtraTag::kUserMetadata, std::string(kEntryExtraBytesMax - 100, 'x'));
  EXPECT_EQ(contents(store, a_tree(store, {{"a", entry}})), (EntryMap{{"a", entry}}));
}

std::string noise(std::mt19937_64& random, size_t size) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

TEST(Node, BodiesOfEverySizeAroundPageLimitsReadBack) {
  std::mt19937_64 random(5);
  MemoryNodeStore store;
  for (size_t size = 1800; size < 8400; size += size % 2000 < 1800 ? 37 : 1) {
    Entry entry = an_entry(1);
    entry.extras.set(ExtraTag::kExpires, noise(random, size));
    const EntryMap entries{{"key", entry}};
    ASSERT_EQ(contents(store, a_tree(store, entries)), entries);
  }
}

TEST(Node, LongMetadataMakesSmallerLeaves) {
  std::mt19937_64 random(6);
  EntryMap entries;
  for (uint64_t i = 0; i < 480; ++i) {
    Entry entry = an_entry(i);
    entry.set_user_metadata({{"long", noise(random, 2048)}});
    entries[numbered(i)] = entry;
  }
  MemoryNodeStore store;
  EXPECT_EQ(contents(store, a_tree(store, entries)), entries);
  for (const auto& [nid, stored] : store.nodes()) {
    EXPECT_LT(stored.body.size(), 256u * 1024);
    if (stored.level == 0) {
      EXPECT_LE(store.load(nid)->count(), kLeafWeightMax / 5);
    }
  }
}

TEST(Node, TheLongestKeysStayUnderTheLimits) {
  std::mt19937_64 random(7);
  EntryMap entries;
  for (uint64_t i = 0; i < 12000; ++i) entries[noise(random, 1024)] = an_entry(i % 10);
  MemoryNodeStore store;
  const TreeRoot root = a_tree(store, entries);
  EXPECT_EQ(contents(store, root), entries);
  for (const auto& [nid, stored] : store.nodes()) {
    EXPECT_LE(stored.body.size(), kNodeKeyBytesMax + 16 * 1024);
    EXPECT_LE(store.load(nid)->count(), kNodeKeyBytesMax / 1024 + 1);
  }
}

}  // namespace
}  // namespace tarn::tree

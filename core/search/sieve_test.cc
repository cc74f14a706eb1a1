// Ranges that a query passes over; that it passes over no match is in range_summary_test.cc.
#include "core/search/sieve.h"

#include <gtest/gtest.h>

#include "core/tree/tree_fixture.h"

namespace tarn::search {
namespace {

Query where(std::string_view text) {
  Query query;
  query.where.emplace(parse_expression(text));
  return query;
}

RangeSummary summary_of(const tree::EntryMap& entries) {
  tree::MemoryNodeStore store;
  tree::a_tree(store, entries);
  // One range is the whole tree.
  const auto node = tree::Node::decode(store.nodes().begin()->second.body);
  return RangeSummary::of(static_cast<const tree::LeafNode&>(*node));
}

/// Of one object: data/a.csv, 300 bytes, at 5 s, text/csv, metadata k=v, tag t=u.
RangeSummary sample_range() {
  Entry entry = tree::an_entry(1);
  entry.size_bytes = 300;
  entry.mtime = from_millis(5000);
  entry.content_type = "text/csv";
  entry.set_user_metadata({{"k", "v"}});
  entry.set_object_tags({{"t", "u"}});
  return summary_of({{"data/a.csv", entry}});
}

TEST(Sieve, SkipsRangesWithoutAMatch) {
  const RangeSummary summary = sample_range();
  for (const char* text : {"size > 300KB",
                           "size < 299",
                           "size = 301",
                           "not size <= 300KB",
                           "size between 301 and 400",
                           "modified < 4",
                           "modified > 6",
                           "not modified > 4",
                           "loss < 0.02",
                           "has loss",
                           "loss != 3",
                           "k = w",
                           "k in (w, x)",
                           "tag.t = w",
                           "tag.k = v",
                           "meta.t = u",
                           "has tag.k",
                           "path = data/a.png",
                           "path ~ **.png",
                           "type = image/*",
                           "type = image/png",
                           "k = v and loss < 1",
                           "k = w or loss < 1",
                           "not (k = v or size > 1)",
                           "not (not loss < 1)",
                           "k = v and (k = w or tag.t = w)"}) {
    const Sieve sieve(where(text));
    EXPECT_FALSE(sieve.empty()) << text;
    EXPECT_FALSE(sieve.passes(summary)) << text;
  }
}

TEST(Sieve, ReadsRangesThatMayHoldAMatch) {
  const RangeSummary summary = sample_range();
  for (const char* text :
       {"size = 300", "not size = 301", "modified = 5", "has k", "k != w", "k = v", "tag.t = u",
        "path ~ **.csv", "path = data/a.csv", "type = text/*", "k = w or size = 300", "not k = w",
        "not (k = w and loss < 1)", "not not k = v"}) {
    EXPECT_TRUE(Sieve(where(text)).passes(summary)) << text;
  }
}

TEST(Sieve, IsEmptyIfSummariesCannotDecide) {
  for (const char* text : {"not k = v", "not has k", "path != data/a.csv", "has path",
                           "k = v or not has k", "not (k = v and loss < 1)", "type ~ text/*"}) {
    EXPECT_TRUE(Sieve(where(text)).empty()) << text;
  }
  EXPECT_TRUE(Sieve(Query()).empty());
  Query both = where("not has k");
  both.size_min_bytes = 1;
  EXPECT_FALSE(Sieve(both).empty());
}

}  // namespace
}  // namespace tarn::search

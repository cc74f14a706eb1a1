// Conditions of searches.
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/search/query.h"
#include "core/search/sieve.h"
#include "core/search/sort_order.h"
#include "core/tree/leaf_node.h"
#include "core/tree/node_encoder.h"
#include "tests/fuzz/require.h"

namespace {

constexpr std::string_view kPath = "data/a.csv";

tarn::Entry sample() {
  tarn::Entry entry;
  entry.size_bytes = 300;
  entry.mtime = tarn::from_millis(1'700'000'000'000);
  entry.content_type = "text/csv";
  entry.set_user_metadata({{"loss", "0.5"}, {"label", "cat"}});
  entry.set_object_tags({{"stage", "prod"}});
  return entry;
}

tarn::search::RangeSummary summary_of(const tarn::Entry& entry) {
  tarn::tree::LeafEncoder encoder;
  tarn::tree::EntryBytes bytes;
  bytes.assign(entry);
  encoder.add(kPath, bytes.fields());
  return tarn::search::RangeSummary::of(tarn::tree::LeafNode(encoder.encode().bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const tarn::Entry entry = sample();
  static const tarn::search::RangeSummary summary = summary_of(entry);
  const std::string problem = tarn::search::problem_of_expression(text);
  tarn::search::parse_sort_order(text);
  try {
    tarn::search::Query query;
    query.where.emplace(tarn::search::parse_expression(text));
    require(problem.empty(), "conditions with a problem are refused");
    const bool matches = query.matches_where(kPath, entry);
    require(matches == query.matches_where(kPath, entry), "a match has one outcome");
    require(!matches || kPath.starts_with(query.key_prefix()), "a match begins with the prefix");
    require(!matches || tarn::search::Sieve(query).passes(summary), "no match is passed over");
    const std::string negated = "not (" + std::string(text) + ")";
    if (tarn::search::problem_of_expression(negated).empty()) {
      query.where.emplace(tarn::search::parse_expression(negated));
      require(query.matches_where(kPath, entry) != matches, "not is the opposite");
      require(matches || tarn::search::Sieve(query).passes(summary), "nor one of the opposite");
    }
  } catch (const tarn::Error& error) {
    require(!problem.empty(), "conditions without a problem are taken");
    require(error.code() == tarn::ErrorCode::kInvalidArgument, "bad conditions are the caller's");
  }
  return 0;
}

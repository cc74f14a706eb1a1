#include "core/verify/finding.h"

#include <set>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::verify {
namespace {

VerifyReport sample() {
  VerifyReport report;
  report.commits = 3;
  report.refs = 2;
  report.nodes = 300;
  report.entries = 1;
  report.versions = 4;
  report.objects_checked = 70'000;
  report.bytes_read = uint64_t{1} << 40;
  report.totals[static_cast<size_t>(FindingKind::kObjectMissing)] = 1200;
  report.totals[static_cast<size_t>(FindingKind::kCommitGeneration)] = 1;
  report.findings.push_back({.kind = FindingKind::kObjectMissing,
                             .path = "a/b",
                             .after = "a",
                             .commit = "00ff",
                             .refs = {"main", "v1"},
                             .address = "local://lake/data/x/y",
                             .expected = "5 bytes",
                             .found = "no object"});
  return report;
}

TEST(VerifyReport, IsTheSameAfterEncoding) {
  EXPECT_EQ(decode_report(encode_report(sample())), sample());
  EXPECT_EQ(decode_report(""), VerifyReport());
}

TEST(VerifyReport, CutBytesAreDataLoss) {
  const std::string bytes = encode_report(sample());
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THROW(decode_report(std::string_view(bytes).substr(0, size)), Error) << size;
  }
}

TEST(VerifyReport, CountsBySeverity) {
  EXPECT_EQ(sample().errors(), 1200);
  EXPECT_EQ(sample().warnings(), 1);
}

TEST(FindingKind, EveryKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t kind = 0; kind < kFindingKinds; ++kind) {
    names.insert(name_of(static_cast<FindingKind>(kind)));
  }
  EXPECT_EQ(names.size(), kFindingKinds);
  EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace tarn::verify

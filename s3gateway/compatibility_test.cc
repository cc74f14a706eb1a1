// docs/s3-compatibility.md says the same as the dispatch table.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "s3gateway/endpoint.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kBegin = "<!-- operations: begin -->\n";
constexpr std::string_view kEnd = "<!-- operations: end -->\n";

std::string_view text_of(Support support) {
  switch (support) {
    case Support::kServed:
      return "served";
    case Support::kFixedAnswer:
      return "fixed answer";
    case Support::kRefused:
      return "501 NotImplemented";
  }
  return "";
}

std::string target_of(const OperationRow& row) {
  std::string out = str_cat(row.method, " /");
  if (row.level != "service") out += "bucket";
  if (row.level == "object") out += "/key";
  if (!row.subresource.empty()) out += str_cat('?', row.subresource);
  return out;
}

std::string expected_table() {
  std::string out = "| operation | request | answer |\n|---|---|---|\n";
  for (const OperationRow& row : operation_table()) {
    out +=
        str_cat("| ", row.operation, " | `", target_of(row), "`", row.condition.empty() ? "" : ", ",
                row.condition, " | ", text_of(row.support), " |\n");
  }
  return out;
}

TEST(Compatibility, PageListsTheDispatchTable) {
  std::ifstream file(TARN_S3_COMPATIBILITY_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const size_t begin = text.find(kBegin);
  const size_t end = text.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << "no table in " << TARN_S3_COMPATIBILITY_PAGE;
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(text.substr(begin + kBegin.size(), end - begin - kBegin.size()), expected_table())
      << "put this table into the page:\n"
      << expected_table();
}

}  // namespace
}  // namespace tarn::s3

// docs/s3-compatibility.md says the same as the dispatch table and the table of headers.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "s3gateway/wire/amz_headers.h"
#include "s3gateway/wire/endpoint.h"

namespace tarn::s3 {
namespace {

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

std::string_view text_of(HeaderUse use) {
  switch (use) {
    case HeaderUse::kObeyed:
      return "obeyed";
    case HeaderUse::kAccepted:
      return "accepted";
    case HeaderUse::kRefused:
      return "501 NotImplemented";
  }
  return "";
}

/// " a b " as "a, b".
std::string words_of(std::string_view list) {
  std::string out;
  for (char c : list.substr(1, list.size() - 2)) out += c == ' ' ? ", " : std::string(1, c);
  return out;
}

std::string expected_headers() {
  std::string out = "| header | of | answer | why |\n|---|---|---|---|\n";
  for (const AmzHeader& row : amz_headers()) {
    out += str_cat("| `", row.name, "` | ",
                   row.operations.empty() ? "all operations" : words_of(row.operations), " | ",
                   text_of(row.use),
                   row.harmless.empty() ? "" : str_cat(" unless ", words_of(row.harmless)), " | ",
                   row.note, " |\n");
  }
  return out;
}

/// Holds the part of the page between the marks of `name` against `expected`.
void expect_on_page(std::string_view name, const std::string& expected) {
  std::ifstream file(TARN_S3_COMPATIBILITY_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const std::string open = str_cat("<!-- ", name, ": begin -->\n");
  const size_t begin = text.find(open);
  const size_t end = text.find(str_cat("<!-- ", name, ": end -->\n"));
  ASSERT_NE(begin, std::string::npos) << "no table in " << TARN_S3_COMPATIBILITY_PAGE;
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(text.substr(begin + open.size(), end - begin - open.size()), expected)
      << "put this table into the page:\n"
      << expected;
}

TEST(Compatibility, PageListsTheDispatchTable) { expect_on_page("operations", expected_table()); }

TEST(Compatibility, PageListsTheHeaders) { expect_on_page("headers", expected_headers()); }

}  // namespace
}  // namespace tarn::s3

#include "s3gateway/operations/branch_order.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tarn::s3 {
namespace {

/// A database of names.
BranchPages pages_of(const std::set<std::string>& names) {
  return [&names](std::string_view prefix, std::string_view after, uint32_t limit) {
    Page<std::string> page;
    for (const std::string& name : names) {
      if (!name.starts_with(prefix) || name <= after) continue;
      if (page.items.size() == limit) {
        page.has_more = true;
        break;
      }
      page.items.push_back(name);
    }
    return page;
  };
}

std::vector<std::string> all(BranchOrder order) {
  std::vector<std::string> out;
  while (auto name = order.next()) out.push_back(*name);
  return out;
}

std::vector<std::string> expected(const std::set<std::string>& names, const std::string& prefix,
                                  const std::string& after) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string root = name + "/";
    if (name.starts_with(prefix) && (root > after || after.starts_with(root))) out.push_back(name);
  }
  std::sort(out.begin(), out.end(),
            [](const std::string& a, const std::string& b) { return a + "/" < b + "/"; });
  return out;
}

TEST(BranchOrder, PutsHyphensBeforeTheSlash) {
  const std::set<std::string> names{"a", "a-b", "a-b-c", "a_b", "b"};
  EXPECT_EQ(all(BranchOrder(pages_of(names), "", "", 2)),
            (std::vector<std::string>{"a-b-c", "a-b", "a", "a_b", "b"}));
}

TEST(BranchOrder, ContinuesInsideTheBranchOfAKey) {
  const std::set<std::string> names{"a", "a-b", "b"};
  EXPECT_EQ(all(BranchOrder(pages_of(names), "", "a-b/x", 10)),
            (std::vector<std::string>{"a-b", "a", "b"}));
  EXPECT_EQ(all(BranchOrder(pages_of(names), "", "a/x", 10)), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(all(BranchOrder(pages_of(names), "", "a0", 10)), (std::vector<std::string>{"b"}));
}

TEST(BranchOrder, AgreesWithSortingForRandomNames) {
  std::mt19937 random(20261121);
  const auto pick = [&](std::string_view alphabet, size_t length_max) {
    std::string out;
    for (size_t n = random() % (length_max + 1); n > 0; --n)
      out += alphabet[random() % alphabet.size()];
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    std::set<std::string> names;
    for (int i = 0; i < 8; ++i) {
      std::string name = pick("ab-", 4);
      if (!name.empty() && name[0] != '-') names.insert(name);
    }
    const std::string after = pick("ab-/.\xC3", 5);
    const std::string prefix = pick("ab-", 2);
    const uint32_t page_size = 1 + static_cast<uint32_t>(random() % 4);
    ASSERT_EQ(all(BranchOrder(pages_of(names), prefix, after, page_size)),
              expected(names, prefix, after))
        << "after \"" << after << "\" prefix \"" << prefix << "\" round " << round;
  }
}

}  // namespace
}  // namespace tarn::s3

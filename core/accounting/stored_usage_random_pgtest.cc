// Random histories: every size equals that computed from listings.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "core/accounting/logical_size.h"
#include "core/accounting/stored_usage.h"
#include "core/accounting/usage_oracle_fixture.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/object_versions.h"
#include "core/branch/stage.h"
#include "core/meta/part_lists.h"
#include "core/objects/multipart.h"
#include "core/versioning/merge.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"
#include "tests/support/long_tests.h"
#include "tests/support/repository_test.h"

namespace tarn::accounting {

namespace {

using testing::TestRepository;
using testing::TextBody;

/// Random operations on two repositories that copy from each other.
class Histories : public testing::RepositoryTest {
 protected:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }
  std::string text() { return std::string(1 + below(2000), 'x'); }
  TestRepository& any_repository() { return below(4) == 0 ? other : repo; }
  std::string branch_of(const Repository& lake) {
    const auto page = branch::list_branches(*engine, lake, "", "", 100, true);
    return page.items[below(page.items.size())].name.str();
  }
  std::string key() { return std::string(kKeys[below(std::size(kKeys))]); }
  AnyRef ref_of(const Repository& lake) {
    const auto refs = all_refs(*engine, lake);
    return refs[below(refs.size())];
  }
  objects::UploadTarget target(const Repository& lake) {
    return objects::check_upload(*engine, lake.name, BranchName(branch_of(lake)), Key(key()), false,
                                 {});
  }

  void stage(const objects::UploadTarget& to, const Entry& entry) {
    branch::stage_entry(*engine,
                        {to.repository.name, to.branch.name, to.repository.id, to.branch.id,
                         to.branch.settings_version},
                        to.key, entry, {});
  }
  void link_external(const Repository& lake) {
    objects::stage_address(*engine, target(lake), str_cat("local:///lake/", below(4)), below(900),
                           "etag", {}, {}, {});
  }
  /// The same own bytes again, with a size that a client made up, as older servers stored it.
  void link_own(const Repository& lake) {
    const auto to = target(lake);
    const std::string ref = ref_of(lake).text;
    for (const auto& [path, entry] : listing(*engine, lake, ref, "")) {
      if (!std::holds_alternative<OwnAddress>(entry.address) || below(3) != 0) continue;
      Entry again = entry;
      again.size_bytes = below(3000);
      return stage(to, again);
    }
  }
  void join_parts(const Repository& lake) {
    meta::PartList parts;
    for (size_t i = 0; i < 1 + below(3); ++i) {
      parts.push_back({.size_bytes = 1 + below(500),
                       .md5 = std::string(16, 'm'),
                       .address = new_own_address(engine.clock.now()),
                       .owner = {},
                       .modified = {},
                       .checksums = {}});
    }
    for (const auto& [path, entry] : listing(*engine, lake, "main", "")) {
      const auto* own = std::get_if<OwnAddress>(&entry.address);
      if (own != nullptr && below(4) == 0) {
        parts.push_back(parts.front());
        parts.back().address = *own;
        parts.back().size_bytes = entry.size_bytes;
      }
    }
    Entry entry;
    for (const auto& part : parts) entry.size_bytes += part.size_bytes;
    entry.etag = str_cat("parts-", below(1000));
    entry.address = PartListAddress{(*engine).part_lists.insert(lake.id, parts)};
    stage(target(lake), entry);
  }
  void upload_part(const Repository& lake) {
    const auto upload = objects::create_multipart(*engine, target(lake), {"tester", {}, "", ""});
    for (uint32_t number = 1; number < 1 + below(3) + 1; ++number) {
      const std::string bytes = text();
      TextBody body(bytes);
      objects::put_part(*engine, upload, number, body, bytes.size());
    }
  }
  void copy(const Repository& from, const Repository& to) {
    const std::string ref = ref_of(from).text;
    const auto objects = listing(*engine, from, ref, "");
    if (objects.empty()) return;
    const auto at = std::next(objects.begin(), static_cast<ptrdiff_t>(below(objects.size())));
    const auto place = target(to);
    objects::copy_object(*engine, {from.name, ref, Key(at->first)}, place.repository.name,
                         place.branch.name, place.key, {}, false);
  }
  void name_commit(const Repository& lake) {
    const std::string ref = ref_of(lake).text;
    if (below(2) == 0) {
      branch::create_tag(*engine, lake, TagName(str_cat("t", below(4))), ref, false);
    } else {
      branch::set_alias(*engine, lake, {.name = AliasName(str_cat("a", below(3))), .actor = "x"},
                        ref);
    }
  }
  void drop_name(const Repository& lake) {
    const AnyRef ref = ref_of(lake);
    if (ref.kind == AnyRef::Kind::kBranch && ref.text != "main") {
      branch::delete_branch(*engine, lake, BranchName(ref.text), false);
    } else if (ref.kind == AnyRef::Kind::kTag) {
      branch::delete_tag(*engine, lake, TagName(ref.text), false);
    } else if (ref.kind == AnyRef::Kind::kAlias) {
      branch::remove_alias(*engine, lake, {.name = AliasName(ref.text.substr(1)), .actor = "x"});
    }
  }
  void reset(const Repository& lake) {
    const BranchName branch(branch_of(lake));
    switch (below(4)) {
      case 0:
        return versioning::reset_branch(*engine, lake, branch, false);
      case 1:
        return versioning::reset_prefix(*engine, lake, branch, "a/", false);
      case 2:
        return versioning::reset_object(*engine, lake, branch, Key(key()), false);
      default:
        return versioning::hard_reset_branch(*engine, lake, branch, ref_of(lake).text, false);
    }
  }

  /// Of prefixes: their deletion is staged as a range of keys.
  void move(const Repository& lake) {
    static constexpr std::string_view kSources[] = {"a/", "b", "d/"};
    versioning::MoveRequest request;
    request.source = std::string(kSources[below(std::size(kSources))]);
    request.destination = below(2) == 0 ? "a/moved/" : "e/";
    request.prefixes = true;
    versioning::move_objects(*engine, lake, BranchName(branch_of(lake)), request);
  }

  void do_something() {
    TestRepository& lake = any_repository();
    switch (below(17)) {
      case 0:
      case 1:
      case 2:
        engine.put(lake.name, branch_of(lake), key(), text());
        return;
      case 3:
        return engine.remove(lake.name, branch_of(lake), key());
      case 4:
      case 5:
        engine.commit(lake.name, branch_of(lake), str_cat("m", below(1000000)));
        return;
      case 6:
        return engine.branch(lake.name, str_cat("b", below(4)), ref_of(lake).text);
      case 7:
        return drop_name(lake);
      case 8:
        versioning::merge_into(*engine, lake, ref_of(lake).text, BranchName(branch_of(lake)), {});
        return;
      case 9:
        return name_commit(lake);
      case 10:
        return copy(repo, below(2) == 0 ? repo : other);
      case 11:
        return copy(other, repo);
      case 12:
        return link_external(lake);
      case 13:
        return below(2) == 0 ? join_parts(lake) : link_own(lake);
      case 14:
        return upload_part(lake);
      case 15:
        return move(lake);
      default:
        return reset(lake);
    }
  }

  void compare(const Repository& lake, const AnyRef* ref, const std::string& prefix) {
    const std::string text = ref ? ref->text : "";
    SCOPED_TRACE(str_cat("ref \"", text, "\" prefix \"", prefix, "\""));
    const StoredUsage slow = slow_stored_usage(*engine, lake, ref, prefix);
    const StoredUsage fast = stored_usage(*engine, lake, text, prefix);
    EXPECT_EQ(fast.stored, slow.stored);
    EXPECT_EQ(fast.shared, slow.shared);
    EXPECT_EQ(fast.foreign, slow.foreign);
    EXPECT_EQ(fast.imported, slow.imported);
    ASSERT_EQ(fast.freed.has_value(), slow.freed.has_value());
    EXPECT_EQ(fast.freed.value_or(Amount{}), slow.freed.value_or(Amount{}));
    shared_seen += slow.shared.objects;
    freed_seen += slow.freed ? slow.freed->objects : 0;
    foreign_seen += slow.foreign.objects;
    if (ref == nullptr) return;
    EXPECT_EQ(logical_size(*engine, lake, text, prefix),
              slow_logical_size(*engine, lake, text, prefix));
    EXPECT_EQ(usage_by_prefix(*engine, lake, text, prefix, "", 1000).items,
              slow_usage_by_prefix(*engine, lake, text, prefix));
  }
  void compare_all(const Repository& lake) {
    compare(lake, nullptr, "");
    for (const AnyRef& ref : all_refs(*engine, lake)) {
      if (ref.kind == AnyRef::Kind::kCommit && below(4) != 0) continue;
      compare(lake, &ref, "");
      compare(lake, &ref, std::string(kPrefixes[below(std::size(kPrefixes))]));
    }
  }

  static constexpr std::string_view kKeys[] = {"a/1", "a/2", "a/b/3", "b/1", "b-", "c", "d/e/f"};
  static constexpr std::string_view kPrefixes[] = {"a/", "a/b/", "b", "c", "nothing"};

  TestRepository other = engine.make_repository(fresh_name());
  std::mt19937_64 random;
  uint64_t shared_seen = 0;
  uint64_t freed_seen = 0;
  uint64_t foreign_seen = 0;
};

TEST_F(Histories, EverySizeEqualsThatOfTheListings) {
  const char* const count = std::getenv("TARN_USAGE_HISTORIES");
  const int usual = testing::is_long() ? 200 : 20;
  const int histories = count ? std::atoi(count) : usual;
  for (int history = 0; history < histories && !HasFailure(); ++history) {
    SCOPED_TRACE(str_cat("history ", history));
    random.seed(static_cast<uint64_t>(history) + 1);
    repo = engine.make_repository(fresh_name());
    other = engine.make_repository(fresh_name());
    if (history % 3 == 0) branch::set_versioning(*engine, repo, Versioning::kEnabled);
    for (int step = 0; step < 45; ++step) {
      try {
        do_something();
      } catch (const Error&) {
        // Refused, as a merge without changes is.
      }
    }
    compare_all(repo);
    compare_all(other);
  }
  EXPECT_GT(shared_seen, 0u);
  EXPECT_GT(freed_seen, 0u);
  EXPECT_GT(foreign_seen, 0u);
}

}  // namespace
}  // namespace tarn::accounting

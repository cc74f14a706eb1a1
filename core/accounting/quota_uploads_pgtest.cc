// Quotas of uploads: when one that does not fit is refused, and what it leaves.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/accounting/quotas_fixture.h"
#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/objects/multipart.h"
#include "core/quotas/quotas.h"
#include "tests/support/repository_test.h"

namespace tarn::accounting {
namespace {

using testing::reason_of;
using testing::TestEngine;
using testing::TestRepository;
using testing::TextBody;

/// A body that must not be read.
class UnreadBody final : public objects::UploadBody {
 public:
  size_t read(std::span<char>) override {
    ADD_FAILURE() << "the body was read";
    return 0;
  }
  objects::UploadDigests digests() override { return {}; }
};

/// A body of endless bytes, that counts how many were read.
class EndlessBody final : public objects::UploadBody {
 public:
  size_t read(std::span<char> out) override {
    std::fill(out.begin(), out.end(), 'x');
    given += out.size();
    if (given > kGivenMax) {
      ADD_FAILURE() << "nothing ended it";
      return 0;
    }
    return out.size();
  }
  objects::UploadDigests digests() override { return {std::string(32, '0'), {}}; }
  static constexpr uint64_t kGivenMax = 64 << 20;
  uint64_t given = 0;
};

TEST_F(Quotas, AnUploadOfKnownLengthIsRefusedBeforeItsBodyIsRead) {
  limit_bytes(whole(), 100);
  const auto where = target("a");
  UnreadBody body;
  EXPECT_EQ(reason_of([&] { objects::put_object(*engine, where, body, 101, {}, {}); }),
            "quota_exceeded");
  const auto upload = objects::create_multipart(*engine, where, {"tester", {}, "", ""});
  EXPECT_EQ(reason_of([&] { objects::put_part(*engine, upload, 1, body, 101); }), "quota_exceeded");
}

TEST_F(Quotas, AnUploadOfUnknownLengthIsRefusedWhenItIsStaged) {
  limit_bytes(whole(), 100);
  TextBody body(std::string(101, 'x'));
  EXPECT_EQ(
      reason_of([&] { objects::put_object(*engine, target("a"), body, std::nullopt, {}, {}); }),
      "quota_exceeded");
  TextBody part(std::string(101, 'x'));
  const auto upload = objects::create_multipart(*engine, target("a"), {"tester", {}, "", ""});
  EXPECT_EQ(reason_of([&] { objects::put_part(*engine, upload, 1, part, std::nullopt); }),
            "quota_exceeded");
  EXPECT_EQ(engine.keys(repo, "main"), "");
  EXPECT_TRUE(objects::list_parts(*engine, upload, 0, 10).items.empty());
  EXPECT_EQ(used(whole()), (Amount{0, 0}));
}

TEST_F(Quotas, AnUploadOfUnknownLengthEndsWhenItPassesTheLimit) {
  constexpr int64_t kLimit = 4 << 20;
  limit_bytes(whole(), kLimit);
  EndlessBody body, part;
  EXPECT_EQ(
      reason_of([&] { objects::put_object(*engine, target("a"), body, std::nullopt, {}, {}); }),
      "quota_exceeded");
  EXPECT_LT(body.given, uint64_t{kLimit} + (1 << 20));
  const auto upload = objects::create_multipart(*engine, target("a"), {"tester", {}, "", ""});
  EXPECT_EQ(reason_of([&] { objects::put_part(*engine, upload, 1, part, std::nullopt); }),
            "quota_exceeded");
  EXPECT_LT(part.given, uint64_t{kLimit} + (1 << 20));
  EXPECT_EQ(stored_bytes(engine), 0u);
}

TEST_F(Quotas, WhatIsRefusedWhenItIsStagedLeavesNoBytes) {
  limit_bytes(whole(), 100);
  TextBody body(std::string(101, 'x')), part(std::string(101, 'x'));
  EXPECT_EQ(
      reason_of([&] { objects::put_object(*engine, target("a"), body, std::nullopt, {}, {}); }),
      "quota_exceeded");
  const auto upload = objects::create_multipart(*engine, target("a"), {"tester", {}, "", ""});
  EXPECT_EQ(reason_of([&] { objects::put_part(*engine, upload, 1, part, std::nullopt); }),
            "quota_exceeded");
  branch::Condition absent;
  absent.if_absent = true;
  const auto where =
      objects::check_upload(*engine, repo, BranchName("main"), Key("a"), false, absent);
  put("a", 10);
  TextBody late("late");
  EXPECT_EQ(reason_of([&] { objects::put_object(*engine, where, late, 4, {}, absent); }),
            "precondition_failed");
  EXPECT_EQ(stored_bytes(engine), 10u);
  EXPECT_EQ(engine.read(repo, "main", "a"), std::string(10, 'x'));
}

// Uploads begin and end between the decision and its message.
TEST_F(Quotas, ARefusalSaysWhatWasDecided) {
  limit_bytes(whole(), 1 << 20);
  auto& quotas = (*engine).quotas;
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      quotas::Quotas::Transfer transfer(quotas, repo.id, "main", "bob");
      reason_of([&] { transfer.expect(600 * 1024); });
    }
  });
  for (int i = 0; i < 3000; ++i) {
    const std::string reason = reason_of([&] { quotas.check(repo.id, "main", "ann", 500 * 1024); });
    EXPECT_TRUE(reason == "done" || reason == "quota_exceeded") << reason;
  }
  done = true;
  other.join();
}

TEST_F(Quotas, AQuotaThatIsSetDuringAnUploadCountsOnlyTheOthers) {
  auto& quotas = (*engine).quotas;
  limit_bytes({.repository = repo.id, .user = "ann"}, 10 << 20);
  quotas::Quotas::Transfer first(quotas, repo.id, "main", "ann");
  first.expect(1 << 20);
  limit_bytes(whole(), 3 << 20);
  quotas::Quotas::Transfer second(quotas, repo.id, "main", "bob");
  second.expect(600 * 1024);
  EXPECT_EQ(reason_of([&] { first.expect(2 << 20); }), "done");
  EXPECT_EQ(reason_of([&] { first.expect(3 << 20); }), "quota_exceeded");
}

TEST_F(Quotas, UploadsThatRunAtOnceDoNotAllGetTheSameRoom) {
  constexpr uint64_t kHalf = 600 * 1024;
  limit_bytes(whole(), 1 << 20);
  auto& quotas = (*engine).quotas;
  quotas::Quotas::Transfer first(quotas, repo.id, "main", "ann");
  first.expect(kHalf);
  {
    quotas::Quotas::Transfer second(quotas, repo.id, "main", "ann");
    EXPECT_EQ(reason_of([&] { second.expect(kHalf); }), "quota_exceeded");
    second.expect(100 * 1024);
  }
  first.expect(900 * 1024);
  EXPECT_EQ(put("large", 300 * 1024), "quota_exceeded");
  EXPECT_EQ(put("small", 1000), "done");
}

TEST_F(Quotas, HandedOutAddressesAreCountedWhenTheyAreFilled) {
  limit_bytes(whole(), 100);
  const auto hand_out = [&] {
    return objects::hand_out_address(*engine, repo, BranchName("main"), Key("a"), "ann");
  };
  const auto fill = [&](const objects::HandedOutAddress& address, size_t bytes) {
    return reason_of([&] {
      TextBody body(std::string(bytes, 'x'));
      objects::fill_address(*engine, repo, {repo.id, BranchName("main"), Key("a"), address.own},
                            body, std::nullopt);
    });
  };
  const auto first = hand_out();
  EXPECT_EQ(fill(first, 60), "done");
  EXPECT_EQ(used(whole()), (Amount{1, 60}));
  EXPECT_EQ(fill(first, 60), "done") << "sent again";
  EXPECT_EQ(fill(hand_out(), 41), "quota_exceeded");
  EXPECT_EQ(stored_bytes(engine), 60u) << "what was refused is gone";
  objects::link_address(*engine, target("a"), first.text, "ann",
                        {60, to_hex(md5(std::string(60, 'x')))}, {}, {});
  EXPECT_EQ(used(whole()), (Amount{1, 60})) << "not again when it is linked";
  EXPECT_EQ(fill(first, 60), "done") << "linked, with the same bytes";
  EXPECT_EQ(used(whole()), (Amount{1, 60}));
}

// No server has counted the bytes before on a store that clients send to themselves.
TEST_F(Quotas, AHandedOutAddressIsCountedWhenItIsStagedByItsURL) {
  const ActingUser acting("ann", {}, {});
  const QuotaScope ann{.repository = repo.id, .user = "ann"};
  limit_bytes(ann, 100);
  const auto stage = [&](const std::string& address, size_t bytes) {
    return reason_of([&] {
      objects::stage_address(*engine, target("a"), address.substr(0, address.find(',')), bytes,
                             to_hex(md5(std::string(bytes, 'x'))), std::nullopt, {}, {});
    });
  };
  const auto sent = [&](size_t bytes) {
    const auto address =
        objects::hand_out_address(*engine, repo, BranchName("main"), Key("a"), "ann");
    engine.send(address.text, std::string(bytes, 'x'));
    return address.text;
  };
  const std::string first = sent(60);
  EXPECT_EQ(stage(first, 60), "done");
  EXPECT_EQ(used(ann), (Amount{1, 60}));
  EXPECT_EQ(stage(first, 60), "done");
  EXPECT_EQ(used(ann), (Amount{1, 60})) << "once";
  EXPECT_EQ(stage(sent(41), 41), "quota_exceeded");
  EXPECT_EQ(stage(sent(40), 40), "done");
}

TEST_F(Quotas, TheAddressesThatAUserWasGivenAreBounded) {
  const auto hand_out = [&](const std::string& user) {
    return reason_of(
        [&] { objects::hand_out_address(*engine, repo, BranchName("main"), Key("a"), user); });
  };
  for (uint32_t i = 0; i < objects::kHandedOutPerUserMax; ++i) ASSERT_EQ(hand_out("ann"), "done");
  EXPECT_EQ(hand_out("ann"), "too_many_uploads");
  EXPECT_EQ(hand_out("bob"), "done");
}

TEST_F(Quotas, PartsCountWhenTheyAreStoredAndTheirCompletionAddsNothing) {
  const uint64_t first = objects::kPartBytesMin;
  limit_bytes(whole(), static_cast<int64_t>(first) + 10);
  const auto upload = objects::create_multipart(*engine, target("big"), {"tester", {}, "", ""});
  TextBody one(std::string(first, 'a')), two("0123456789"), three("x");
  const auto a = objects::put_part(*engine, upload, 1, one, first);
  const auto b = objects::put_part(*engine, upload, 2, two, std::nullopt);
  EXPECT_EQ(reason_of([&] { objects::put_part(*engine, upload, 3, three, std::nullopt); }),
            "quota_exceeded");
  objects::complete_multipart(*engine, upload, {{{1, a.etag, {}}, {2, b.etag, {}}}, {}, {}, {}});
  EXPECT_EQ(used(whole()), (Amount{2, first + 10}));
  recount_quota(*engine, whole());
  EXPECT_EQ(used(whole()), (Amount{2, first + 10}));
}

TEST_F(Quotas, OpenUploadsAreLimited) {
  set_quota(*engine, whole(), {.uploads = {{}, 2}});
  const auto begin = [&] {
    return objects::create_multipart(*engine, target("big"), {"tester", {}, "", ""});
  };
  const auto first = begin();
  begin();
  EXPECT_EQ(reason_of(begin), "quota_exceeded");
  EXPECT_EQ(list_quotas(*engine, &repo, "", 100).items.at(0).uploads, 2u);
  objects::abort_multipart(*engine, first);
  EXPECT_EQ(reason_of(begin), "done");
}
}  // namespace
}  // namespace tarn::accounting

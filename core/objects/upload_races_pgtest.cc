// Uploads, links and changes of attributes against other verbs on the same key.
#include <future>
#include <set>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/blob/direct_access.h"
#include "core/branch/settings.h"
#include "core/objects/direct_upload.h"
#include "core/objects/multipart.h"
#include "core/objects/uploads.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::objects {
namespace {

using testing::FaultPoints;
using testing::reason_of;
using testing::TestEngine;
using testing::TextBody;

/// Two servers: the verbs of `slow` stop at fault points while `engine` runs others.
class UploadRaces : public testing::RepositoryTest {
 protected:
  MultipartUpload begin(const std::string& key) {
    const UploadTarget target =
        check_upload(*engine, repo, BranchName("main"), Key(key), false, {});
    return create_multipart(*engine, target, {"tester", {"text/plain", {{"k", "v"}}, {}}, "", ""});
  }
  std::string part(const MultipartUpload& upload, const std::string& bytes) {
    TextBody body(bytes);
    return put_part(*engine, upload, 1, body, bytes.size()).etag;
  }
  /// The ETag of the answer, or the reason of the refusal.
  static std::string complete(TestEngine& server, const MultipartUpload& upload,
                              const std::string& part_etag,
                              const branch::Condition& condition = {}) {
    try {
      Completion completion;
      completion.parts = {{1, part_etag, {}}};
      completion.condition = condition;
      return complete_multipart(*server, upload, completion).etag;
    } catch (const Error& error) {
      return std::string(error.reason());
    }
  }
  static std::string joined(const std::string& bytes) { return to_hex(md5(md5(bytes))) + "-1"; }
  std::string at(const std::string& key) { return engine.read(repo, "main", key); }

  UploadTarget target_of(TestEngine& server, const std::string& key) {
    return check_upload(*server, repo, BranchName("main"), Key(key), false, {});
  }

  FaultPoints faults;
  TestEngine slow{shared_url(), engine.store, &faults};
};

/// Statements of a completion before which another verb may get in.
constexpr const char* kMomentsOfACompletion[] = {"uploads_select_parts", "uploads_select_multipart",
                                                 "staging_insert_rows"};

TEST_F(UploadRaces, DelayedCompletionDoesNotReplaceALaterWrite) {
  for (const std::string moment : kMomentsOfACompletion) {
    const std::string key = "put-" + moment;
    const MultipartUpload upload = begin(key);
    const std::string etag = part(upload, "parts");
    faults.at_then_go_on({moment}, [&] {
      EXPECT_EQ(complete(engine, upload, etag), joined("parts"));
      engine.put(repo, "main", key, "later");
    });
    EXPECT_EQ(complete(slow, upload, etag), "no_such_upload") << moment;
    EXPECT_EQ(faults.unreached(), 0u) << moment;
    EXPECT_EQ(at(key), "later") << moment;
  }
}

TEST_F(UploadRaces, DelayedCompletionDoesNotRestoreADeletedObject) {
  for (const std::string moment : kMomentsOfACompletion) {
    const std::string key = "delete-" + moment;
    const MultipartUpload upload = begin(key);
    const std::string etag = part(upload, "parts");
    faults.at_then_go_on({moment}, [&] {
      complete(engine, upload, etag);
      engine.remove(repo, "main", key);
    });
    EXPECT_EQ(complete(slow, upload, etag), "no_such_upload") << moment;
    EXPECT_EQ(at(key), "<absent>") << moment;
  }
}

TEST_F(UploadRaces, IdenticalCompletionsGiveOneAnswer) {
  for (const std::string moment : kMomentsOfACompletion) {
    const std::string key = "same-" + moment;
    const MultipartUpload upload = begin(key);
    const std::string etag = part(upload, "parts");
    faults.at_then_go_on({moment},
                         [&] { EXPECT_EQ(complete(engine, upload, etag), joined("parts")); });
    EXPECT_EQ(complete(slow, upload, etag), joined("parts")) << moment;
    EXPECT_EQ(at(key), "parts") << moment;
  }
}

TEST_F(UploadRaces, IdenticalConditionalCompletionsGiveOneAnswer) {
  const branch::Condition absent{.if_absent = true, .if_match = {}, .if_none_match = {}};
  for (const std::string moment :
       {"uploads_select_parts", "staging_lookup_key", "staging_insert_row_if"}) {
    const std::string key = "condition-" + moment;
    const MultipartUpload upload = begin(key);
    const std::string etag = part(upload, "parts");
    faults.at_then_go_on(
        {moment}, [&] { EXPECT_EQ(complete(engine, upload, etag, absent), joined("parts")); });
    EXPECT_EQ(complete(slow, upload, etag, absent), joined("parts")) << moment;
  }
}

TEST_F(UploadRaces, ACompletionWhoseConditionFailsLeavesTheUploadOpen) {
  const branch::Condition absent{.if_absent = true, .if_match = {}, .if_none_match = {}};
  const MultipartUpload upload = begin("k");
  const std::string etag = part(upload, "parts");
  faults.at_then_go_on({"staging_insert_row_if"}, [&] { engine.put(repo, "main", "k", "other"); });
  EXPECT_EQ(complete(slow, upload, etag, absent), "precondition_failed");
  EXPECT_EQ(at("k"), "other");
  EXPECT_EQ(complete(slow, upload, etag), joined("parts"));
  EXPECT_EQ(at("k"), "parts");
}

TEST_F(UploadRaces, ExactlyOneOfCompleteAndAbortSucceeds) {
  for (const std::string moment : kMomentsOfACompletion) {
    const std::string key = "abort-" + moment;
    const MultipartUpload upload = begin(key);
    const std::string etag = part(upload, "parts");
    faults.at_then_go_on({moment}, [&] { abort_multipart(*engine, upload); });
    EXPECT_EQ(complete(slow, upload, etag), "no_such_upload") << moment;
    EXPECT_EQ(at(key), "<absent>") << moment;
  }
  const MultipartUpload upload = begin("k");
  const std::string etag = part(upload, "parts");
  faults.at_then_go_on({"uploads_delete_row"},
                       [&] { EXPECT_EQ(complete(engine, upload, etag), joined("parts")); });
  EXPECT_EQ(reason_of([&] { abort_multipart(*slow, upload); }), "no_such_upload");
  EXPECT_EQ(at("k"), "parts");
}

// The rules that permitted a completion hold until its transaction ends.
TEST_F(UploadRaces, NewRuleWaitsForARunningCompletion) {
  const MultipartUpload upload = begin("k");
  const std::string etag = part(upload, "parts");
  std::future<void> setting;
  faults.at_then_go_on({"uploads_lock_row"}, [&] {
    setting = std::async(std::launch::async, [&] {
      branch::set_branch_rules(
          *engine, repo,
          {{.pattern = Glob("main"), .blocked_actions = std::set{BranchAction::kStage}}}, {});
    });
    EXPECT_EQ(setting.wait_for(std::chrono::milliseconds{300}), std::future_status::timeout);
  });
  EXPECT_EQ(complete(slow, upload, etag), joined("parts"));
  EXPECT_EQ(faults.unreached(), 0u);
  setting.get();
  EXPECT_EQ(reason_of([&] { engine.put(repo, "main", "k", "later"); }), "protected_branch");
}

TEST_F(UploadRaces, CompletionNamingAReplacedPartIsRefused) {
  const MultipartUpload upload = begin("k");
  const std::string etag = part(upload, "parts");
  faults.at_then_go_on({"staging_insert_rows"}, [&] { part(upload, "other"); });
  EXPECT_EQ(complete(slow, upload, etag), "invalid_part");
  EXPECT_EQ(at("k"), "<absent>");
  // The same bytes again: another part with an equal ETag.
  const std::string other = to_hex(md5("other"));
  faults.at_then_go_on({"staging_insert_rows"}, [&] { part(upload, "other"); });
  EXPECT_EQ(complete(slow, upload, other), joined("other"));
  EXPECT_EQ(at("k"), "other");
}

TEST_F(UploadRaces, ACompletionWhoseAnswerIsLostIsNotRepeated) {
  const MultipartUpload kept = begin("kept");
  const std::string etag = part(kept, "parts");
  faults.lose_answer("commit");
  EXPECT_EQ(complete(slow, kept, etag), joined("parts"));
  EXPECT_EQ(faults.unreached(), 0u);

  const MultipartUpload overtaken = begin("overtaken");
  part(overtaken, "parts");
  faults.lose_answer("commit", [&] { engine.put(repo, "main", "overtaken", "later"); });
  EXPECT_EQ(complete(slow, overtaken, etag), "in_doubt");
  EXPECT_EQ(at("overtaken"), "later");
  EXPECT_EQ(complete(slow, overtaken, etag), "no_such_upload");

  const MultipartUpload undone = begin("undone");
  part(undone, "parts");
  faults.lose_connection("commit");
  EXPECT_EQ(complete(slow, undone, etag), "unavailable") << "COMMIT was not sent";
  EXPECT_EQ(at("undone"), "<absent>");
  EXPECT_EQ(complete(slow, undone, etag), joined("parts"));
}

TEST_F(UploadRaces, APartWhoseAnswerIsLostReplacesNoLaterOne) {
  const MultipartUpload upload = begin("k");
  const auto send = [&](const std::string& bytes) {
    return reason_of([&] {
      TextBody body(bytes);
      put_part(*slow, upload, 1, body, bytes.size());
    });
  };
  faults.lose_answer("uploads_put_part");
  EXPECT_EQ(send("first"), "done");
  faults.lose_answer("uploads_put_part", [&] { part(upload, "later"); });
  EXPECT_EQ(send("second"), "in_doubt");
  EXPECT_EQ(complete(engine, upload, to_hex(md5("later"))), joined("later"));
}

TEST_F(UploadRaces, MetadataAndOtherAttributesAreBothKept) {
  engine.put(repo, "main", "k", "bytes");
  faults.at_then_go_on({"staging_insert_row_if"}, [&] {
    CopyChanges changes;
    changes.content_type = "text/html";
    changes.extras.emplace().set(ExtraTag::kObjectTags, "a=b");
    copy_object(*engine, {repo, "main", Key("k")}, repo, BranchName("main"), Key("k"), changes,
                false);
  });
  update_user_metadata(*slow, repo, BranchName("main"), Key("k"), {{"m", "1"}}, false);
  EXPECT_EQ(faults.unreached(), 0u);
  const Entry entry = get_object(*engine, repo, "main", Key("k")).entry;
  EXPECT_EQ(entry.content_type, "text/html");
  EXPECT_EQ(entry.user_metadata(), (Metadata{{"m", "1"}}));
  EXPECT_EQ(entry.extras.get(ExtraTag::kObjectTags), "a=b");
}

TEST_F(UploadRaces, MetadataOfALaterWriteOfEqualBytesAreChanged) {
  engine.put(repo, "main", "k", "bytes");
  faults.at_then_go_on({"staging_insert_row_if"}, [&] {
    TextBody body("bytes");
    put_object(*engine, target_of(engine, "k"), body, 5, {"text/html", {}, {}}, {});
  });
  update_user_metadata(*slow, repo, BranchName("main"), Key("k"), {{"m", "1"}}, false);
  const Entry entry = get_object(*engine, repo, "main", Key("k")).entry;
  EXPECT_EQ(entry.content_type, "text/html");
  EXPECT_EQ(entry.user_metadata(), (Metadata{{"m", "1"}}));
}

TEST_F(UploadRaces, ACopyOntoItselfKeepsALaterWrite) {
  engine.put(repo, "main", "k", "first");
  CopyChanges changes;
  changes.user_metadata = Metadata{{"m", "1"}};
  for (const char* moment : {"staging_insert_rows", "staging_insert_row_if"}) {
    faults.at_then_go_on({moment}, [&] { engine.put(repo, "main", "k", "later"); });
  }
  copy_object(*slow, {repo, "main", Key("k")}, repo, BranchName("main"), Key("k"), changes, false);
  EXPECT_EQ(faults.unreached(), 1u);
  EXPECT_EQ(at("k"), "later");
  EXPECT_EQ(get_object(*engine, repo, "main", Key("k")).entry.user_metadata(),
            (Metadata{{"m", "1"}}));
}

/// A store that takes uploads in parts itself: the parts of each are "parts" whatever is sent.
class DirectStore final : public blob::BlobStore, public blob::DirectAccess {
 public:
  std::unique_ptr<blob::BlobWriter> create(std::string_view key,
                                           std::optional<uint64_t> size) override {
    return memory_.create(key, size);
  }
  std::optional<blob::BlobStat> stat(std::string_view key) override {
    auto found = memory_.stat(key);
    if (found) found->etag += "-1";
    return found;
  }
  std::unique_ptr<blob::BlobReader> open(std::string_view key, blob::ByteRange range,
                                         std::string_view if_etag) override {
    const auto found = stat(key);
    if (!if_etag.empty() && found && found->etag != if_etag) {
      throw Error(ErrorCode::kGone, "source_changed", "its etag differs");
    }
    return memory_.open(key, range, "");
  }
  blob::ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override {
    return memory_.list(prefix, after, limit);
  }
  void remove(std::string_view key) override { memory_.remove(key); }
  DirectAccess* direct() override { return this; }

  std::string url_to_read(const blob::DirectRead&, const blob::UrlTerms&) const override {
    return "";
  }
  std::string url_to_write(std::string_view, const blob::UrlTerms&) const override { return ""; }
  std::string url_to_write_part(const blob::DirectPart&, const blob::UrlTerms&) const override {
    return "";
  }
  std::vector<blob::StoredDigest> digests(std::string_view, std::string_view) override {
    return {};
  }
  blob::WholeRead open_whole(std::string_view, uint64_t, std::string_view) override { return {}; }
  std::string begin_upload(std::string_view key) override {
    open_.insert(std::string(key));
    return "upload";
  }
  std::string put_part(const blob::DirectPart&, std::string_view) override { return "part"; }
  std::optional<std::string> copy_part(const blob::DirectPart&, const DirectAccess&,
                                       const blob::DirectSource&) override {
    return std::nullopt;
  }
  void complete_upload(std::string_view key, std::string_view,
                       std::span<const blob::SentPart>) override {
    if (open_.erase(std::string(key)) == 0) {
      throw Error(ErrorCode::kNotFound, "no_such_upload", "no such upload");
    }
    const auto writer = memory_.create(key, {});
    writer->write("parts");
    EXPECT_TRUE(writer->finish());
  }
  void abort_upload(std::string_view key, std::string_view) override {
    open_.erase(std::string(key));
  }

 private:
  blob::MemoryStore memory_;
  std::set<std::string> open_;
};

/// Uploads whose parts the store keeps.
class DirectUploadRaces : public ::testing::Test {
 protected:
  DirectUploadRaces() { engine.stores.set_local_root(std::make_unique<DirectStore>()); }

  UploadTarget target(const std::string& key) {
    return check_upload(*engine, repo, BranchName("main"), Key(key), false, {});
  }
  OwnAddress begin(const std::string& key) {
    const OwnAddress address =
        hand_out_address(*engine, repo, BranchName("main"), Key(key), "ann").own;
    const UploadTarget to = target(key);
    begin_direct_upload(*engine, to, address, direct_object(*engine, to.repository, address),
                        "tester");
    return address;
  }
  std::string complete(const std::string& key, const OwnAddress& address) {
    const std::vector<blob::SentPart> parts = {{1, "part"}};
    return reason_of(
        [&] { complete_direct_upload(*engine, target(key), address, "upload", parts, {}); });
  }
  std::string abort(const std::string& key, const OwnAddress& address) {
    const UploadTarget to = target(key);
    return reason_of([&] {
      abort_direct_upload(*engine, to, address, direct_object(*engine, to.repository, address),
                          "upload");
    });
  }

  testing::TestDatabase database;
  blob::MemoryStore unused;
  FaultPoints faults;
  TestEngine engine{database.url(), &unused, &faults};
  testing::TestRepository repo = engine.make_repository("lake");
};

TEST_F(DirectUploadRaces, ACompletionIsRepeatedOnlyWhileTheKeyShowsItsObject) {
  const OwnAddress address = begin("k");
  EXPECT_EQ(complete("k", address), "done");
  EXPECT_EQ(complete("k", address), "done");
  EXPECT_EQ(engine.read(repo, "main", "k"), "parts");
  engine.put(repo, "main", "k", "later");
  EXPECT_EQ(complete("k", address), "link_address_used");
  EXPECT_EQ(engine.read(repo, "main", "k"), "later");
  engine.remove(repo, "main", "k");
  EXPECT_EQ(complete("k", address), "link_address_used");
  EXPECT_EQ(engine.read(repo, "main", "k"), "<absent>");
}

TEST_F(DirectUploadRaces, DelayedCompletionDoesNotReplaceALaterWrite) {
  const OwnAddress address = begin("k");
  faults.at_then_go_on({"staging_insert_rows"}, [&] {
    EXPECT_EQ(complete("k", address), "done");
    engine.put(repo, "main", "k", "later");
  });
  EXPECT_EQ(complete("k", address), "link_address_used");
  EXPECT_EQ(engine.read(repo, "main", "k"), "later");
}

TEST_F(DirectUploadRaces, BytesReplacedAfterTheLinkAreNotServed) {
  const auto send = [&](const OwnAddress& address, const std::string& bytes) {
    const blob::Located at = (*engine).stores.locate("local://lake/" + relative_path(address));
    at.store->remove(at.key);
    const auto writer = at.store->create(at.key, {});
    writer->write(bytes);
    ASSERT_TRUE(writer->finish());
  };
  const auto read = [&](const std::string& key) {
    std::string bytes;
    const std::string reason = reason_of([&] { bytes = engine.read(repo, "main", key); });
    return reason == "done" ? bytes : reason;
  };
  const HandedOutAddress handed =
      hand_out_address(*engine, repo, BranchName("main"), Key("k"), "ann");
  const auto link = [&] {
    return reason_of([&] {
      link_address(*engine, target("k"), handed.text, "ann", {4, to_hex(md5("good")), {}}, {}, {});
    });
  };
  EXPECT_EQ(link(), "link_address_empty");
  send(handed.own, "good");
  EXPECT_EQ(link(), "done");
  EXPECT_EQ(read("k"), "good");
  copy_object(*engine, CopySource{repo, "main", Key("k")}, repo, BranchName("main"), Key("copy"),
              {}, false);
  update_user_metadata(*engine, repo, BranchName("main"), Key("copy"), {{"m", "1"}}, false);
  const auto other = engine.make_repository("other");
  copy_object(*engine, CopySource{repo, "main", Key("k")}, other, BranchName("main"), Key("far"),
              {}, false);
  const MultipartUpload upload = create_multipart(*engine, target("parts"), {"tester", {}, "", ""});
  const FoundObject source = get_object(*engine, repo, "main", Key("k"));
  const std::string etag = copy_part(*engine, upload, 1, source, {0, 4}).etag;
  complete_multipart(*engine, upload, {{{1, etag, {}}}, {}, {}, {}});
  send(handed.own, "evil");
  EXPECT_EQ(read("k"), "source_changed");
  EXPECT_EQ(read("copy"), "source_changed");
  EXPECT_EQ(reason_of([&] { engine.read(other, "main", "far"); }), "source_changed");
  EXPECT_EQ(read("parts"), "good") << "its bytes were copied when it was made";
}

TEST_F(DirectUploadRaces, ExactlyOneOfCompleteAndAbortSucceeds) {
  const OwnAddress first = begin("first");
  faults.at_then_go_on({"staging_insert_rows"}, [&] { EXPECT_EQ(abort("first", first), "done"); });
  EXPECT_EQ(complete("first", first), "link_address_used");
  EXPECT_EQ(engine.read(repo, "main", "first"), "<absent>");
  const OwnAddress second = begin("second");
  EXPECT_EQ(complete("second", second), "done");
  EXPECT_EQ(abort("second", second), "no_such_upload");
  EXPECT_EQ(engine.read(repo, "main", "second"), "parts");
}

}  // namespace
}  // namespace tarn::objects

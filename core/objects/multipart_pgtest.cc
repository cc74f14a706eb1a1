// Multipart uploads: parts, joining by reference, and the limits.
#include <thread>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/objects/multipart.h"
#include "core/objects/uploads.h"
#include "core/versioning/merge.h"
#include "tests/support/repository_test.h"

namespace tarn::objects {
namespace {

using testing::TestDatabase;
using testing::TestEngine;
using testing::TextBody;

class Multipart : public ::testing::Test {
 protected:
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  const std::string large = std::string(kPartBytesMin, 'a');

  MultipartUpload begin(const std::string& key) {
    const UploadTarget target =
        check_upload(*engine, repo, BranchName("main"), Key(key), false, {});
    return create_multipart(*engine, target, {"tester", {"text/plain", {{"k", "v"}}, {}}, "", ""});
  }

  std::string part(const MultipartUpload& upload, uint32_t number, const std::string& bytes) {
    TextBody body(bytes);
    return put_part(*engine, upload, number, body, bytes.size()).etag;
  }

  std::string reason(const MultipartUpload& upload, const Completion& completion) {
    return testing::reason_of([&] { complete_multipart(*engine, upload, completion); });
  }
};

TEST_F(Multipart, PartsAreJoinedByReferenceAndReadAsOne) {
  const MultipartUpload upload = begin("big");
  const std::string second = part(upload, 2, "hello");
  part(upload, 1, "to be replaced");
  const std::string first = part(upload, 1, large);
  const size_t objects = engine.store->list("lake/data/", "", 1000).items.size();
  const Entry entry =
      complete_multipart(*engine, upload, {{{1, first, {}}, {2, second, {}}}, {}, {}, {}});
  EXPECT_EQ(entry.etag, to_hex(md5(*from_hex(first) + *from_hex(second))) + "-2");
  EXPECT_EQ(entry.size_bytes, large.size() + 5);
  EXPECT_EQ(entry.user_metadata().at("k"), "v");
  EXPECT_EQ(engine.store->list("lake/data/", "", 1000).items.size(), objects)
      << "joining copies nothing";
  EXPECT_EQ(engine.read(repo, "main", "big"), large + "hello");
  engine.commit(repo, "main");
  const FoundObject found = get_object(*engine, repo, "main@", Key("big"));
  const auto reader = open_object(*engine, found.repository, found.entry, {large.size() - 2, 5});
  std::string middle(5, '\0');
  size_t at = 0;
  while (const size_t got = reader->read(std::span<char>(middle).subspan(at))) at += got;
  EXPECT_EQ(middle, "aahel");
  EXPECT_EQ(parts_of(*engine, found.entry).size(), 2u);
}

TEST_F(Multipart, OnePartOfAnySizeIsAnOrdinaryObject) {
  const MultipartUpload upload = begin("small");
  const std::string etag = part(upload, 7, "x");
  const Entry entry = complete_multipart(*engine, upload, {{{7, etag, {}}}, {}, {}, {}});
  EXPECT_TRUE(std::holds_alternative<OwnAddress>(entry.address));
  EXPECT_EQ(engine.read(repo, "main", "small"), "x");
}

TEST_F(Multipart, WrongCompletionsHaveDistinctErrorsAndChangeNothing) {
  const MultipartUpload upload = begin("big");
  const std::string one = part(upload, 1, "small");
  const std::string two = part(upload, 2, "last");
  EXPECT_EQ(reason(upload, {}), "malformed_parts");
  EXPECT_EQ(reason(upload, {{{2, two, {}}, {1, one, {}}}, {}, {}, {}}), "invalid_part_order");
  EXPECT_EQ(reason(upload, {{{1, two, {}}}, {}, {}, {}}), "invalid_part");
  EXPECT_EQ(reason(upload, {{{3, one, {}}}, {}, {}, {}}), "invalid_part");
  EXPECT_EQ(reason(upload, {{{1, one, {}}, {2, two, {}}}, {}, {}, {}}), "entity_too_small");
  EXPECT_EQ(reason(upload, {{{2, two, {}}}, 99, {}, {}}), "size_mismatch");
  EXPECT_EQ(engine.keys(repo, "main"), "");
  EXPECT_EQ(reason(upload, {{{2, two, {}}}, 4, {}, {}}), "done");
  EXPECT_EQ(reason(upload, {{{2, two, {}}}, 4, {}, {}}), "done") << "the key shows it";
  EXPECT_EQ(reason(upload, {{{1, one, {}}}, {}, {}, {}}), "no_such_upload");
}

TEST_F(Multipart, AnUploadBelongsToItsKeyAndDiesWithItsBranch) {
  engine.branch(repo, "dev", "main");
  const UploadTarget target = check_upload(*engine, repo, BranchName("dev"), Key("k"), false, {});
  const MultipartUpload upload = create_multipart(*engine, target, {"tester", {}, "", ""});
  const auto found = [&](const std::string& branch, const std::string& key) {
    try {
      get_multipart(*engine, repo, BranchName(branch), Key(key), upload.upload_id);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), "no_such_upload");
      return false;
    }
  };
  EXPECT_TRUE(found("dev", "k"));
  EXPECT_FALSE(found("dev", "other"));
  EXPECT_FALSE(found("main", "k"));
  branch::delete_branch(*engine, repo, BranchName("dev"), false);
  engine.branch(repo, "dev", "main");
  EXPECT_FALSE(found("dev", "k"));
  // A part that was on its way when the branch went.
  EXPECT_EQ(testing::reason_of([&] { part(upload, 1, "late"); }), "no_such_upload");
}

TEST_F(Multipart, AbandonedUploadsEndAndAreSweptByServersTogether) {
  server::AssemblyOptions options{64 << 20, std::string(32, 'k'), std::chrono::seconds(0), 1000};
  server::Assembly brief(engine.pool, engine.stores, engine.clock, options);
  const MultipartUpload kept = begin("kept");
  part(kept, 1, "x");
  const UploadTarget target =
      check_upload(brief.engine(), repo, BranchName("main"), Key("gone"), false, {});
  std::string last;
  for (uint32_t i = 0; i < kSweptUploadsMax + 1; ++i) {
    last = create_multipart(brief.engine(), target, {"tester", {}, "", ""}).upload_id;
  }
  // It has ended before anybody sweeps.
  EXPECT_THROW(get_multipart(*engine, repo, BranchName("main"), Key("gone"), last), Error);
  EXPECT_TRUE(brief.sweep()) << "one sweep has a limit";
  engine.parts().sweep();
  EXPECT_EQ((*engine).uploads.sweep(), 0u);
  EXPECT_EQ(list_multiparts(*engine, repo, "", {"", ""}, 10).items.size(), 1u);
  EXPECT_EQ(list_parts(*engine, kept, 0, 10).items.size(), 1u);
}

TEST_F(Multipart, OpenUploadsPerUserAreLimitedOverRestAndS3) {
  server::AssemblyOptions options{64 << 20, std::string(32, 'k'), std::chrono::hours(1), 3};
  server::Assembly few(engine.pool, engine.stores, engine.clock, options);
  engine.branch(repo, "dev", "main");
  const auto other = engine.make_repository("other");
  const auto target = [&](const RepositoryName& in, const std::string& branch) {
    return check_upload(few.engine(), in, BranchName(branch), Key("k"), false, {});
  };
  const auto open = [&](const UploadTarget& at, const std::string& user) {
    return create_multipart(few.engine(), at, {user, {}, "", ""});
  };
  const auto refused = [&](const std::string& user) {
    return testing::reason_of([&] { open(target(repo, "main"), user); });
  };
  open(target(repo, "dev"), "ann");
  const MultipartUpload second = open(target(other, "main"), "ann");
  // One whose parts the store keeps.
  const OwnAddress address =
      hand_out_address(few.engine(), repo, BranchName("main"), Key("k"), "ann").own;
  const UploadTarget direct = target(repo, "main");
  const auto link = [&] {
    return few.engine().uploads.create_link(direct.repository.id, direct.branch, Key("k"), address,
                                            "ann", kHandedOutLifetime);
  };
  EXPECT_TRUE(link());
  EXPECT_FALSE(link());
  EXPECT_EQ(refused("ann"), "too_many_uploads");
  open(target(repo, "main"), "bob");  // another's are not counted

  abort_multipart(few.engine(), second);
  open(target(repo, "main"), "ann");
  EXPECT_EQ(refused("ann"), "too_many_uploads");
  few.engine().uploads.remove_links(direct.branch.id, Key("k"), address);
  open(target(repo, "main"), "ann");
  EXPECT_EQ(refused("ann"), "too_many_uploads");
  branch::delete_branch(few.engine(), repo, BranchName("dev"), false);
  open(target(repo, "main"), "ann");
  EXPECT_EQ(refused("ann"), "too_many_uploads");
}

TEST_F(Multipart, UploadsOfAKeyAreListedByCreationTime) {
  const UploadTarget target = check_upload(*engine, repo, BranchName("main"), Key("k"), false, {});
  std::vector<std::string> made;
  for (const std::string user : {"ann", "bob", "cleo", "dan", "eve", "ann"}) {
    made.push_back(create_multipart(*engine, target, {user, {}, "", ""}).upload_id);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // ids tell milliseconds apart
  }
  std::vector<std::string> listed;
  UploadMarker after;
  for (bool more = true; more; after = {"main/k", listed.back()}) {
    const auto page = list_multiparts(*engine, repo, "", after, 2);
    for (const MultipartUpload& upload : page.items) listed.push_back(upload.upload_id);
    more = page.has_more;
  }
  EXPECT_EQ(listed, made);
}

TEST_F(Multipart, ACompletedObjectSurvivesMergesAndItsBranch) {
  engine.put(repo, "main", "first", "1");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  const UploadTarget target = check_upload(*engine, repo, BranchName("dev"), Key("big"), false, {});
  const MultipartUpload upload = create_multipart(*engine, target, {"tester", {}, "", ""});
  const std::string one = part(upload, 1, large);
  const std::string two = part(upload, 2, "tail");
  const size_t objects = engine.store->list("lake/data/", "", 1000).items.size();
  const Entry made =
      complete_multipart(*engine, upload, {{{1, one, {}}, {2, two, {}}}, {}, {}, {}});
  const auto same_at = [&](const std::string& ref) {
    const FoundObject found = get_object(*engine, repo, ref, Key("big"));
    EXPECT_EQ(found.entry.etag, made.etag) << ref;
    EXPECT_EQ(found.entry.address, made.address) << ref;
    EXPECT_EQ(physical_address(*engine, found.repository, found.entry),
              physical_address(*engine, found.repository, made))
        << ref;
    const std::vector<UploadedPart> parts = parts_of(*engine, found.entry);
    ASSERT_EQ(parts.size(), 2u) << ref;
    EXPECT_EQ(parts[1].etag, two);
    EXPECT_EQ(engine.read(repo, ref, "big"), large + "tail") << ref;
  };
  same_at("dev");
  engine.commit(repo, "dev");
  same_at("dev");
  const auto merged = versioning::merge_into(*engine, repo, "dev", BranchName("main"), {});
  ASSERT_TRUE(std::holds_alternative<Commit>(merged));
  branch::delete_branch(*engine, repo, BranchName("dev"), false);
  same_at("main");
  same_at("main@");
  EXPECT_EQ(engine.store->list("lake/data/", "", 1000).items.size(), objects);
}

TEST_F(Multipart, ListsAreOrderedAndPaged) {
  const MultipartUpload b = begin("b");
  const MultipartUpload a = begin("a");
  for (uint32_t n : {3u, 1u, 2u}) part(a, n, "x");
  const auto parts = list_parts(*engine, a, 0, 2);
  ASSERT_EQ(parts.items.size(), 2u);
  EXPECT_EQ(parts.items[1].number, 2u);
  EXPECT_TRUE(parts.has_more);
  EXPECT_EQ(list_parts(*engine, a, 2, 2).items.at(0).number, 3u);
  const auto uploads = list_multiparts(*engine, repo, "main/", {"", ""}, 1);
  ASSERT_EQ(uploads.items.size(), 1u);
  EXPECT_EQ(uploads.items[0].upload_id, a.upload_id);
  EXPECT_EQ(
      list_multiparts(*engine, repo, "main/", {"main/a", a.upload_id}, 10).items.at(0).upload_id,
      b.upload_id);
  abort_multipart(*engine, a);
  EXPECT_EQ(list_multiparts(*engine, repo, "", {"", ""}, 10).items.size(), 1u);
}

}  // namespace
}  // namespace tarn::objects

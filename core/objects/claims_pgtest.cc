// Sizes and digests that clients state of objects at addresses of the server are not stored.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/objects/multipart.h"
#include "core/tree/entry_fields.h"
#include "tests/support/one_md5.h"
#include "tests/support/repository_test.h"

namespace tarn::objects {
namespace {

using testing::kOneMd5;
using testing::kSameMd5;
using testing::reason_of;
using testing::TextBody;

class Claims : public testing::RepositoryTest {
 protected:
  UploadTarget target(const std::string& key) {
    return check_upload(*engine, repo, BranchName("main"), Key(key), false, {});
  }
  std::string url_of(const Entry& entry) { return physical_address(*engine, repo, entry); }
  Entry stage(const std::string& key, const std::string& url, uint64_t size_bytes,
              const std::string& etag) {
    return stage_address(*engine, target(key), url, size_bytes, etag, {}, {}, {});
  }
  Entry upload_in_parts(const std::string& key, const std::vector<std::string>& parts) {
    const MultipartUpload upload =
        create_multipart(*engine, target(key), {"tester", {"", {}, {}}, "", ""});
    Completion completion;
    for (const std::string& bytes : parts) {
      TextBody body(bytes);
      const auto number = static_cast<uint32_t>(completion.parts.size() + 1);
      completion.parts.push_back(
          {number, put_part(*engine, upload, number, body, bytes.size()).etag, {}});
    }
    return complete_multipart(*engine, upload, completion);
  }
};

TEST_F(Claims, StagedAddressHasSizeAndDigestsOfItsBytes) {
  const Entry truth = engine.put(repo, "main", "truth", "true");
  const Entry lies = engine.put(repo, "main", "lies", "lies");
  const Entry staged = stage("a", url_of(lies), truth.size_bytes, truth.etag);
  EXPECT_EQ(staged.etag, to_hex(md5("lies")));
  EXPECT_EQ(whole_sha256(staged), sha256("lies"));
  EXPECT_TRUE(tree::same_bytes(staged, lies));
  EXPECT_FALSE(tree::same_bytes(staged, truth));
  EXPECT_EQ(stage("b", url_of(lies), 1, "an etag").size_bytes, 4u);
  EXPECT_EQ(engine.read(repo, "main", "b"), "lies");
}

TEST_F(Claims, StagedAddressOfOnePartKeepsItsEtagAlone) {
  const Entry part = upload_in_parts("part", {"bytes"});
  EXPECT_EQ(part.etag, to_hex(md5(md5("bytes"))) + "-1");
  EXPECT_EQ(stage("a", url_of(part), 5, part.etag).etag, part.etag);
  EXPECT_EQ(stage("b", url_of(part), 5, to_hex(md5("bytes")) + "-1").etag, to_hex(md5("bytes")));
}

TEST_F(Claims, AddressWithoutAnObjectIsNotStaged) {
  const std::string empty =
      repo.storage_namespace + "/" + relative_path(new_own_address((*engine).clock.now()));
  EXPECT_EQ(reason_of([&] { stage("a", empty, 3, to_hex(md5("abc"))); }), "link_address_empty");
}

TEST_F(Claims, LinkedAddressHasDigestsOfItsBytes) {
  for (const std::string& said : {to_hex(md5("bytes")), std::string("an etag"),
                                  std::string("5d41402abc4b2a76b9719d911017c592-2")}) {
    const auto address = hand_out_address(*engine, repo, BranchName("main"), Key("a"), "tester");
    engine.send(address.text, "bytes");
    const Entry linked =
        link_address(*engine, target("a"), address.text, "tester", {5, said}, {}, {});
    EXPECT_EQ(linked.etag, to_hex(md5("bytes"))) << said;
    EXPECT_EQ(whole_sha256(linked), sha256("bytes")) << said;
  }
}

TEST_F(Claims, FilledAddressTakesNoOtherBytesWithOneMd5) {
  const auto address = hand_out_address(*engine, repo, BranchName("main"), Key("a"), "tester");
  const auto fill = [&](const std::string& bytes) {
    TextBody body(bytes);
    fill_address(*engine, repo, {repo.id, BranchName("main"), Key("a"), address.own}, body,
                 bytes.size());
  };
  EXPECT_EQ(reason_of([&] { fill(kOneMd5); }), "done");
  EXPECT_EQ(reason_of([&] { fill(kOneMd5); }), "done");
  EXPECT_EQ(reason_of([&] { fill(kSameMd5); }), "address_taken");
}

TEST_F(Claims, PartsMakeADigestOfTheWhole) {
  const std::string zeros(kPartBytesMin, '\0');
  const Entry one = upload_in_parts("one", {kOneMd5 + zeros, "end"});
  const Entry same = upload_in_parts("same", {kOneMd5 + zeros, "end"});
  const Entry other = upload_in_parts("other", {kSameMd5 + zeros, "end"});
  EXPECT_EQ(one.etag, other.etag);
  EXPECT_TRUE(tree::same_content(one, same));
  EXPECT_FALSE(tree::same_content(one, other));
  // A copied part brings the digest of the object it refers to, and a range has its own.
  engine.put(repo, "main", "source", kOneMd5 + zeros);
  const MultipartUpload upload =
      create_multipart(*engine, target("copied"), {"tester", {"", {}, {}}, "", ""});
  const FoundObject source = get_object(*engine, repo, "main", Key("source"));
  const FoundObject end = get_object(*engine, repo, "main", Key("one"));
  Completion completion;
  completion.parts = {
      {1, copy_part(*engine, upload, 1, source, {0, source.entry.size_bytes}).etag, {}},
      {2, copy_part(*engine, upload, 2, end, {end.entry.size_bytes - 3, 3}).etag, {}}};
  const Entry copied = complete_multipart(*engine, upload, completion);
  EXPECT_TRUE(tree::same_content(one, copied));
}

TEST_F(Claims, CopiesKeepTheDigestWithOtherAttributes) {
  const Entry source = engine.put(repo, "main", "source", "bytes");
  CopyChanges changes;
  changes.extras = Extras();
  const Entry copy = copy_object(*engine, {repo, "main", Key("source")}, repo, BranchName("main"),
                                 Key("copy"), changes, false, {});
  EXPECT_EQ(whole_sha256(copy), sha256("bytes"));
  const Entry again = engine.put(repo, "main", "again", "bytes");
  EXPECT_TRUE(tree::same_bytes(copy, again));
}

}  // namespace
}  // namespace tarn::objects

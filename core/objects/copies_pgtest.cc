// Copies by reference: the store is not called at all.
#include <gtest/gtest.h>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/meta/part_lists.h"
#include "core/objects/multipart.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/faulty_store.h"

namespace tarn::objects {
namespace {

using testing::TestDatabase;
using testing::TestEngine;
using testing::TextBody;

class Copies : public ::testing::Test {
 protected:
  Copies() {
    auto counting = std::make_unique<testing::FaultyStore>(memory);
    store = counting.get();
    engine.stores.set_local_root(std::move(counting));
  }

  void start_counting() {
    // Nor do the first writes to a repository count, which ask the store for its owner.
    for (const Repository& one : {repo, other, third}) (*engine).owners.require(one);
    store->fail_call(0, testing::Fault::kFails);
  }

  MultipartUpload begin(const RepositoryName& repository, const std::string& key,
                        const std::string& algorithm = "") {
    const UploadTarget target =
        check_upload(*engine, repository, BranchName("main"), Key(key), false, {});
    return create_multipart(*engine, target, {"tester", {}, algorithm, ""});
  }
  std::string part(const MultipartUpload& upload, uint32_t number, const std::string& bytes) {
    TextBody body(bytes);
    return put_part(*engine, upload, number, body, bytes.size()).etag;
  }
  UploadedPart part_copy(const MultipartUpload& upload, uint32_t number,
                         const RepositoryName& repository, const std::string& key,
                         std::optional<blob::ByteRange> range = {}) {
    const FoundObject source = get_object(*engine, repository, "main", Key(key));
    return copy_part(*engine, upload, number, source,
                     range.value_or(blob::ByteRange{0, source.entry.size_bytes}));
  }
  Entry complete(const MultipartUpload& upload, const std::vector<std::string>& etags) {
    Completion completion;
    for (const std::string& etag : etags) {
      completion.parts.push_back({static_cast<uint32_t>(completion.parts.size() + 1), etag, {}});
    }
    return complete_multipart(*engine, upload, completion);
  }
  /// A multipart object: `large` and "tail".
  void put_in_parts(const RepositoryName& repository, const std::string& key) {
    const MultipartUpload upload = begin(repository, key);
    const std::string one = part(upload, 1, large);
    complete(upload, {one, part(upload, 2, "tail")});
  }
  Entry copy(const RepositoryName& from, const std::string& source, const RepositoryName& to,
             const std::string& target, const CopyChanges& changes = {}) {
    return copy_object(*engine, {from, "main", Key(source)}, to, BranchName("main"), Key(target),
                       changes, false);
  }

  TestDatabase database;
  blob::MemoryStore memory;
  TestEngine engine{database.url(), &memory};
  testing::FaultyStore* store = nullptr;
  testing::TestRepository repo = engine.make_repository("lake");
  testing::TestRepository other = engine.make_repository("other");
  testing::TestRepository third = engine.make_repository("third");
  const std::string large = std::string(kPartBytesMin, 'a');
};

TEST_F(Copies, CounterCountsReadsAndWrites) {
  start_counting();
  engine.put(repo, "main", "a", "x");
  const uint64_t written = store->calls();
  EXPECT_GT(written, 0u);
  engine.read(repo, "main", "a");
  EXPECT_GT(store->calls(), written);
}

TEST_F(Copies, WithinARepositoryMoveNoBytes) {
  engine.put(repo, "main", "a", "plain");
  put_in_parts(repo, "parts");
  engine.branch(repo, "dev", "main");
  start_counting();
  CopyChanges replaced;
  replaced.user_metadata = Metadata{{"k", "v"}};
  replaced.content_type = "text/html";
  replaced.extras = Extras();
  for (const char* key : {"a", "parts"}) {
    const std::string name(key);
    copy(repo, name, repo, name + "-copy");
    copy(repo, name, repo, name, replaced);
    copy(repo, name + "-copy", repo, name + "-renamed");
    engine.remove(repo, "main", name + "-copy");
  }
  engine.commit(repo, "main");
  copy(repo, "parts-renamed", repo, "again");
  EXPECT_EQ(store->calls(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "a-renamed"), "plain");
  EXPECT_EQ(engine.read(repo, "main", "parts"), large + "tail");
  EXPECT_EQ(engine.read(repo, "main", "again"), large + "tail");
  EXPECT_EQ(get_object(*engine, repo, "main", Key("parts")).entry.user_metadata().at("k"), "v");
}

TEST_F(Copies, BetweenRepositoriesMoveNoBytes) {
  engine.put(repo, "main", "a", "plain");
  put_in_parts(repo, "parts");
  start_counting();
  for (const char* key : {"a", "parts"}) {
    copy(repo, key, other, key);
    copy(other, key, third, key);
    copy(third, key, repo, std::string(key) + "-back");
  }
  engine.commit(third, "main");
  EXPECT_EQ(store->calls(), 0u);
  for (const RepositoryName& name : {other, third}) {
    EXPECT_EQ(engine.read(name, "main", "a"), "plain");
    EXPECT_EQ(engine.read(name, "main", "parts"), large + "tail");
    const FoundObject found = get_object(*engine, name, "main", Key("parts"));
    EXPECT_EQ(parts_of(*engine, found.entry).size(), 2u);
    EXPECT_EQ(physical_address(*engine, found.repository, found.entry).rfind("local://lake/", 0),
              0u);
  }
  EXPECT_EQ(engine.read(repo, "main", "a-back"), "plain");
  EXPECT_EQ(engine.read(repo, "main", "parts-back"), large + "tail");
  // An object that is copied back is the repository's own again.
  const Entry home = get_object(*engine, repo, "main", Key("parts-back")).entry;
  for (const meta::StoredPart& part :
       *(*engine).part_lists.get(std::get<PartListAddress>(home.address).id)) {
    EXPECT_FALSE(part.owner);
  }
}

TEST_F(Copies, OfWholeObjectsIntoPartsMoveNoBytes) {
  engine.put(repo, "main", "large", large);
  engine.put(repo, "main", "small", "tail");
  copy(repo, "small", other, "small");
  start_counting();
  const MultipartUpload here = begin(repo, "joined");
  const std::string first = part_copy(here, 1, repo, "large").etag;
  complete(here, {first, part_copy(here, 2, other, "small").etag});
  const MultipartUpload there = begin(third, "joined");
  part_copy(there, 1, repo, "large");
  complete(there, {first, part_copy(there, 2, other, "small").etag});
  const MultipartUpload alone = begin(third, "alone");
  complete(alone, {part_copy(alone, 1, repo, "small").etag});
  EXPECT_EQ(store->calls(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "joined"), large + "tail");
  EXPECT_EQ(engine.read(third, "main", "joined"), large + "tail");
  EXPECT_EQ(engine.read(third, "main", "alone"), "tail");
  EXPECT_TRUE(std::holds_alternative<ForeignAddress>(
      get_object(*engine, third, "main", Key("alone")).entry.address));
}

TEST_F(Copies, OfRangesIntoPartsHaveTheChecksumThatTheUploadAsksFor) {
  engine.put(repo, "main", "source", "0123456789");
  const std::string slice = "2345";
  const std::pair<std::string, std::string> expected[] = {
      {"crc32", crc_digest(CrcKind::kCrc32, crc_of(CrcKind::kCrc32, slice))},
      {"crc32c", crc_digest(CrcKind::kCrc32c, crc_of(CrcKind::kCrc32c, slice))},
      {"crc64nvme", crc_digest(CrcKind::kCrc64Nvme, crc_of(CrcKind::kCrc64Nvme, slice))},
      {"sha1", sha1(slice)},
      {"sha256", sha256(slice)}};
  for (const auto& [algorithm, digest] : expected) {
    const MultipartUpload upload = begin(repo, "joined", algorithm);
    const UploadedPart copied = part_copy(upload, 1, repo, "source", blob::ByteRange{2, 4});
    EXPECT_EQ(copied.etag, to_hex(md5(slice)));
    EXPECT_EQ(copied.checksums, (std::vector<Checksum>{{algorithm, false, digest, 0}}));
    EXPECT_EQ(list_parts(*engine, upload, 0, 1).items.at(0).checksums, copied.checksums);
  }
  const UploadedPart unasked =
      part_copy(begin(repo, "joined"), 1, repo, "source", blob::ByteRange{2, 4});
  EXPECT_EQ(unasked.checksums.at(0).algorithm, "crc64nvme");
}

// An object without the requested checksum is read, so that the completion can join the parts.
TEST_F(Copies, OfWholeObjectsWithoutTheChecksumAskedForAreRead) {
  engine.put(repo, "main", "source", "bytes");
  start_counting();
  const UploadedPart read = part_copy(begin(repo, "a", "sha256"), 1, repo, "source");
  EXPECT_GT(store->calls(), 0u);
  EXPECT_EQ(read.checksums, (std::vector<Checksum>{{"sha256", false, sha256("bytes"), 0}}));
}

TEST(PartLists, KeepOwnersAndTheFormOfThoseWithout) {
  meta::StoredPart part;
  part.size_bytes = 5;
  part.md5 = std::string(16, 'm');
  const std::string plain = meta::encode_parts({part, part});
  EXPECT_EQ(plain[0], 1);
  meta::StoredPart foreign = part;
  foreign.owner = RepositoryId{7};
  const std::string mixed = meta::encode_parts({part, foreign});
  EXPECT_EQ(mixed[0], 2);
  const meta::PartList read = meta::decode_parts(mixed);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_FALSE(read[0].owner);
  EXPECT_EQ(read[1].owner, RepositoryId{7});
  EXPECT_FALSE(meta::decode_parts(plain)[1].owner);
}

}  // namespace
}  // namespace tarn::objects

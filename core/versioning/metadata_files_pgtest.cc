// Ranges and metaranges as files, over a real database: their ids, what they hold, and what happens
// when they are gone.
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/meta/staging.h"
#include "core/sstable/record.h"
#include "core/versioning/metadata_files.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/faulty_store.h"
#include "tests/support/repository_test.h"
#include "tests/support/temporary_directory.h"

namespace tarn::versioning {
namespace {

using testing::TestDatabase;
using testing::TestEngine;

using Rows = std::map<std::string, std::string>;

struct ListedRange {
  std::string id;
  std::string max_key;
  std::string value;
};

class MetadataFiles : public ::testing::Test {
 protected:
  static Hash128 hash_of(const std::string& id) {
    return hash128_from_bytes(from_hex(id.substr(0, id.size() / 2)).value());
  }

  /// The rows of a file in the store, as RocksDB's own reader gives them.
  Rows rows_of(const MetadataFile& file) {
    const auto reader = file.at.store->open(file.at.key, {0, file.size_bytes}, "");
    EXPECT_TRUE(reader);
    std::string bytes(file.size_bytes, '\0');
    size_t filled = 0;
    while (const size_t got = reader->read({bytes.data() + filled, bytes.size() - filled}))
      filled += got;
    const std::string path = str_cat(directory.path(), "/table.sst");
    std::ofstream(path, std::ios::binary) << bytes;
    rocksdb::SstFileReader table{rocksdb::Options()};
    const rocksdb::Status status = table.Open(path);
    EXPECT_TRUE(status.ok()) << status.ToString();
    Rows out;
    const std::unique_ptr<rocksdb::Iterator> at(table.NewIterator(rocksdb::ReadOptions()));
    for (at->SeekToFirst(); at->Valid(); at->Next())
      out.emplace(at->key().ToString(), at->value().ToString());
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return out;
  }

  MetadataFile metarange_of(TestEngine& server, const std::string& ref) {
    const TreeRoot root = branch::resolve_commit(*server, repo, ref).root;
    return metadata_file(*server, repo, SstableKind::kMetarange, root.hash);
  }

  std::vector<ListedRange> ranges_of(const MetadataFile& metarange) {
    std::vector<ListedRange> out;
    for (const auto& [key, value] : rows_of(metarange)) {
      WireReader in(value, "a range");
      const std::string id(in.take(static_cast<uint64_t>(unzigzag(in.varint()))));
      out.push_back({.id = id, .max_key = key, .value = value});
    }
    return out;
  }

  /// All rows of all ranges of the commit, read through `server`.
  Rows entries_of(TestEngine& server, const std::string& ref) {
    Rows out;
    for (const ListedRange& range : ranges_of(metarange_of(server, ref))) {
      const Rows rows =
          rows_of(metadata_file(*server, repo, SstableKind::kRange, hash_of(range.id)));
      EXPECT_EQ(rows.rbegin()->first, range.max_key);
      out.insert(rows.begin(), rows.end());
    }
    return out;
  }

  static Entry an_entry(int number, const std::string& metadata = "") {
    Entry entry;
    entry.size_bytes = static_cast<uint64_t>(number);
    entry.mtime = from_millis(1'700'000'000'000 + number);
    entry.etag = std::string(32, 'a');
    entry.address = ExternalAddress{str_cat("s3://lake/", number)};
    entry.content_type = "text/csv";
    if (!metadata.empty()) entry.set_user_metadata({{"note", metadata}});
    return entry;
  }
  static std::string key_of(int number) { return str_cat("data/part-", 1'000'000 + number); }

  void stage(int first, int last, const std::string& metadata = "") {
    std::vector<meta::StagedRow> rows;
    for (int i = first; i < last; ++i) rows.push_back({key_of(i), an_entry(i, metadata)});
    (*engine).staging.stage_many(branch::get_branch(*engine, repo, BranchName("main")).id,
                                 std::move(rows));
  }

  std::vector<std::string> files() {
    std::vector<std::string> out;
    for (const auto& item : engine.store->list("", "", blob::kListItemsMax).items) {
      if (item.key.find("_tarn/sstables/") != std::string::npos) out.push_back(item.key);
    }
    return out;
  }

  testing::TemporaryDirectory directory;
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
};

TEST_F(MetadataFiles, HoldEveryObjectOfALargeCommitOnce) {
  constexpr int kObjects = 100'000;
  stage(0, kObjects);
  engine.commit(repo, "main");
  const Rows rows = entries_of(engine, "main");
  ASSERT_EQ(rows.size(), static_cast<size_t>(kObjects));
  for (const int i : {0, 1, 50'000, kObjects - 1}) {
    EXPECT_EQ(rows.at(key_of(i)),
              sstable::entry_value(an_entry(i), str_cat("s3://lake/", i), /*relative=*/false));
  }
  const auto ranges = ranges_of(metarange_of(engine, "main"));
  EXPECT_LE(ranges.size(), 20u) << "groups of leaves, not leaves";
}

TEST_F(MetadataFiles, HaveTheSameIdsOnEveryServerAndOfEveryHistory) {
  // Some 940 leaves: more than one node of level 1 takes, wherever the repository's salt cuts.
  stage(0, 150'000);
  engine.commit(repo, "main");
  engine.branch(repo, "other", "main");
  const auto before = ranges_of(metarange_of(engine, "main"));
  TestEngine second(database.url(), engine.store);
  const auto seen = ranges_of(metarange_of(second, "main"));
  ASSERT_GE(seen.size(), 2u);
  ASSERT_EQ(seen.size(), before.size());
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].value, before[i].value);

  // A change at the end leaves the ranges before it, and their files, as they are.
  engine.put(repo, "main", "zzz", "new");
  engine.commit(repo, "main");
  const auto after = ranges_of(metarange_of(second, "main"));
  EXPECT_EQ(after.front().id, before.front().id);
  EXPECT_NE(after.back().id, before.back().id);
  const auto location = [this](TestEngine& server, const std::string& id) {
    return metadata_file(*server, repo, SstableKind::kRange, hash_of(id)).location;
  };
  EXPECT_EQ(location(engine, before.front().id), location(second, after.front().id));

  // The same objects, committed in another order, are the same tree.
  engine.remove(repo, "main", "zzz");
  engine.commit(repo, "main");
  EXPECT_EQ(metarange_of(second, "main").location, metarange_of(engine, "other").location);
}

TEST_F(MetadataFiles, AreWrittenOnceAndAgainAfterTheirDeletion) {
  engine.put(repo, "main", "a", "bytes");
  engine.commit(repo, "main");
  const Rows rows = entries_of(engine, "main");
  const auto written = files();
  ASSERT_EQ(written.size(), 2u) << "a range and a metarange";
  EXPECT_EQ(entries_of(engine, "main"), rows);
  EXPECT_EQ(files(), written);
  for (const std::string& key : written) engine.store->remove(key);
  EXPECT_EQ(entries_of(engine, "main"), rows);
  EXPECT_EQ(files().size(), 2u);
}

// Nodes of a metarange that is too large are listed leaf by leaf.
TEST_F(MetadataFiles, CutLargeRangesIntoLeaves) {
  // A leaf takes one of these, and a node of level 1 some 240 leaves: 40 MB.
  constexpr int kObjects = 300;
  stage(0, kObjects, std::string(170'000, 'm'));
  engine.commit(repo, "main");
  const auto ranges = ranges_of(metarange_of(engine, "main"));
  EXPECT_GE(ranges.size(), 3u);
  EXPECT_EQ(entries_of(engine, "main").size(), static_cast<size_t>(kObjects));
  for (const ListedRange& range : ranges) {
    uint64_t bytes = 0;
    for (const auto& [key, value] :
         rows_of(metadata_file(*engine, repo, SstableKind::kRange, hash_of(range.id)))) {
      bytes += key.size() + value.size();
    }
    EXPECT_LE(bytes, kRangeBytesMax);
  }
}

TEST_F(MetadataFiles, NameAddressesAsLakeFSDoes) {
  const Entry own = engine.put(repo, "main", "own", "bytes");
  const auto other = engine.make_repository("other");
  const Entry foreign = engine.put(other, "main", "a", "bytes");
  Entry copy = foreign;
  const Repository owner = branch::get_repository(*engine, other);
  copy.address = ForeignAddress{owner.id, std::get<OwnAddress>(foreign.address)};
  Entry parts = own;
  parts.address = PartListAddress{7};
  (*engine).staging.stage_many(branch::get_branch(*engine, repo, BranchName("main")).id,
                               {{"external", an_entry(1)}, {"foreign", copy}, {"parts", parts}});
  engine.commit(repo, "main");
  const Rows rows = entries_of(engine, "main");
  ASSERT_EQ(rows.size(), 4u);
  const std::string below = relative_path(std::get<OwnAddress>(own.address));
  EXPECT_EQ(rows.at("own"), sstable::entry_value(own, below, true));
  EXPECT_EQ(rows.at("external"), sstable::entry_value(an_entry(1), "s3://lake/1", false));
  EXPECT_EQ(rows.at("foreign"),
            sstable::entry_value(copy,
                                 str_cat(owner.storage_namespace, "/",
                                         relative_path(std::get<OwnAddress>(foreign.address))),
                                 false));
  EXPECT_EQ(rows.at("parts"), sstable::entry_value(parts, "tarn-parts://lake/7", false));
}

TEST_F(MetadataFiles, AreFoundInTheirRepositoryOnly) {
  engine.put(repo, "main", "a", "bytes");
  engine.commit(repo, "main");
  const MetadataFile metarange = metarange_of(engine, "main");
  const Hash128 range = hash_of(ranges_of(metarange).front().id);
  const auto other = engine.make_repository("other");
  const auto asked = [this](const Repository& of, SstableKind kind, const Hash128& hash) {
    return testing::reason_of([&] { metadata_file(*engine, of, kind, hash); });
  };
  const Hash128 root = branch::resolve_commit(*engine, repo, "main").root.hash;
  EXPECT_EQ(asked(other, SstableKind::kMetarange, root), "metarange_not_found");
  EXPECT_EQ(asked(other, SstableKind::kRange, range), "range_not_found");
  EXPECT_EQ(asked(repo, SstableKind::kRange, Hash128{}), "range_not_found");
  EXPECT_EQ(asked(repo, SstableKind::kMetarange, Hash128{}), "metarange_not_found")
      << "of the first commit, which has no tree";
  branch::delete_repository(*engine, repo, true);
  EXPECT_EQ(
      engine.pool.lease()->run({"count_sstables", "SELECT count(*) FROM sstables"}).integer(0, 0),
      0);
}

// All of them write, one file each at most; whichever is found in the end, each answer is whole.
TEST_F(MetadataFiles, AreCompleteForConcurrentReaders) {
  stage(0, 5'000);
  engine.commit(repo, "main");
  const Hash128 root = branch::resolve_commit(*engine, repo, "main").root.hash;
  const Rows rows = rows_of(metarange_of(engine, "main"));
  for (const std::string& key : files()) engine.store->remove(key);
  TestEngine second(database.url(), engine.store);
  constexpr size_t kAskers = 8;
  std::vector<std::future<MetadataFile>> asked;
  for (size_t i = 0; i < kAskers; ++i) {
    asked.push_back(std::async(std::launch::async, [&, i] {
      return metadata_file(i % 2 == 0 ? *engine : *second, repo, SstableKind::kMetarange, root);
    }));
  }
  for (auto& answer : asked) EXPECT_EQ(rows_of(answer.get()), rows);
  const size_t written = files().size();
  EXPECT_LE(written, kAskers);
  EXPECT_EQ(metarange_of(engine, "main").location, metarange_of(second, "main").location);
  EXPECT_EQ(files().size(), written);
}

// Whichever call of the store fails, the next one who asks gets the whole file.
TEST_F(MetadataFiles, AreCompleteAfterAStoreFailure) {
  stage(0, 1'000);
  engine.commit(repo, "main");
  const Hash128 root = branch::resolve_commit(*engine, repo, "main").root.hash;
  const Rows rows = entries_of(engine, "main");
  const Hash128 range = hash_of(ranges_of(metarange_of(engine, "main")).front().id);
  TestEngine second(database.url(), engine.store);
  auto owned = std::make_unique<testing::FaultyStore>(*engine.store);
  testing::FaultyStore& store = *owned;
  second.stores.set_local_root(std::move(owned));
  for (const testing::Fault fault : {testing::Fault::kFails, testing::Fault::kLosesAnswer}) {
    for (const auto& [kind, hash] : std::map<SstableKind, Hash128>{
             {SstableKind::kRange, range}, {SstableKind::kMetarange, root}}) {
      uint64_t failed = 0;
      for (bool done = false; !done;) {
        for (const std::string& key : files()) engine.store->remove(key);
        store.fail_call(++failed, fault);
        done = testing::reason_of([&, kind = kind, hash = hash] {
                 metadata_file(*second, repo, kind, hash);
               }) == "done";
        store.fail_call(0, fault);
        EXPECT_EQ(entries_of(second, "main"), rows) << failed;
      }
      EXPECT_GT(failed, 4u) << "looked, created, wrote, finished, looked again";
    }
  }
}

}  // namespace
}  // namespace tarn::versioning

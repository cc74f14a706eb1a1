// Verification of repositories that were damaged in the database and in the store.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/object_versions.h"
#include "core/branch/refs.h"
#include "core/imports/import.h"
#include "core/meta/node_store.h"
#include "core/objects/multipart.h"
#include "core/tree/body.h"
#include "core/tree/node_encoder.h"
#include "core/verify/verify.h"
#include "core/versioning/merge.h"
#include "tests/support/repository_test.h"
#include "tests/support/table_digests.h"

namespace tarn::verify {
namespace {

using testing::TestDatabase;
using testing::TestEngine;
using testing::TextBody;

const RepositoryVerification kEverything{
    .ref = {}, .objects = {.mode = ObjectMode::kAll, .deep = true, .bytes_per_second = 0}};

class Verify : public ::testing::Test {
 protected:
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");

  VerifyReport verify(const RepositoryVerification& options = kEverything) {
    return verify_repository(*engine, repo, options, [](const VerifyReport&) {});
  }

  /// "kind path refs; ..." of all findings.
  std::string found(const RepositoryVerification& options = kEverything) {
    std::string out;
    for (const Finding& finding : verify(options).findings) {
      if (!out.empty()) out += "; ";
      out += str_cat(name_of(finding.kind), " ", finding.path, " [");
      for (const std::string& ref : finding.refs)
        out += str_cat(&ref == &finding.refs[0] ? "" : " ", ref);
      out += "]";
    }
    return out;
  }

  static ErrorCode code_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  }
  void sql(const std::string& statements) { engine.pool.lease()->run_script(statements); }

  std::string body_of(Nid nid) {
    static constexpr db::Query kBody{"test_verify_node", "SELECT body FROM nodes WHERE nid = $1"};
    return std::string(engine.pool.lease()->run(kBody, {nid}).bytes(0, 0));
  }
  std::string body_of_list() {
    static constexpr db::Query kBody{"test_verify_list", "SELECT body FROM part_lists"};
    return std::string(engine.pool.lease()->run(kBody).bytes(0, 0));
  }

  /// 1000 objects below a/ and b/: a tree of several ranges.
  void fill(const std::string& branch = "main") {
    for (const char* folder : {"a/", "b/"}) {
      for (int i = 1000; i < 1500; ++i) engine.put(repo, branch, str_cat(folder, i), str_cat(i));
    }
  }

  std::string key_of(const std::string& ref, const std::string& path) {
    const objects::FoundObject object = objects::get_object(*engine, repo, ref, Key(path));
    return objects::physical_address(*engine, object.repository, object.entry).substr(8);
  }

  void replace(const std::string& key, const std::string& bytes) {
    engine.store->remove(key);
    const auto writer = engine.store->create(key, bytes.size());
    writer->write(bytes);
    ASSERT_TRUE(writer->finish());
  }

  /// A range of main's tree: by number from the left.
  Nid range_of_main(uint32_t index) {
    const Nid root = branch::get_branch(*engine, repo, BranchName("main")).root.nid;
    return engine.parts().engine().nodes.load(root)->child(index).nid;
  }
  std::string last_key_of(Nid nid) {
    const auto node = (*engine).nodes.load(nid);
    return node->key(node->count() - 1);
  }

  /// Changes what the node records of the size of its child, and the hash in its row accordingly.
  void record_other_bytes(Nid nid, uint32_t child, int64_t more = 1) {
    const auto node = tree::Node::decode(body_of(nid));
    tree::InnerEncoder encoder(node->level());
    for (uint32_t i = 0; i < node->count(); ++i) {
      tree::ChildRef ref = node->child(i);
      if (i == child) ref.bytes += static_cast<uint64_t>(more);
      encoder.add(ref);
    }
    const tree::EncodedNode encoded = encoder.encode();
    sql(str_cat("UPDATE nodes SET body = '\\x", to_hex(tree::pack_body(encoded.bytes)),
                "', hash = '\\x", to_hex(view_of(tree::hash_of({repo.salt}, encoded))),
                "' WHERE nid = ", nid));
  }

  std::string finish_parts(const std::string& key, const std::vector<std::string>& parts) {
    const objects::UploadTarget target =
        objects::check_upload(*engine, repo, BranchName("main"), Key(key), false, {});
    const objects::MultipartUpload upload =
        objects::create_multipart(*engine, target, {"tester", {"text/plain", {}, {}}, "", ""});
    objects::Completion completion;
    for (const std::string& bytes : parts) {
      TextBody body(bytes);
      const uint32_t number = static_cast<uint32_t>(completion.parts.size() + 1);
      completion.parts.push_back(
          {number, objects::put_part(*engine, upload, number, body, bytes.size()).etag, {}});
    }
    objects::complete_multipart(*engine, upload, completion);
    return std::string(objects::kPartBytesMin, 'p');
  }

  void import_one(const std::string& name) {
    const auto writer = engine.store->create("set/" + name, 5);
    writer->write("bytes");
    ASSERT_TRUE(writer->finish());
    imports::ImportRequest request;
    request.paths = {
        {imports::ImportPath::Kind::kObject, "local:///lake/set/" + name, "in/" + name}};
    request.commit.committer = "tester";
    imports::start_import(*engine, repo, BranchName("main"), request);
    while (imports::run_one_import(*engine, {})) {
    }
  }
};

TEST_F(Verify, AnIntactRepositoryHasNoFindingAndNothingIsChanged) {
  fill();
  engine.commit(repo, "main");
  engine.branch(repo, "exp", "main");
  engine.put(repo, "exp", "a/1200", "changed");
  engine.remove(repo, "exp", "b/1100");
  engine.commit(repo, "exp");
  engine.put(repo, "main", "c", "on main");
  engine.commit(repo, "main");
  versioning::merge_into(
      *engine, repo, "exp", BranchName("main"),
      {.committer = "tester", .message = "", .metadata = {}, .resolutions = {}, .paths = {}});
  branch::create_tag(*engine, repo, TagName("v1"), "main", {});
  finish_parts("big", {std::string(objects::kPartBytesMin, 'p'), "tail"});
  objects::copy_object(*engine, {repo.name, "main", Key("a/1001")}, repo, BranchName("main"),
                       Key("copy"), {}, false);
  engine.commit(repo, "main");
  import_one("one");
  engine.put(repo, "main", "staged", "not committed");
  engine.remove(repo, "main", "a/1002");
  const testing::TestRepository other = engine.make_repository("other");
  objects::copy_object(*engine, {repo.name, "main", Key("big")}, other, BranchName("main"),
                       Key("taken"), {}, false);
  const std::string before = testing::table_digests(engine.pool);
  const VerifyReport report = verify();
  EXPECT_EQ(found(), "");
  EXPECT_EQ(testing::table_digests(engine.pool), before);
  EXPECT_EQ(report.refs, 3u);
  EXPECT_EQ(report.commits, 7u);
  EXPECT_EQ(report.staged, 2u);
  EXPECT_EQ(report.part_lists, 1u);
  EXPECT_GT(report.nodes, 5u);
  // 1000, the change, c, two parts, the import, and the staged one.
  EXPECT_EQ(report.objects, 1006u);
  EXPECT_EQ(report.objects_checked, 1006u);
  EXPECT_EQ(report.objects_compared, 1005u) << "an import is compared by its etag";
  const VerifyReport of_other = verify_repository(*engine, other, kEverything, [](const auto&) {});
  EXPECT_EQ(of_other.errors(), 0u);
  EXPECT_EQ(of_other.objects_compared, 2u);
}

TEST_F(Verify, AFlippedByteOfANodeIsUnreadable) {
  fill();
  engine.commit(repo, "main");
  engine.branch(repo, "same", "main");
  const Nid nid = range_of_main(1);
  sql(str_cat("UPDATE nodes SET body = set_byte(body, 40, get_byte(body, 40) # 1) WHERE nid = ",
              nid));
  const VerifyReport report = verify();
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(name_of(finding.kind), "node_unreadable");
  EXPECT_EQ(finding.path, last_key_of(nid));
  EXPECT_EQ(finding.after, last_key_of(range_of_main(0)));
  EXPECT_EQ(finding.refs, (std::vector<std::string>{"main", "same"}));
  EXPECT_EQ(finding.commit, to_text(branch::get_branch(*engine, repo, BranchName("main")).head));
  EXPECT_EQ(finding.address, str_cat("node ", nid));
}

TEST_F(Verify, AValidBodyOfAnotherContentHasAnotherHash) {
  fill();
  engine.commit(repo, "main");
  const Nid nid = range_of_main(0);
  std::string encoding = tree::unpack_body(body_of(nid));
  encoding[28] = static_cast<char>(encoding[28] ^ 1);  // of the base mtime
  sql(str_cat("UPDATE nodes SET body = '\\x", to_hex(tree::pack_body(encoding)),
              "' WHERE nid = ", nid));
  EXPECT_EQ(found(), str_cat("node_hash ", last_key_of(nid), " [main]"));
  // A server that has not kept the node in memory does not serve it either.
  TestEngine other{database.url(), engine.store};
  EXPECT_EQ(code_of([&] { other.read(repo, "main", "a/1000"); }), ErrorCode::kDataLoss);
}

TEST_F(Verify, AMissingNodeIsReportedWithTheNewestRefThatShowsIt) {
  fill();
  engine.commit(repo, "main");
  branch::create_tag(*engine, repo, TagName("old"), "main", {});
  const Nid nid = range_of_main(0);
  const std::string path = last_key_of(nid);
  const std::string old = to_text(branch::get_branch(*engine, repo, BranchName("main")).head);
  engine.put(repo, "main", "a/1000", "the range is another now");
  engine.commit(repo, "main");
  sql(str_cat("DELETE FROM nodes WHERE nid = ", nid));
  EXPECT_EQ(found(), str_cat("node_missing ", path, " [old]"));
  EXPECT_EQ(verify().findings.at(0).commit, old);
  RepositoryVerification main_only = kEverything;
  main_only.ref = "main";
  EXPECT_EQ(found(main_only), "");
  main_only.ref = "old";
  EXPECT_EQ(found(main_only), str_cat("node_missing ", path, " [old]"));
}

TEST_F(Verify, SwappedNodesDifferFromTheirParent) {
  fill();
  engine.commit(repo, "main");
  const Nid a = range_of_main(0);
  const Nid b = range_of_main(1);
  const std::string last_a = last_key_of(a);
  const std::string last_b = last_key_of(b);
  sql(str_cat("UPDATE nodes SET nid = -1 WHERE nid = ", a, "; UPDATE nodes SET nid = ", a,
              " WHERE nid = ", b, "; UPDATE nodes SET nid = ", b, " WHERE nid = -1"));
  const VerifyReport report = verify();
  EXPECT_EQ(report.totals[static_cast<size_t>(FindingKind::kNodeReference)], 4u)
      << "the hash, and the totals, of each";
  EXPECT_EQ(report.totals[static_cast<size_t>(FindingKind::kNodeBounds)], 1u)
      << "the left one is where greater keys belong";
  EXPECT_EQ(report.errors(), 5u);
  ASSERT_EQ(report.findings.size(), 5u);
  EXPECT_EQ(report.findings[0].path, last_a);
  EXPECT_EQ(report.findings[0].refs, std::vector<std::string>{"main"});
  EXPECT_EQ(report.findings[2].path, last_b);
}

TEST_F(Verify, ARootThatIsAnotherCommitsTreeIsNoticed) {
  fill();
  const Commit first = engine.commit(repo, "main");
  engine.put(repo, "main", "z", "z");
  const Commit second = engine.commit(repo, "main");
  sql(str_cat("UPDATE commits SET root_nid = ", first.root.nid,
              " WHERE root_nid = ", second.root.nid));
  // The hash, which the commit's id covers, is still that of the second tree.
  EXPECT_EQ(found(), "node_reference  []; branch_root  [main]");
}

TEST_F(Verify, ACommitThatRefersToTheTreeOfALaterOneIsNoticed) {
  fill();
  const Commit first = engine.commit(repo, "main");
  engine.put(repo, "main", "z", "z");
  const Commit second = engine.commit(repo, "main");
  sql(str_cat("UPDATE commits SET root_nid = ", second.root.nid,
              " WHERE root_nid = ", first.root.nid));
  EXPECT_EQ(found(), "node_reference  []");
  EXPECT_EQ(verify().findings.at(0).commit, to_text(first.id));
}

TEST_F(Verify, EveryParentIsComparedWithItsChildren) {
  fill();
  const Commit old = engine.commit(repo, "main");
  engine.put(repo, "main", "a/1000", "the last range is still shared");
  const Commit last = engine.commit(repo, "main");
  const uint32_t shared = (*engine).nodes.load(old.root.nid)->count() - 1;
  const std::string path = (*engine).nodes.load(old.root.nid)->key(shared);
  const auto reported = [&] {
    size_t count = 0;
    for (const Finding& finding : verify().findings) {
      count += finding.kind == FindingKind::kNodeReference && finding.path == path ? 1 : 0;
    }
    return count;
  };
  // The trees of refs are walked first, so the older commit is the second parent.
  for (const Commit& commit : {old, last}) {
    record_other_bytes(commit.root.nid, shared);
    EXPECT_EQ(reported(), 1u) << commit.message;
    record_other_bytes(commit.root.nid, shared, -1);
    EXPECT_EQ(found(), "") << commit.message;
  }
}

TEST_F(Verify, ANodeOfAnotherRepositoryIsAWarning) {
  fill();
  engine.commit(repo, "main");
  sql(str_cat("UPDATE nodes SET repo_id = 99 WHERE nid = ", range_of_main(0)));
  const VerifyReport report = verify();
  EXPECT_EQ(report.warnings(), 1u);
  EXPECT_EQ(report.errors(), 0u);
  EXPECT_EQ(name_of(report.findings.at(0).kind), "node_owner");
}

TEST_F(Verify, AChangedLevelInARowIsNoticed) {
  fill();
  engine.commit(repo, "main");
  sql(str_cat("UPDATE nodes SET level = 3 WHERE nid = ", range_of_main(0)));
  EXPECT_EQ(found(), str_cat("node_reference ", last_key_of(range_of_main(0)), " [main]"));
}

TEST_F(Verify, AChangedCommitHasAnotherId) {
  engine.put(repo, "main", "k", "v");
  const Commit commit = engine.commit(repo, "main", "honest");
  engine.put(repo, "main", "k", "w");
  engine.commit(repo, "main");
  sql("UPDATE commits SET message = 'forged' WHERE message = 'honest'");
  const VerifyReport report = verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "commit_id");
  EXPECT_EQ(report.findings[0].commit, to_text(commit.id));
  EXPECT_EQ(report.findings[0].expected, to_text(commit.id));
}

TEST_F(Verify, AMissingParentAndAWrongGenerationAreFindingsOfTheChild) {
  engine.put(repo, "main", "k", "1");
  const Commit first = engine.commit(repo, "main", "first");
  engine.put(repo, "main", "k", "2");
  const Commit second = engine.commit(repo, "main", "second");
  sql("UPDATE commits SET generation = 7 WHERE message = 'second'");
  VerifyReport report = verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "commit_generation");
  EXPECT_EQ(report.errors(), 0u);
  EXPECT_EQ(report.warnings(), 1u);
  sql("DELETE FROM commits WHERE message = 'first'");
  report = verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "commit_parent");
  EXPECT_EQ(report.findings[0].commit, to_text(second.id));
  EXPECT_EQ(report.findings[0].expected, "commit " + to_text(first.id));
}

TEST_F(Verify, RefsOfMissingCommitsAreFindings) {
  engine.put(repo, "main", "k", "1");
  engine.commit(repo, "main", "first");
  branch::create_tag(*engine, repo, TagName("v1"), "main", {});
  sql("DELETE FROM commits WHERE message = 'first'");
  EXPECT_EQ(found(), "ref_commit  [main]; ref_commit  [v1]");
}

TEST_F(Verify, ABranchThatShowsAnotherTreeThanItsHeadIsAFinding) {
  engine.put(repo, "main", "k", "1");
  const Commit first = engine.commit(repo, "main", "first");
  engine.put(repo, "main", "k", "2");
  engine.commit(repo, "main", "second");
  sql(str_cat("UPDATE branches SET root_nid = ", first.root.nid, ", root_hash = '\\x",
              to_hex(view_of(first.root.hash)), "'"));
  EXPECT_EQ(found(), "branch_root  [main]");
  engine.put(repo, "main", "l", "3");
  EXPECT_EQ(code_of([&] { engine.commit(repo, "main"); }), ErrorCode::kDataLoss)
      << "a commit would keep the older tree for good";
}

TEST_F(Verify, UndecodableMetadataOfACommitIsAFinding) {
  engine.put(repo, "main", "k", "1");
  engine.commit(repo, "main", "first");
  engine.put(repo, "main", "k", "2");
  engine.commit(repo, "main", "second");
  sql("UPDATE commits SET parents = ARRAY['\\x00'::bytea] WHERE message = 'first'");
  EXPECT_EQ(found(), "commit_unreadable  []");
}

TEST_F(Verify, AStagedRowThatDoesNotDecodeIsAFindingOfItsBranch) {
  engine.branch(repo, "exp", "main");
  engine.put(repo, "exp", "staged/k", "1");
  engine.put(repo, "main", "fine", "1");
  sql("UPDATE staging SET val = substr(val, 1, 5) WHERE key = 'staged/k'");
  EXPECT_EQ(found(), "staged_unreadable staged/k [exp]");
}

TEST_F(Verify, DamageOfPartListsIsNoticed) {
  finish_parts("big", {std::string(objects::kPartBytesMin, 'p'), "tail"});
  engine.commit(repo, "main");
  ASSERT_EQ(found(), "");
  const std::string body = to_hex(body_of_list());
  sql("UPDATE part_lists SET body = substr(body, 1, 9)");
  EXPECT_EQ(found(), "parts_unreadable big [main]");
  sql(str_cat("UPDATE part_lists SET body = set_byte(decode('", body, "', 'hex'), 2, 129)"));
  const VerifyReport resized = verify();
  EXPECT_EQ(resized.totals[static_cast<size_t>(FindingKind::kPartsSize)], 1u);
  EXPECT_EQ(resized.findings.at(0).refs, std::vector<std::string>{"main"});
  sql("DELETE FROM part_lists");
  RepositoryVerification structure;
  structure.objects.mode = ObjectMode::kNone;
  EXPECT_EQ(found(structure), "parts_missing big [main]");
}

TEST_F(Verify, LostObjectsAreNoticed) {
  fill();
  engine.commit(repo, "main");
  engine.branch(repo, "exp", "main");
  engine.put(repo, "exp", "a/1001", "other");
  engine.commit(repo, "exp");
  engine.put(repo, "exp", "staged", "s");
  engine.store->remove(key_of("main", "a/1001"));
  engine.store->remove(key_of("exp", "staged"));
  replace(key_of("main", "b/1400"), "14");
  EXPECT_EQ(
      found(),
      "object_missing a/1001 [main]; object_missing staged [exp]; object_size b/1400 [main exp]");
  RepositoryVerification structure;
  structure.objects.mode = ObjectMode::kNone;
  EXPECT_EQ(found(structure), "");
  EXPECT_EQ(found({}), found()) << "a sample holds all objects of a small repository";
}

TEST_F(Verify, ChangedBytesOfTheSameSizeAreNoticedByReadingThem) {
  fill();
  finish_parts("big", {std::string(objects::kPartBytesMin, 'p'), "tail"});
  engine.commit(repo, "main");
  replace(key_of("main", "b/1400"), "1401");
  const std::string list = key_of("main", "big");  // its first part
  std::string bytes(objects::kPartBytesMin, 'p');
  bytes[objects::kPartBytesMin / 2] = 'q';
  replace(list, bytes);
  EXPECT_EQ(found(), "object_content b/1400 [main]; object_content big [main]");
  RepositoryVerification shallow = kEverything;
  shallow.objects.deep = false;
  EXPECT_EQ(found(shallow), "");
  const Finding finding = verify().findings.at(0);
  EXPECT_EQ(finding.expected, "sha256 " + to_hex(sha256("1400")));
  EXPECT_EQ(finding.found, "sha256 " + to_hex(sha256("1401")));
}

TEST_F(Verify, ImportsAreComparedWithTheirSources) {
  import_one("gone");
  import_one("changed");
  ASSERT_EQ(found(), "");
  engine.store->remove("set/gone");
  replace("set/changed", "other");
  EXPECT_EQ(found(), "source_missing in/gone [main]; source_changed in/changed [main]");
}

TEST_F(Verify, DeepReadsKeepTheirPace) {
  engine.put(repo, "main", "k", std::string(1 << 20, 'x'));
  engine.put(repo, "main", "l", std::string(1 << 20, 'y'));
  RepositoryVerification slow = kEverything;
  slow.objects.bytes_per_second = 4 << 20;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(verify(slow).bytes_read, 2u << 20);
  // The last piece is not waited for.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(400));
}

TEST_F(Verify, KeptVersionsAreExamined) {
  branch::set_versioning(*engine, repo, Versioning::kEnabled);
  engine.put(repo, "main", "key", "first");
  const std::string first = key_of("main", "key");
  engine.put(repo, "main", "key", "second");
  engine.remove(repo, "main", "key");
  VerifyReport report = verify();
  EXPECT_EQ(report.versions, 3U);
  EXPECT_EQ(report.objects_compared, 2U);
  EXPECT_EQ(report.findings.size(), 0U);
  replace(first, "other");
  EXPECT_EQ(found(), "object_content key [main]");
  engine.store->remove(first);
  EXPECT_EQ(found(), "object_missing key [main]");
  EXPECT_EQ(found({.ref = "main", .objects = kEverything.objects}), "object_missing key [main]");
  sql("UPDATE object_versions SET val = '\\xff' WHERE kind = 0");
  EXPECT_EQ(found(), "version_unreadable key [main]; version_unreadable key [main]");
}

TEST_F(Verify, MoreVersionsThanAPageAreAllExamined) {
  branch::set_versioning(*engine, repo, Versioning::kEnabled);
  engine.put(repo, "main", "key", "first");
  sql("INSERT INTO object_versions (branch_id, key, number, version, is_null, kind, val, "
      "created_ms, makers) "
      "SELECT v.branch_id, convert_to('key' || i % 7, 'UTF8'), v.number - i, decode(md5(i::text), "
      "'hex'), false, 0, "
      "v.val, 0, '{}' FROM object_versions v, generate_series(1, 4100) AS s(i)");
  EXPECT_EQ(verify().versions, 4101U);
}

}  // namespace
}  // namespace tarn::verify

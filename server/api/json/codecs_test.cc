// The shapes of bodies that clients decode strictly.
#include <functional>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "server/api/json/account.h"
#include "server/api/json/branch_rule.h"
#include "server/api/json/collection_rules.h"
#include "server/api/json/commit.h"
#include "server/api/json/configuration.h"
#include "server/api/json/diff.h"
#include "server/api/json/import.h"
#include "server/api/json/list.h"
#include "server/api/json/merge.h"
#include "server/api/json/object.h"
#include "server/api/json/presigned.h"
#include "server/api/json/pull_request.h"
#include "server/api/json/ref.h"
#include "server/api/json/repository.h"
#include "server/api/json/tag_rule.h"

namespace tarn::api::json {
namespace {

constexpr std::string_view kIdOfOnes =
    "0101010101010101010101010101010101010101010101010101010101010101";

CommitId an_id() {
  CommitId id;
  id.bytes.fill(1);
  return id;
}

Entry an_entry() {
  Entry entry;
  entry.size_bytes = 5;
  entry.mtime = from_millis(1'700'000'000'999);
  entry.etag = "5d41402abc4b2a76b9719d911017c592";
  entry.content_type = "text/plain";
  return entry;
}

template <typename T>
T parsed(T (*parse)(const Value&), std::string_view body) {
  return parse(Document::parse(body).root());
}

template <typename T>
std::string failure(T (*parse)(const Value&), std::string_view body) {
  try {
    static_cast<void>(parsed(parse, body));
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(RepositoryBody, NeverLeavesTheStorageIdOut) {
  Repository repository;
  repository.name = RepositoryName("lake");
  repository.storage_namespace = "local://lake";
  repository.default_branch = BranchName("main");
  repository.created = from_millis(1'700'000'000'000);
  EXPECT_EQ(
      repository_body(repository),
      R"({"creation_date":1700000000,"default_branch":"main","id":"lake","read_only":false,"storage_id":"",)"
      R"("storage_namespace":"local://lake"})"
      "\n");
}

TEST(CreateRepositoryBody, ChecksNameAndScheme) {
  const auto ok = parsed(parse_create_repository,
                         R"({"name":"lake","storage_namespace":"s3://b/p","read_only":true})");
  EXPECT_EQ(ok.name.str(), "lake");
  EXPECT_TRUE(ok.read_only);
  EXPECT_EQ(ok.default_branch, "");
  EXPECT_NE(failure(parse_create_repository, R"({"name":"A_b","storage_namespace":"s3://b/p"})"),
            "");
  EXPECT_NE(failure(parse_create_repository, R"({"name":"ab","storage_namespace":"s3://b/p"})"),
            "");
  EXPECT_NE(failure(parse_create_repository, R"({"name":"lake","storage_namespace":"ftp://b/p"})"),
            "");
  EXPECT_NE(failure(parse_create_repository, R"({"name":"lake"})"), "");
}

TEST(CommitBody, OfTheFirstCommitHasEmptyListsAndIds) {
  Commit commit;
  commit.id = an_id();
  commit.message = "Repository created";
  commit.created = from_millis(1'700'000'000'123);
  EXPECT_EQ(
      commit_body(commit),
      R"({"committer":"","creation_date":1700000000,"generation":1,"id":")" +
          std::string(kIdOfOnes) +
          R"(","message":"Repository created","meta_range_id":"","metadata":{},"parents":[],"version":1})"
          "\n");
}

TEST(MetarangeId, IsSixtyFourDigitsOfTheContent) {
  TreeRoot root;
  root.nid = 7;
  root.hash.bytes.fill(0xab);
  TreeRoot moved = root;
  moved.nid = 8;
  EXPECT_EQ(metarange_id(root).size(), 64u);
  EXPECT_EQ(metarange_id(root), metarange_id(moved)) << "the address is not part of it";
  EXPECT_EQ(parse_metarange_id(metarange_id(root)), root.hash);
  EXPECT_EQ(parse_metarange_id(""), Hash128{});
  for (const std::string& bad : {std::string("ab"), std::string(64, 'x'), std::string(63, 'a'),
                                 std::string(32, 'a') + std::string(32, 'b')}) {
    EXPECT_EQ(parse_metarange_id(bad), std::nullopt) << bad;
  }
}

TEST(CreateCommitBody, TakesZeroAsADate) {
  const auto given = parsed(parse_create_commit,
                            R"({"message":"","date":0,"metadata":{"a":"b"},"allow_empty":true})");
  EXPECT_EQ(given.message, "");
  EXPECT_EQ(given.date, from_millis(0));
  EXPECT_EQ(given.metadata, (Metadata{{"a", "b"}}));
  EXPECT_TRUE(given.allow_empty);
  EXPECT_EQ(parsed(parse_create_commit, R"({"message":"m"})").date, std::nullopt);
  EXPECT_EQ(parsed(parse_create_commit, R"({"message":"m"})").parents, std::nullopt);
  EXPECT_EQ(parsed(parse_create_commit, R"({"message":"m","parents":["a"]})").parents,
            std::vector<std::string>{"a"});
  EXPECT_NE(failure(parse_create_commit, R"({"message":"m","parents":"a"})"), "");
  EXPECT_NE(failure(parse_create_commit, "{}"), "");
  EXPECT_NE(failure(parse_create_commit, R"({"message":"m","metadata":{"a":1}})"), "");
  EXPECT_NE(failure(parse_create_commit, R"({"message":"m","date":999999999999999})"), "");
}

TEST(RevertBody, NeedsItsParentNumber) {
  EXPECT_EQ(parsed(parse_revert, R"({"ref":"main","parent_number":-1})").parent_number, -1);
  EXPECT_NE(failure(parse_revert, R"({"ref":"main"})"), "");
  EXPECT_EQ(parsed(parse_cherry_pick, R"({"ref":"x"})").parent_number, std::nullopt);
  const auto given = parsed(parse_cherry_pick,
                            R"({"ref":"x","parent_number":1,"commit_overrides":{"message":"m"}})");
  EXPECT_EQ(given.parent_number, 1);
  EXPECT_EQ(given.overrides.message, "m");
  EXPECT_EQ(given.overrides.metadata, std::nullopt);
}

TEST(BranchBody, ShowsWhenItExpires) {
  Branch branch;
  branch.name = BranchName("dev");
  branch.head = an_id();
  const std::string id = std::string(kIdOfOnes);
  EXPECT_EQ(branch_body(branch), R"({"commit_id":")" + id +
                                     R"(","id":"dev"})"
                                     "\n");
  branch.expires = from_millis(1'700'000'000'000);
  EXPECT_EQ(branch_body(branch), R"({"commit_id":")" + id +
                                     R"(","expires":"2023-11-14T22:13:20.000Z","id":"dev"})"
                                     "\n");
}

TEST(CreateBranchBody, TakesAMomentOrADelay) {
  const Instant now = from_millis(1'700'000'000'000);
  const auto body = [](std::string_view expires) {
    return R"({"name":"dev","source":"main","expires":)" + std::string(expires) + "}";
  };
  const auto seconds = [&](std::string_view expires) {
    return to_seconds(parsed(parse_create_branch, body(expires)).expires->from(now)) -
           to_seconds(now);
  };
  EXPECT_EQ(seconds(R"("90s")"), 90);
  EXPECT_EQ(seconds(R"("30m")"), 1800);
  EXPECT_EQ(seconds(R"("72h")"), 259'200);
  EXPECT_EQ(seconds(R"("7d")"), 604'800);
  EXPECT_EQ(seconds(R"("2023-11-14T22:13:30Z")"), 10);
  EXPECT_EQ(seconds(R"("2023-11-15T00:13:30+02:00")"), 10);
  EXPECT_FALSE(parsed(parse_create_branch, body("null")).expires);
  for (const char* bad : {R"("")", R"("h")", R"("72")", R"("-1h")", R"("1.5h")", R"("1h30m")",
                          R"("72 h")", R"("9223372036854775807d")", R"("tomorrow")"}) {
    EXPECT_EQ(failure(parse_create_branch, body(bad)),
              "request body has an error: /expires: must be a time as in RFC 3339, or a time from "
              "now like 72h (s, m, h or d)")
        << bad;
  }
  EXPECT_NE(failure(parse_create_branch, body("72")), "");
}

TEST(BranchRuleBodies, KeepApartWhatIsEmptyAndWhatIsAbsent) {
  const std::string full =
      R"([{"approvals":0,"blocked_actions":["stage","cherry_pick"],"merge_methods":["squash"],)"
      R"("pattern":"release-*"},{"blocked_actions":[],"pattern":"{a,b}"},{"pattern":"main"}])"
      "\n";
  EXPECT_EQ(branch_rules_body(parsed(parse_branch_rules, full)), full);
  EXPECT_EQ(branch_rules_body({}), "[]\n");
}

TEST(BranchRuleBodies, NameWhatIsWrong) {
  const auto problem = [](std::string_view body) {
    const std::string message = failure(parse_branch_rules, body);
    const std::string_view head = "request body has an error: ";
    EXPECT_TRUE(message.starts_with(head)) << body << ": " << message;
    return message.substr(std::min(message.size(), head.size()));
  };
  EXPECT_EQ(problem(R"([{"pattern":"main"},{"pattern":""}])"), "/1/pattern: must not be empty");
  EXPECT_EQ(problem(R"([{"pattern":"[a"}])"), "/0/pattern: '[' without ']' at byte 0");
  EXPECT_EQ(problem(R"([{"pattern":"a","blocked_actions":["push"]}])"),
            "/0/blocked_actions/0: is none of the blocked_actions that a rule can name");
  EXPECT_EQ(problem(R"([{"pattern":"a","merge_methods":["merge","rebase"]}])"),
            "/0/merge_methods/1: is none of the merge_methods that a rule can name");
  for (const char* bad :
       {R"({"pattern":"a"})", R"([{}])", R"([{"pattern":7}])",
        R"([{"pattern":"a","approvals":101}])", R"([{"pattern":"a","approvals":-1}])",
        R"([{"pattern":"a","blocked_actions":"stage"}])"}) {
    EXPECT_NE(problem(bad), "");
  }
}

TEST(TagRuleBodies, PermitWhatTheyDoNotName) {
  EXPECT_EQ(
      tag_rules_body(parsed(parse_tag_rules, R"([{"pattern":"v*","delete":false},{"pattern":"x-?",)"
                                             R"("create":false,"delete":true}])")),
      R"([{"create":true,"delete":false,"pattern":"v*"},)"
      R"({"create":false,"delete":true,"pattern":"x-?"}])"
      "\n");
  for (const char* bad : {R"([{"pattern":"v*","delete":"no"}])", R"([{"delete":false}])", "{}"}) {
    EXPECT_NE(failure(parse_tag_rules, bad), "") << bad;
  }
}

TEST(CollectionRulesBodies, AreReadAndWrittenWhole) {
  const std::string full =
      R"({"branches":[{"branch_id":"main","retention_days":9}],"default_retention_days":7})"
      "\n";
  EXPECT_EQ(collection_rules_body(parsed(parse_collection_rules, full)), full);
  EXPECT_EQ(collection_rules_body({}), "{\"branches\":[],\"default_retention_days\":0}\n");
  for (const char* bad :
       {R"({"branches":[]})", R"({"default_retention_days":7})",
        R"({"default_retention_days":-1,"branches":[]})",
        R"({"default_retention_days":36501,"branches":[]})",
        R"({"default_retention_days":7,"branches":[{"branch_id":"a.b","retention_days":1}]})",
        R"({"default_retention_days":7,"branches":[{"branch_id":"a","retention_days":1},)"
        R"({"branch_id":"a","retention_days":2}]})"}) {
    EXPECT_NE(failure(parse_collection_rules, bad), "") << bad;
  }
}

TEST(ResetBody, KnowsThreeTypes) {
  using Kind = ResetBranch::Kind;
  EXPECT_EQ(parsed(parse_reset_branch, R"({"type":"reset"})").kind, Kind::kAll);
  EXPECT_EQ(parsed(parse_reset_branch, R"({"type":"object","path":"a"})").kind, Kind::kObject);
  EXPECT_EQ(parsed(parse_reset_branch, R"({"type":"common_prefix","path":"a"})").kind,
            Kind::kPrefix);
  EXPECT_EQ(failure(parse_reset_branch, R"({"type":"x"})"),
            "request body has an error: /type: must be object, common_prefix or reset");
}

TEST(ObjectBody, ShowsMetadataAsAsked) {
  Entry entry = an_entry();
  using Shown = ObjectView::UserMetadata;
  const auto body = [&](Shown shown) {
    return object_body({.path = "a/b",
                        .entry = entry,
                        .physical_address = "local://lake/data/x",
                        .user_metadata = shown});
  };
  const std::string head =
      R"({"checksum":"5d41402abc4b2a76b9719d911017c592","content_type":"text/plain",)";
  const std::string tail = R"("mtime":1700000000,"path":"a/b","path_type":"object",)"
                           R"("physical_address":"local://lake/data/x","size_bytes":5})"
                           "\n";
  EXPECT_EQ(body(Shown::kAlways), head + R"("metadata":{},)" + tail);
  EXPECT_EQ(body(Shown::kWhenAny), head + tail);
  entry.set_user_metadata({{"k", "v"}});
  EXPECT_EQ(body(Shown::kAlways), head + R"("metadata":{"k":"v"},)" + tail);
  EXPECT_EQ(body(Shown::kWhenAny), head + R"("metadata":{"k":"v"},)" + tail);
  EXPECT_EQ(body(Shown::kEmpty), head + R"("metadata":{},)" + tail);
  EXPECT_EQ(body(Shown::kNever), head + tail);
}

TEST(ObjectBody, NamesATypeWhenNoneIsStored) {
  Entry entry = an_entry();
  entry.content_type.clear();
  EXPECT_NE(object_body({.path = "a", .entry = entry, .physical_address = ""})
                .find("application/octet-stream"),
            std::string::npos);
}

TEST(CommonPrefix, HasTheFieldsThatClientsRequire) {
  Writer out;
  write_common_prefix(out, "d/");
  EXPECT_EQ(
      std::move(out).take(),
      R"({"checksum":"","mtime":0,"path":"d/","path_type":"common_prefix","physical_address":""})"
      "\n");
}

TEST(StagedBytesBody, StripsTheQuotesOfAChecksum) {
  const auto given =
      parsed(parse_link_address,
             R"({"staging":{"physical_address":"s3://b/k"},"checksum":" \"abc\"","size_bytes":3})");
  EXPECT_EQ(given.checksum, "abc");
  EXPECT_EQ(given.size_bytes, 3u);
  EXPECT_EQ(given.physical_address, "s3://b/k");
  EXPECT_EQ(given.mtime, std::nullopt);
}

TEST(StagedBytesBody, RefusesWhatCouldBreakAHeader) {
  const auto link = [](std::string_view checksum, std::string_view type, std::string_view size) {
    return failure(parse_link_address, R"({"staging":{"physical_address":"x"},"checksum":")" +
                                           std::string(checksum) + R"(","content_type":")" +
                                           std::string(type) + R"(","size_bytes":)" +
                                           std::string(size) + "}");
  };
  EXPECT_EQ(link("abc", "text/plain", "3"), "");
  EXPECT_EQ(link("\\\"\\\"", "", "3"),
            "request body has an error: /checksum: checksum is required");
  EXPECT_NE(link("a\\r\\nb", "", "3"), "");
  EXPECT_NE(link("abc", "text/plain\\r\\nX: y", "3"), "");
  EXPECT_NE(link("abc", "", "-1"), "");
  EXPECT_NE(link(std::string(256, 'x'), "", "3"), "");
}

TEST(StagingLocationBody, HasAUrlWithItsEndOrNull) {
  EXPECT_EQ(staging_location_body("local://a/b,t", std::nullopt),
            "{\"physical_address\":\"local://a/b,t\",\"presigned_url\":null}\n");
  EXPECT_EQ(staging_location_body("a", PresignedUrl{"http://x", from_millis(1'700'000'000'999)}),
            "{\"physical_address\":\"a\",\"presigned_url\":\"http://x\","
            "\"presigned_url_expiry\":1700000000}\n");
}

TEST(CompleteUploadBody, WantsPartsInOrder) {
  const CompleteUpload given = parsed(parse_complete_upload, R"({"physical_address":"a",
      "parts":[{"part_number":1,"etag":"\"x\""},{"part_number":9,"etag":"y"}],
      "user_metadata":{"k":"v"}})");
  ASSERT_EQ(given.parts.size(), 2u);
  EXPECT_EQ(given.parts[0].etag, "x");
  EXPECT_EQ(given.parts[1].number, 9u);
  EXPECT_EQ(given.content_type, "");
  for (
      const char* wrong :
      {R"({"physical_address":"","parts":[{"part_number":1,"etag":"x"}]})",
       R"({"parts":[{"part_number":1,"etag":"x"}]})", R"({"physical_address":"a","parts":[]})",
       R"({"physical_address":"a"})",
       R"({"physical_address":"a","parts":[{"part_number":0,"etag":"x"}]})",
       R"({"physical_address":"a","parts":[{"part_number":10001,"etag":"x"}]})",
       R"({"physical_address":"a","parts":[{"part_number":1,"etag":""}]})",
       R"({"physical_address":"a","parts":[{"part_number":1,"etag":"x"},{"part_number":1,"etag":"x"}]})"}) {
    EXPECT_NE(failure(parse_complete_upload, wrong), "") << wrong;
  }
}

TEST(CopyPartBody, NeedsItsSource) {
  const CopyPart given = parsed(parse_copy_part, R"({"physical_address":"a",
      "copy_source":{"repository":"r","ref":"main","path":"p"}})");
  EXPECT_EQ(given.path, "p");
  EXPECT_EQ(given.range, "");
  EXPECT_NE(failure(parse_copy_part, R"({"physical_address":"a"})"), "");
  EXPECT_NE(failure(parse_copy_part,
                    R"({"physical_address":"a","copy_source":{"repository":"r","ref":"main"}})"),
            "");
}

TEST(DiffItem, HasSizesOfObjectsOnly) {
  Change change{
      .type = ChangeType::kRemoved, .key = Key("a"), .left = an_entry(), .right = std::nullopt};
  const auto text = [&](bool with_right) {
    Writer out;
    write_change(out, change, with_right);
    return std::move(out).take();
  };
  EXPECT_EQ(text(true), R"({"path":"a","path_type":"object","size_bytes":5,"type":"removed"})"
                        "\n");
  change = {.type = ChangeType::kPrefixChanged,
            .key = Key("d/"),
            .left = std::nullopt,
            .right = std::nullopt};
  EXPECT_EQ(text(true), R"({"path":"d/","path_type":"common_prefix","type":"prefix_changed"})"
                        "\n");
  change = {.type = ChangeType::kAdded, .key = Key("a"), .left = std::nullopt, .right = an_entry()};
  EXPECT_EQ(text(false), R"({"path":"a","path_type":"object","size_bytes":5,"type":"added"})"
                         "\n");
  EXPECT_EQ(
      text(true),
      R"({"path":"a","path_type":"object","size_bytes":5,"type":"added","right":)"
      R"({"checksum":"5d41402abc4b2a76b9719d911017c592","content_type":"text/plain","metadata":{},)"
      R"("mtime":1700000000}})"
      "\n");
}

TEST(MergeConflictBody, KeepsTheEmptyReferenceAndCountsAll) {
  const versioning::MergeConflicts conflicts{{{Key("k"), {}, {}, {}}}, 101};
  const std::string body =
      merge_conflict_body({.conflicts = conflicts, .all = "/x", .request_id = "r"});
  EXPECT_TRUE(body.starts_with(
      R"({"reference":"","message":"merge: conflict found","code":"merge_conflict",)"))
      << body;
  EXPECT_NE(body.find(R"("conflicts":{"count":101,"paths":["k"],)"), std::string::npos);
  EXPECT_TRUE(body.ends_with("\"all\":\"/x\"}}\n"));
}

TEST(ListBody, EndsWithAnEmptyOffset) {
  const auto write = [](Writer& out, int item) { out.number(item); };
  EXPECT_EQ(
      list_of(Page<int>{}, 8, write),
      R"({"pagination":{"has_more":false,"max_per_page":1000,"next_offset":"","results":0},"results":[]})"
      "\n");
  EXPECT_EQ(
      list_of(Page<int>{.items = {1, 2}, .has_more = true, .next = "2"}, 8, write),
      R"({"pagination":{"has_more":true,"max_per_page":1000,"next_offset":"2","results":2},"results":[1,2]})"
      "\n");
  EXPECT_NE(list_of(Page<int>{.items = {1}, .has_more = false, .next = "1"}, 8, write)
                .find("\"next_offset\":\"\""),
            std::string::npos);
}

TEST(PullRequestBodies, AreReadAndWrittenWhole) {
  PullRequest pull{.id = "i",
                   .title = "t",
                   .author = "ann",
                   .source = BranchName("dev"),
                   .destination = BranchName("main")};
  EXPECT_EQ(pull_request_body(pull),
            R"({"author":"ann","creation_date":"1970-01-01T00:00:00.000Z","description":"",)"
            R"("destination_branch":"main","id":"i","source_branch":"dev","status":"open",)"
            R"("title":"t"})"
            "\n");
  pull.status = PullRequestStatus::kMerged;
  pull.closed = from_millis(0);
  pull.merged_commit = CommitId{};
  const std::string zeros(64, '0');
  const std::string merged = pull_request_body(pull);
  EXPECT_NE(merged.find(R"("closed_date":"1970-01-01T00:00:00.000Z")"), std::string::npos);
  EXPECT_NE(merged.find(R"("merged_commit_id":")" + zeros), std::string::npos);
  EXPECT_EQ(approval_body({.user = "ben", .commit = {}, .created = {}, .valid = true}),
            R"({"commit_id":")" + zeros +
                R"(","creation_date":"1970-01-01T00:00:00.000Z","user":"ben","valid":true})"
                "\n");
  EXPECT_EQ(parsed(parse_update_pull_request, R"({"status":"closed"})").status,
            PullRequestStatus::kClosed);
  EXPECT_EQ(parsed(parse_update_pull_request, "{}").status, std::nullopt);
  EXPECT_NE(failure(parse_update_pull_request, R"({"status":"merged"})"), "");
  EXPECT_NE(failure(parse_update_pull_request, R"({"status":""})"), "");
  EXPECT_NE(failure(parse_create_pull_request, R"({"title":"t","source_branch":"a"})"), "");
  EXPECT_NE(failure(parse_approve, R"({"commit_id":"abc"})"), "");
}

TEST(ImportBodies, AreReadAndWrittenWhole) {
  const auto given =
      parsed(parse_start_import,
             R"({"paths":[{"type":"common_prefix","path":"s3://b/p","destination":"d"},)"
             R"({"type":"object","path":"s3://b/k","destination":"k"}],"commit":{"message":"m"}})");
  ASSERT_EQ(given.paths.size(), 2u);
  EXPECT_EQ(given.paths[0].kind, versioning::ImportPath::Kind::kPrefix);
  EXPECT_EQ(given.paths[1].kind, versioning::ImportPath::Kind::kObject);
  EXPECT_NE(
      failure(parse_start_import,
              R"({"paths":[{"type":"x","path":"p","destination":""}],"commit":{"message":"m"}})"),
      "");
  EXPECT_NE(failure(parse_start_import, R"({"paths":[]})"), "");
  EXPECT_EQ(import_status_body({.id = "i",
                                .completed = false,
                                .updated = from_millis(0),
                                .ingested_objects = 7,
                                .commit = std::nullopt,
                                .error = "Canceled"}),
            R"({"completed":false,"update_time":"1970-01-01T00:00:00.000Z","ingested_objects":7,)"
            R"("error":{"message":"Canceled"}})"
            "\n");
}

TEST(ConfigBody, KeepsTheOddSpellingsThatClientsRequire) {
  const std::string body = config_body({.version = "1.2.3", .namespace_pattern = "^local://"});
  for (const char* piece :
       {"\"blockstore_namespace_ValidityRegex\":\"^local://\"", "\"version_context\":\"lakeFS\"",
        "\"storage_config_list\":[]", "\"blockstore_id\":\"\"", "\"pre_sign_support\":true"}) {
    EXPECT_NE(body.find(piece), std::string::npos) << piece;
  }
}

TEST(SetupState, NamesWhatClientsLookFor) {
  const std::string body = setup_state_body(true);
  for (const char* piece :
       {"\"login_cookie_names\":[\"internal_auth_session\"]", "\"logout_url\":\"\"",
        "\"state\":\"initialized\"", "\"comm_prefs_missing\":false"}) {
    EXPECT_NE(body.find(piece), std::string::npos) << piece;
  }
}

TEST(Codecs, AMoveNamesTwoPathsOrTwoPrefixes) {
  const auto key = parsed(parse_move_objects, R"({"src_path":"a","dest_path":"b"})");
  EXPECT_FALSE(key.prefixes);
  EXPECT_TRUE(key.overwrite);
  const auto prefix =
      parsed(parse_move_objects, R"({"src_prefix":"","dest_prefix":"b/","overwrite":false})");
  EXPECT_TRUE(prefix.prefixes);
  EXPECT_FALSE(prefix.overwrite);
  for (const char* bad :
       {"{}", R"({"src_path":"a"})", R"({"src_prefix":"a"})",
        R"({"src_path":"a","dest_prefix":"b"})", R"({"src_prefix":"a","dest_path":"b"})",
        R"({"src_path":"a","src_prefix":"a","dest_prefix":"b"})",
        R"({"src_path":"a","dest_path":"b","overwrite":1})"}) {
    EXPECT_NE(failure(parse_move_objects, bad), "") << bad;
  }
}

TEST(Codecs, ACheckoutNamesARefAndPatterns) {
  const auto given = parsed(parse_checkout_path, R"({"ref":"v1~1","paths":["a/**","b"]})");
  EXPECT_EQ(given.ref, "v1~1");
  EXPECT_TRUE(given.paths.contains("a/x/y"));
  EXPECT_FALSE(given.force);
  for (const char* bad : {"{}", R"({"ref":"a"})", R"({"paths":["a"]})", R"({"ref":"a","paths":[]})",
                          R"({"ref":"a","paths":"a"})", R"({"ref":"a","paths":["[a"]})",
                          R"({"ref":"a","paths":[1]})", R"({"ref":"a","paths":["a"],"force":1})"}) {
    EXPECT_NE(failure(parse_checkout_path, bad), "") << bad;
  }
}

TEST(Statistics, AreCheckedForTheirShape) {
  const auto said = [](std::string_view body) {
    try {
      check_statistics(Document::parse(body).root());
      return std::string();
    } catch (const Error& error) {
      return error.message();
    }
  };
  EXPECT_EQ(said(R"({"events":[{"class":"a","name":"b","count":0}]})"), "");
  EXPECT_NE(said(R"({"events":[{"class":"","name":"b","count":0}]})"), "");
  EXPECT_NE(said(R"({"events":[{"class":"a","name":"b","count":-1}]})"), "");
  EXPECT_NE(said("{}"), "");
}

}  // namespace
}  // namespace tarn::api::json

// Versions that a repository keeps of its objects: what is one, reading, removing and listing them.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/object_versions.h"
#include "core/branch/stage.h"
#include "core/meta/object_versions.h"
#include "core/objects/multipart.h"
#include "core/objects/version_listing.h"
#include "core/versioning/reset.h"
#include "core/versioning/verbs_fixture.h"

namespace tarn::branch {
namespace {

using testing::kMain;
using testing::reason_of;
using testing::TextBody;

class ObjectVersions : public versioning::Verbs {
 protected:
  void keep() { set_versioning(*engine, repo, Versioning::kEnabled); }

  std::optional<VersionId> put(const std::string& key, const std::string& text) {
    const objects::UploadTarget target =
        objects::check_upload(*engine, repo, kMain, Key(key), false, {});
    TextBody body(text);
    return objects::put_object(*engine, target, body, text.size(), {}, {}).version;
  }
  std::optional<VersionId> erase(const std::string& key) {
    return objects::delete_object(*engine, repo, kMain, Key(key), false);
  }
  std::optional<ObjectVersion> drop(const std::string& key, const std::optional<VersionId>& id) {
    return remove_version(*engine, repo, kMain, Key(key), id, false);
  }
  std::string text_of(const Entry& entry) {
    if (entry.size_bytes == 0) return "";
    const auto reader =
        objects::open_object(*engine, get_repository(*engine, repo), entry, {0, entry.size_bytes});
    std::string out(entry.size_bytes, '\0');
    EXPECT_EQ(reader->read(out), out.size());
    return out;
  }
  /// The bytes of a version, "-" for a delete marker, "<none>".
  std::string at(const std::string& key, const std::optional<VersionId>& id) {
    const auto found = find_version(*engine, repo, kMain, Key(key), id);
    if (!found) return "<none>";
    return found->entry ? text_of(*found->entry) : "-";
  }
  std::string shown(const objects::VersionItem& item) {
    if (!item.version) return item.path;
    const ObjectVersion& version = *item.version;
    EXPECT_EQ(version.path, item.path);
    return str_cat(item.path, "=", version.entry ? text_of(*version.entry) : "-",
                   version.id ? "" : "(null)", version.latest ? "!" : "");
  }
  /// "a=2! a=1 b=-!": newest first, a latest one marked.
  std::string listed(objects::VersionListOptions options = {}, const BranchName& branch = kMain) {
    std::string out;
    for (const objects::VersionItem& item :
         objects::list_versions(*engine, repo, branch, options).items) {
      out += (out.empty() ? "" : " ") + shown(item);
    }
    return out;
  }
  std::string listed_in_pages(objects::VersionListOptions options) {
    std::string out;
    for (int pages = 0; pages < 100; ++pages) {
      const objects::VersionPage page = objects::list_versions(*engine, repo, kMain, options);
      EXPECT_LE(page.items.size(), options.limit);
      for (const objects::VersionItem& item : page.items)
        out += (out.empty() ? "" : " ") + shown(item);
      if (!page.has_more) return out;
      options.after = page.next;
    }
    return out + " ...";
  }
};

TEST_F(ObjectVersions, AreNotKeptUnlessAsked) {
  EXPECT_EQ(get_versioning(*engine, repo), Versioning::kOff);
  EXPECT_FALSE(put("a", "1"));
  EXPECT_FALSE(erase("a"));
  put("a", "2");
  EXPECT_EQ(listed(), "a=2(null)!");
}

TEST_F(ObjectVersions, EveryWriteMakesAReadableVersion) {
  keep();
  const auto first = put("a", "1");
  const auto second = put("a", "2");
  engine.commit(repo, "main");
  const auto equal = put("a", "2");  // nothing to commit: the tree keeps the entry of before
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "no_changes");
  EXPECT_EQ(version_shown(*engine, get_branch(*engine, repo, kMain).id, Key("a"),
                          objects::get_object(*engine, repo, "main", Key("a")).entry),
            equal);
  const auto gone = erase("a");
  const auto absent = erase("a");
  const auto third = put("a", "3");
  ASSERT_TRUE(first && second && equal && gone && absent && third);
  EXPECT_EQ(listed(), "a=3! a=- a=- a=2 a=2 a=1");
  EXPECT_EQ(at("a", first), "1");
  EXPECT_EQ(at("a", second), "2");
  EXPECT_EQ(at("a", equal), "2");
  EXPECT_EQ(at("a", gone), "-");
  EXPECT_EQ(at("a", third), "3");
  EXPECT_EQ(at("b", first), "<none>");
  EXPECT_EQ(at("a", new_version_id()), "<none>");
  EXPECT_EQ(at("a", std::nullopt), "<none>");
}

TEST_F(ObjectVersions, AreMadeByEveryVerbThatStages) {
  keep();
  put("a", "1");
  const objects::CopySource source{repo, "main", Key("a")};
  EXPECT_TRUE(objects::copy_object(*engine, source, repo, kMain, Key("b"), {}, false).version);
  EXPECT_TRUE(
      objects::update_user_metadata(*engine, repo, kMain, Key("b"), {{"k", "v"}}, false).version);
  const objects::UploadTarget target =
      objects::check_upload(*engine, repo, kMain, Key("c"), false, {});
  const objects::MultipartUpload upload =
      objects::create_multipart(*engine, target, {"tester", {}, "", ""});
  TextBody body("part");
  const objects::UploadedPart part = objects::put_part(*engine, upload, 1, body, 4);
  objects::Completion completion;
  completion.parts = {{1, part.etag, {}}};
  const auto made = objects::complete_multipart(*engine, upload, completion).version;
  ASSERT_TRUE(made);
  EXPECT_EQ(listed(), "a=1! b=1! b=1 c=part!");
  // Sent again, it is answered the same.
  EXPECT_EQ(objects::complete_multipart(*engine, upload, completion).version, made);
  EXPECT_EQ(listed({.prefix = "c"}), "c=part!");
  EXPECT_FALSE(objects::delete_objects(*engine, repo, kMain, std::vector<Key>{Key("a")}, false));
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
}

TEST_F(ObjectVersions, StayReadableAfterLaterChanges) {
  put("a", "0");
  engine.commit(repo, "main");
  keep();
  const auto first = put("a", "1");
  versioning::reset_branch(*engine, repo, kMain, false);
  EXPECT_EQ(engine.read(repo, "main", "a"), "0");
  EXPECT_EQ(at("a", first), "1");
  // The null version is shown; the earlier one has an id.
  EXPECT_EQ(listed(), "a=0(null)! a=1 a=0");
  const auto second = put("a", "2");
  EXPECT_EQ(listed(), "a=2! a=0(null) a=1 a=0");
  EXPECT_EQ(at("a", std::nullopt), "0");
  EXPECT_EQ(at("a", second), "2");
}

TEST_F(ObjectVersions, EarlierObjectsAreTheNullVersion) {
  put("a", "0");
  put("gone", "0");
  engine.commit(repo, "main");
  keep();
  EXPECT_EQ(listed(), "a=0(null)! gone=0(null)!");
  put("a", "1");
  erase("gone");
  EXPECT_EQ(listed(), "a=1! a=0(null) gone=-! gone=0(null)");
  EXPECT_EQ(at("a", std::nullopt), "0");
  ASSERT_TRUE(drop("a", std::nullopt));
  EXPECT_EQ(listed(), "a=1! gone=-! gone=0(null)");
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
}

TEST_F(ObjectVersions, SuspendedWritesAreTheNullVersion) {
  keep();
  const auto first = put("a", "1");
  set_versioning(*engine, repo, Versioning::kSuspended);
  EXPECT_EQ(get_versioning(*engine, repo), Versioning::kSuspended);
  EXPECT_FALSE(put("a", "2"));
  EXPECT_FALSE(put("a", "3"));
  EXPECT_EQ(listed(), "a=3(null)! a=1");
  EXPECT_EQ(at("a", first), "1");
  EXPECT_FALSE(erase("a"));
  EXPECT_EQ(listed(), "a=-(null)! a=1");
  keep();
  put("a", "4");
  EXPECT_EQ(listed(), "a=4! a=1");
}

TEST_F(ObjectVersions, RemovingTheLatestShowsTheOneBefore) {
  keep();
  const auto first = put("a", "1");
  const auto second = put("a", "2");
  engine.commit(repo, "main");
  const auto gone = erase("a");
  EXPECT_EQ(engine.read(repo, "main", "a"), "<absent>");
  const auto marker = drop("a", gone);
  ASSERT_TRUE(marker && !marker->entry);
  EXPECT_EQ(engine.read(repo, "main", "a"), "2");
  EXPECT_EQ(listed(), "a=2! a=1");
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main", "nothing new"); }), "no_changes");
  ASSERT_TRUE(drop("a", second));
  EXPECT_EQ(at("a", second), "<none>");
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
  EXPECT_EQ(listed(), "a=1!");
  EXPECT_FALSE(drop("a", second));
  ASSERT_TRUE(drop("a", first));
  EXPECT_EQ(engine.read(repo, "main", "a"), "<absent>");
  EXPECT_EQ(listed(), "");
}

TEST_F(ObjectVersions, RemovingAnOlderVersionDoesNotChangeTheBranch) {
  keep();
  const auto first = put("a", "1");
  put("a", "2");
  ASSERT_TRUE(drop("a", first));
  EXPECT_EQ(engine.read(repo, "main", "a"), "2");
  EXPECT_EQ(listed(), "a=2!");
  EXPECT_FALSE(drop("b", first));
  EXPECT_FALSE(drop("a", new_version_id()));
}

TEST_F(ObjectVersions, RemovingTheNullVersionShowsTheOneBelow) {
  keep();
  put("a", "1");
  set_versioning(*engine, repo, Versioning::kSuspended);
  put("a", "2");
  keep();
  ASSERT_TRUE(drop("a", std::nullopt));
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
  EXPECT_EQ(listed(), "a=1!");
  EXPECT_FALSE(drop("a", std::nullopt));
}

TEST_F(ObjectVersions, ARemovalComparesItsCondition) {
  keep();
  const auto first = put("a", "1");
  const auto second = put("a", "2");
  Condition other;
  other.if_match = {"ffff"};
  EXPECT_THROW(remove_version(*engine, repo, kMain, Key("a"), second, false, other), Error);
  EXPECT_FALSE(remove_version(*engine, repo, kMain, Key("b"), second, false, other));
  EXPECT_EQ(listed(), "a=2! a=1");
  EXPECT_EQ(at("a", first), "1");
}

TEST_F(ObjectVersions, MergedContentIsTheNullVersion) {
  keep();
  put("a", "1");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  EXPECT_EQ(listed({}, BranchName("dev")), "a=1(null)!");
  for (const std::string text : {"2", "3"}) {
    engine.put(repo, "dev", "a", text);
    engine.commit(repo, "dev", text);
    EXPECT_EQ(merge("dev", "main"), "merged");
    EXPECT_EQ(engine.read(repo, "main", "a"), text);
    put("a", "after " + text);
    engine.commit(repo, "main", "after");
    if (text == "2") {
      EXPECT_EQ(merge("main", "dev"), "merged");
    }
  }
  // Only the newest goes by the name "null", and none is lost.
  EXPECT_EQ(listed(), "a=after 3! a=3(null) a=after 2 a=2 a=1");
}

TEST_F(ObjectVersions, AreListedInPages) {
  put("a/0", "null");
  put("d", "null");
  keep();
  for (const std::string key : {"a/1", "a/2", "b", "c/x", "d"}) {
    for (const std::string text : {"1", "2", "3"}) put(key, text);
  }
  erase("b");
  set_versioning(*engine, repo, Versioning::kSuspended);
  put("a/2", "4");
  const std::string all =
      "a/0=null(null)! a/1=3! a/1=2 a/1=1 a/2=4(null)! a/2=3 a/2=2 a/2=1 b=-! b=3 b=2 b=1 "
      "c/x=3! c/x=2 c/x=1 d=3! d=2 d=1 d=null(null)";
  EXPECT_EQ(listed(), all);
  for (const uint32_t limit : {1u, 2u, 3u, 4u, 7u, 18u, 19u, 20u}) {
    EXPECT_EQ(listed_in_pages({.limit = limit}), all) << limit;
  }
  EXPECT_EQ(listed({.prefix = "a/2"}), "a/2=4(null)! a/2=3 a/2=2 a/2=1");
  const std::string folded = "a/ b=-! b=3 b=2 b=1 c/ d=3! d=2 d=1 d=null(null)";
  for (const uint32_t limit : {1u, 2u, 5u, 100u}) {
    EXPECT_EQ(listed_in_pages({.delimiter = "/", .limit = limit}), folded) << limit;
  }
  EXPECT_EQ(listed({.after = {"a/2", ""}, .limit = 1}), "b=-!");
  EXPECT_EQ(listed({.prefix = "c", .after = {"a", ""}}), "c/x=3! c/x=2 c/x=1");
  EXPECT_EQ(listed({.after = {"zz", ""}}), "");
}

TEST_F(ObjectVersions, PageAfterARemovedVersionSkipsNothing) {
  keep();
  put("a", "1");
  const auto second = put("a", "2");
  put("a", "3");
  const objects::VersionPage page = objects::list_versions(*engine, repo, kMain, {.limit = 2});
  ASSERT_TRUE(page.has_more && page.next.id == to_text(*second));
  drop("a", second);
  EXPECT_EQ(listed({.after = page.next}), "a=3! a=1");
}

TEST_F(ObjectVersions, MoreThanOneFetchAreListed) {
  keep();
  for (int i = 0; i < 1100; ++i) put("many", std::to_string(i));
  put("next", "1");
  objects::VersionListOptions options;
  options.limit = 1000;
  const objects::VersionPage first = objects::list_versions(*engine, repo, kMain, options);
  ASSERT_EQ(first.items.size(), 1000u);
  ASSERT_TRUE(first.has_more);
  options.after = first.next;
  const objects::VersionPage second = objects::list_versions(*engine, repo, kMain, options);
  ASSERT_EQ(second.items.size(), 101u);
  EXPECT_EQ(shown(second.items[99]), "many=0");
  EXPECT_EQ(shown(second.items[100]), "next=1!");
  EXPECT_FALSE(second.has_more);
}

TEST_F(ObjectVersions, PreventTheRemovalOfTheirBucket) {
  keep();
  const auto id = put("a", "1");
  erase("a");
  EXPECT_EQ(reason_of([&] { delete_empty_repository(*engine, get_repository(*engine, repo)); }),
            "repository_not_empty");
  EXPECT_EQ(at("a", id), "1");
  for (const objects::VersionItem& item : objects::list_versions(*engine, repo, kMain, {}).items) {
    drop("a", item.version->id);
  }
  delete_empty_repository(*engine, get_repository(*engine, repo));
}

TEST_F(ObjectVersions, AreDeletedWithTheirBranch) {
  keep();
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "a", "1");
  put("a", "main");
  delete_branch(*engine, repo, BranchName("dev"), /*force=*/false);
  EXPECT_GE(meta::ObjectVersions(engine.pool).sweep(1000), 1u);
  EXPECT_EQ(meta::ObjectVersions(engine.pool).sweep(1000), 0u);
  engine.branch(repo, "dev", "main");
  EXPECT_EQ(listed({}, BranchName("dev")), "");
  EXPECT_EQ(listed(), "a=main!");
}

}  // namespace
}  // namespace tarn::branch

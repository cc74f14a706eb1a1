// Searches across refs and repositories, and sorted ones, over a real database, against a plain
// filter and sort of everything.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/staging.h"
#include "core/objects/search_refs.h"
#include "core/objects/search_token.h"
#include "tests/support/engine_fixture.h"

namespace tarn::objects {
namespace {

using testing::TestDatabase;
using testing::TestEngine;
using ObjectsByPlace = std::map<Place, Entry>;

search::Query where(std::string_view text) {
  search::Query query;
  query.where.emplace(search::parse_expression(text));
  return query;
}

std::string text_of(const Place& place) {
  return str_cat(place.repository, "/", place.ref, "/", place.path);
}

/// Where the two differ first; "" = nowhere.
std::string difference(const std::vector<std::string>& found,
                       const std::vector<std::string>& wanted) {
  for (size_t i = 0; i < std::max(found.size(), wanted.size()); ++i) {
    const std::string is = i < found.size() ? found[i] : "the end";
    const std::string should_be = i < wanted.size() ? wanted[i] : "the end";
    if (is != should_be) return str_cat("at ", i, ": ", is, ", not ", should_be);
  }
  return "";
}

class SearchRefs : public ::testing::Test {
 protected:
  SearchRefs() {
    for (const char* name : {"lake", "pond", "sea"}) {
      const auto repository = engine.make_repository(name);
      for (const char* branch : {"exp-1", "exp-2", "dev"})
        engine.branch(repository, branch, "main");
    }
  }

  void put(const Place& place, Entry entry) {
    const BranchId id =
        branch::get_branch(*engine,
                           branch::get_repository(*engine, RepositoryName(place.repository)),
                           BranchName(place.ref))
            .id;
    (*engine).staging.stage_many(id, {{place.path, entry}});
    objects[place] = std::move(entry);
  }
  /// With as many objects as `count`, staged at once.
  void fill(const std::string& repository, const std::string& branch, size_t count) {
    std::vector<meta::StagedRow> rows;
    while (rows.size() < count) {
      const std::string path = str_cat("data/", random() % 100'000);
      const Entry entry = an_entry();
      if (objects.emplace(Place{repository, branch, path}, entry).second)
        rows.push_back({path, entry});
    }
    const BranchId id =
        branch::get_branch(*engine, branch::get_repository(*engine, RepositoryName(repository)),
                           BranchName(branch))
            .id;
    (*engine).staging.stage_many(id, std::move(rows));
  }
  Entry an_entry() {
    Entry entry;
    entry.size_bytes = random() % 40;
    entry.mtime = from_millis(static_cast<int64_t>(random() % 50) * 1000);
    entry.etag = "etag";
    if (random() % 3 > 0) entry.set_user_metadata({{"loss", str_cat("0.", random() % 30)}});
    if (random() % 3 == 0) entry.set_object_tags({{"stage", random() % 2 == 0 ? "prod" : "test"}});
    return entry;
  }

  SearchScope scope(const std::vector<std::string>& repositories,
                    const std::vector<std::string>& refs) const {
    const auto all = [](const auto&...) { return true; };
    return {.repositories = searched_repositories(repositories),
            .refs = searched_refs(refs),
            .shows_repository = all,
            .shows_branches = all,
            .shows_ref = all};
  }

  std::vector<std::string> found(const SearchScope& in, RefsSearch search) {
    std::vector<std::string> out;
    for (pages = 1;; ++pages) {
      const auto page = search_refs(*engine, in, search);
      EXPECT_LE(page.items.size(), search.limit);
      for (const FoundAtPlace& one : page.items) out.push_back(text_of(one.place));
      transcript += str_cat(page.items.size(), page.has_more ? " " + page.next : ".", "\n");
      if (!page.has_more) return out;
      EXPECT_NE(page.next, search.after) << "a page must get on";
      if (page.next == search.after) return out;
      search.after = page.next;
    }
  }

  /// A plain filter and sort of what `in` has.
  std::vector<std::string> expected(const SearchScope& in, const RefsSearch& search) const {
    std::vector<SortedPlace> places;
    for (const auto& [place, entry] : objects) {
      const search::Subject subject(place.path, entry);
      if (!in.repositories.has_name(place.repository) &&
          !in.repositories.has_glob_of(place.repository))
        continue;
      if (!in.refs.has_name(place.ref) && !in.refs.has_glob_of(place.ref)) continue;
      if (!search.query.matches_path(place.path) || !search.query.matches_entry(entry) ||
          !search.query.matches_where(place.path, entry)) {
        continue;
      }
      places.push_back(
          {search.sort ? search.sort->rank_of(subject) : search::SortOrder::Rank{}, place});
    }
    if (search.sort) std::sort(places.begin(), places.end(), InSortOrder{*search.sort});
    std::vector<std::string> out;
    for (const SortedPlace& at : places) out.push_back(text_of(at.place));
    return out;
  }

  TestDatabase database;
  TestEngine engine{database.url()};
  ObjectsByPlace objects;
  std::mt19937_64 random{7};
  int pages = 0;
  std::string transcript;
};

using Names = std::vector<std::string>;

TEST_F(SearchRefs, FindsInTheOrderOfRepositoriesRefsAndPaths) {
  Entry large;
  large.size_bytes = 100;
  for (const char* repository : {"lake", "pond", "sea"}) {
    for (const char* branch : {"main", "exp-1", "exp-2", "dev"}) {
      for (const char* path : {"a", "b/c"}) put({repository, branch, path}, large);
      put({repository, branch, "small"}, Entry());
    }
  }
  RefsSearch search{.query = where("size > 50")};
  EXPECT_EQ(found(scope({"lake", "sea"}, {"exp-*", "main"}), search),
            (Names{"lake/exp-1/a", "lake/exp-1/b/c", "lake/exp-2/a", "lake/exp-2/b/c",
                   "lake/main/a", "lake/main/b/c", "sea/exp-1/a", "sea/exp-1/b/c", "sea/exp-2/a",
                   "sea/exp-2/b/c", "sea/main/a", "sea/main/b/c"}));
  EXPECT_EQ(pages, 1);
  for (const uint32_t limit : {1u, 2u, 3u, 5u}) {
    search.limit = limit;
    // A name that a glob finds too is searched once.
    for (const auto& refs :
         {Names{"exp-*"}, Names{"exp-*", "exp-1"}, Names{"e*", "exp-?", "dev"}}) {
      const SearchScope in = scope({"*a*", "pond"}, refs);
      EXPECT_EQ(found(in, search), expected(in, search)) << limit;
      EXPECT_GT(pages, 2);
    }
  }
  EXPECT_EQ(found(scope({"*"}, {"absent-*"}), search), Names());
  EXPECT_EQ(found(scope({"absent-*"}, {"main"}), search), Names());
}

TEST_F(SearchRefs, TakesEveryKindOfRef) {
  const RepositoryName lake("lake");
  put({"lake", "main", "a"}, an_entry());
  engine.commit(lake, "main");
  branch::create_tag(*engine, branch::get_repository(*engine, lake), TagName("v1"), "main", false);
  put({"lake", "main", "b"}, an_entry());
  search::Query all;
  all.glob = Glob("**");
  EXPECT_EQ(found(scope({"lake"}, {"main", "main@", "v1"}), {.query = all}),
            (Names{"lake/main/a", "lake/main/b", "lake/main@/a", "lake/v1/a"}));
  // Repositories that a glob finds need not have the ref.
  EXPECT_EQ(found(scope({"*"}, {"v1"}), {.query = all}), Names{"lake/v1/a"});
  EXPECT_THROW(found(scope({"pond"}, {"v1"}), {.query = all}), Error);
  EXPECT_THROW(found(scope({"absent"}, {"main"}), {.query = all}), Error);
  EXPECT_THROW(found(scope({"lake"}, {"main"}), {}), Error);
}

// Verified by mutation: leaving out each of the limits of refs, repositories and objects, and the
// position of a walk that found no branch on a page of branches.
TEST_F(SearchRefs, PageStopsAtTheWorkLimit) {
  for (int i = 0; i < 1010; ++i) engine.branch(RepositoryName("pond"), str_cat("b", i), "main");
  for (const char* repository : {"lake", "pond", "sea"}) fill(repository, "exp-2", 150);
  const SearchScope in = scope({"*"}, {"*p-?"});
  for (const auto& sort : {std::optional<search::SortOrder>(), search::parse_sort_order("loss")}) {
    RefsSearch search{.query = where("size < 20"), .sort = sort, .limit = 1000};
    const Names all = expected(in, search);
    EXPECT_GT(all.size(), 150u);
    EXPECT_EQ(difference(found(in, search), all), "");
    EXPECT_EQ(pages, 1);
    search.limits.refs = 1;
    EXPECT_EQ(difference(found(in, search), all), "");
    EXPECT_GE(pages, 6);
    search.limits = {.repositories = 1};
    EXPECT_EQ(difference(found(in, search), all), "");
    EXPECT_GE(pages, 3);
    search.limits = {.objects = 1};
    EXPECT_EQ(difference(found(in, search), all), "");
    EXPECT_GE(pages, 8);
    search.limits = {.time = std::chrono::milliseconds{0}};
    EXPECT_EQ(difference(found(in, search), all), "");
    EXPECT_GE(pages, 10);
  }
}

// Verified by mutation: dropping the candidates of a token; returning everything after the point
// where a token was cut; treating equal numbers as equal places.
TEST_F(SearchRefs, SortedPagesAgreeWithASortOfEverything) {
  for (const char* repository : {"lake", "pond"}) {
    for (const char* branch : {"exp-1", "exp-2"}) fill(repository, branch, 150);
  }
  engine.commit(RepositoryName("lake"), "exp-1");
  fill("lake", "exp-1", 50);
  const SearchScope in = scope({"lake", "p*"}, {"exp-*"});
  int paused = 0;
  for (const char* order : {"path", "path desc", "size", "size desc", "modified", "modified desc",
                            "loss", "loss desc"}) {
    for (const uint32_t limit : {9u, 200u, 1000u}) {
      RefsSearch search{.query = where(limit == 9 ? "size in (1, 2)" : "not tag.stage = prod"),
                        .sort = search::parse_sort_order(order),
                        .limit = limit};
      const Names all = expected(in, search);
      ASSERT_GT(all.size(), 15u);
      ASSERT_EQ(difference(found(in, search), all), "") << order << " " << limit;
      const int whole = pages;
      search.limits.objects = 200;
      ASSERT_EQ(difference(found(in, search), all), "") << order << " " << limit;
      paused += pages - whole;
    }
  }
  EXPECT_GT(paused, 50);
}

TEST_F(SearchRefs, UnchangedMatchesAreOnOnePageDuringOtherChanges) {
  fill("lake", "main", 400);
  const ObjectsByPlace before = objects;
  RefsSearch search{
      .query = where("size < 40"), .sort = search::parse_sort_order("size desc"), .limit = 20};
  search.limits.objects = 100;
  const SearchScope in = scope({"lake"}, {"main"});
  std::map<std::string, int> times;
  for (bool more = true; more;) {
    const auto page = search_refs(*engine, in, search);
    for (const FoundAtPlace& one : page.items) ++times[text_of(one.place)];
    more = page.has_more;
    search.after = page.next;
    // Between pages some go, some come and some change.
    for (int i = 0; i < 2; ++i) {
      const auto at =
          std::next(before.begin(), static_cast<std::ptrdiff_t>(random() % before.size()));
      put(at->first, an_entry());
      put({"lake", "main", str_cat("new/", random() % 1000)}, an_entry());
    }
  }
  size_t same = 0;
  for (const auto& [place, entry] : before) {
    if (objects[place] != entry) continue;
    ++same;
    EXPECT_EQ(times[text_of(place)], 1) << text_of(place);
  }
  EXPECT_GT(same, 50u);
}

// All that the caller sees of a search, with names, counts and tokens, is what they would see if
// the hidden things were not there. Verified by mutation: asking each of the four questions
// nowhere.
TEST_F(SearchRefs, HiddenItemsDoNotAffectResults) {
  for (const char* branch : {"exp-1", "exp-2", "main"}) fill("pond", branch, 30);
  const auto transcripts = [&](const SearchScope& in) {
    transcript.clear();
    for (const char* order : {"", "loss desc"}) {
      for (const uint64_t refs : {1u, 100u}) {
        RefsSearch search{
            .query = where("size < 35"), .sort = search::parse_sort_order(order), .limit = 7};
        search.limits.refs = refs;
        search.limits.repositories = refs;
        found(in, search);
      }
    }
    return transcript;
  };
  const auto visible = [&] {
    SearchScope in = scope({"*"}, {"exp-*", "main", "dev"});
    in.shows_repository = [](const RepositoryName& name) { return name.str() != "sea"; };
    in.shows_branches = [](const RepositoryName& name) { return name.str() != "lake"; };
    in.shows_ref = [](const RepositoryName& name, std::string_view ref) {
      return ref != "exp-2" && ref != "dev" && (name.str() != "lake" || ref != "main");
    };
    in.shows_object = [](const RepositoryName&, std::string_view, std::string_view path) {
      return !path.starts_with("secret/");
    };
    return in;
  }();
  const std::string without = transcripts(visible);
  for (const char* repository : {"lake", "sea"}) {
    for (const char* branch : {"exp-1", "exp-2", "main"}) fill(repository, branch, 40);
  }
  fill("pond", "exp-2", 40);
  engine.make_repository("another");  // with nothing in it, and hidden below
  for (int i = 0; i < 20; ++i) put({"pond", "exp-1", str_cat("secret/", i)}, Entry());
  SearchScope more = visible;
  more.shows_repository = [](const RepositoryName& name) {
    return name.str() != "sea" && name.str() != "another";
  };
  EXPECT_EQ(transcripts(more), without);
  EXPECT_NE(without.find("7 "), std::string::npos);
}

// A token is made up by its sender as they like.
TEST_F(SearchRefs, ForgedTokenGrantsNothing) {
  for (const char* repository : {"lake", "pond"}) {
    for (const char* branch : {"exp-1", "exp-2"}) fill(repository, branch, 20);
  }
  SearchScope in = scope({"*"}, {"exp-*"});
  in.shows_repository = [](const RepositoryName& name) { return name.str() == "pond"; };
  in.shows_ref = [](const RepositoryName&, std::string_view ref) { return ref == "exp-1"; };
  in.shows_object = [](const RepositoryName&, std::string_view, std::string_view path) {
    return path.starts_with("data/1");
  };
  RefsSearch search{.query = where("size < 40"), .sort = search::parse_sort_order("path")};
  SearchToken token;
  token.position = {"zzz"};  // everything was examined
  for (const auto& [place, entry] : objects)
    token.candidates.push_back({search.sort->rank_of(search::Subject(place.path, entry)), place});
  for (const Place& odd :
       {Place{"no name", "exp-1", "x"}, Place{"pond", "", ""}, Place{"pond", "exp-1~~", "x"},
        Place{"absent", "exp-1", "x"}, Place{"", "", ""}}) {
    token.candidates.push_back({{}, odd});
  }
  search.after = token.encode();
  for (const std::string& one : found(in, search))
    EXPECT_EQ(one.find("pond/exp-1/data/1"), 0u) << one;
  // In the middle of a ref that is hidden.
  search.sort.reset();
  for (const Place& place : {Place{"lake", "exp-1", "data/"}, Place{"pond", "exp-2", "data/"}}) {
    search.after = SearchToken{.position = place}.encode();
    for (const std::string& one : found(in, search))
      EXPECT_EQ(one.find("pond/exp-1/data/1"), 0u) << one;
  }
  SearchToken no_text;
  no_text.candidates.push_back({{}, Place{"pond", "exp-1", std::string(1, '\0')}});
  for (const std::string& bad : {std::string("!"), std::string("AAAA"), std::string("AQ"),
                                 no_text.encode(), SearchToken{.question = 1}.encode()}) {
    search.after = bad;
    EXPECT_THROW(found(in, search), Error) << bad;
  }
}

TEST_F(SearchRefs, InvalidNamesAndPatternsAreRefused) {
  const auto refused = [](const Names& words) {
    EXPECT_THROW(searched_repositories(words), Error);
    EXPECT_THROW(searched_refs(words), Error);
  };
  refused({});
  refused(Names(kSearchWordsMax + 1, "main"));
  refused({"a["});
  refused({" "});
  EXPECT_EQ(searched_refs(Names(kSearchWordsMax, "main~1")).names.size(), 1u);
  EXPECT_THROW(searched_repositories(Names{"Main"}), Error);
}

}  // namespace
}  // namespace tarn::objects

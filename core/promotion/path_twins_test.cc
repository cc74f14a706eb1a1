#include "core/promotion/path_twins.h"

#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>

#include "core/tree/tree_fixture.h"

namespace tarn::promotion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PathTwinsTest : public ::testing::Test {
 protected:
  PathTwins search(const std::vector<std::string>& keys) {
    tree::EntryMap entries;
    for (const std::string& key : keys) entries.emplace(key, tree::an_entry(1));
    return PathTwins(store, tree::a_tree(store, entries));
  }
  tree::MemoryNodeStore store;
};

TEST_F(PathTwinsTest, DifferByCase) {
  PathTwins twins = search({"Conf/Serve.yaml", "Conf/serve.yml", "README.md", "a-b/x", "conf/a",
                            "conf/serve.YAML", "conf/serve.yaml", "readme.md", "readme.md/x"});
  EXPECT_THAT(twins.find("README.md"), ElementsAre("readme.md"));
  EXPECT_THAT(twins.find("Readme.md"), ElementsAre("README.md", "readme.md"));
  EXPECT_THAT(twins.find("conf/serve.yaml"), ElementsAre("Conf/Serve.yaml", "conf/serve.YAML"));
  EXPECT_THAT(twins.find("CONF/A"), ElementsAre("conf/a"));
  EXPECT_THAT(twins.find("conf/a"), IsEmpty());
  EXPECT_THAT(twins.find("A_B/x"), IsEmpty());
  EXPECT_THAT(twins.find("A-B/X"), ElementsAre("a-b/x"));
  EXPECT_THAT(twins.find("CONF"), IsEmpty()) << "a directory is no object";
  EXPECT_THAT(twins.find("conf/"), IsEmpty());
  EXPECT_THAT(twins.find("readme.MD/X"), ElementsAre("readme.md/x"));
}

TEST_F(PathTwinsTest, DifferByNormalisation) {
  const std::string composed = "\xc3\xa4/\xea\xb0\x80\xec\x9d\x81.png";  // U+E4, U+AC00, U+C741
  const std::string decomposed =
      "a\xcc\x88/\xe1\x84\x80\xe1\x85\xa1\xe1\x84\x8b\xe1\x85\xb3\xe1\x86\xac.png";
  EXPECT_THAT(search({composed}).find(decomposed), ElementsAre(composed));
  EXPECT_THAT(search({decomposed}).find(composed), ElementsAre(decomposed));
  EXPECT_THAT(search({decomposed, composed}).find(composed), ElementsAre(decomposed));
  // U+C4 of another case, in the other form.
  EXPECT_THAT(search({"A\xcc\x88x"}).find("\xc3\xa4X"), ElementsAre("A\xcc\x88x"));
  // U+212A is a K, U+17F an s, U+DF is ss, as the path that is asked for.
  EXPECT_THAT(search({"kiss"}).find("\xe2\x84\xaai\xc3\x9f"), ElementsAre("kiss"));
  EXPECT_THAT(search({"kiss"}).find("ki\xc5\xbfs"), ElementsAre("kiss"));
  EXPECT_THAT(search({"o", "\xc3\xb6"}).find("o"), IsEmpty());
}

TEST_F(PathTwinsTest, AreAllThatAScanFinds) {
  std::mt19937_64 random(7);
  const auto key = [&] {
    static const std::vector<std::string> kPieces = {
        "a", "A", "b", "B", "/", "/", "1", "-", "\xc3\xa4", "a\xcc\x88", "\xc3\x84", "A\xcc\x88"};
    std::string out;
    for (uint64_t i = random() % 7; i < 8; ++i) out += kPieces[random() % kPieces.size()];
    return out;
  };
  const auto folded = [](const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text.substr(i, 2) == "\xc3\xa4" || text.substr(i, 2) == "\xc3\x84") {
        out += "a\xcc\x88";
        ++i;
      } else {
        out += text[i] == 'A' ? 'a' : text[i] == 'B' ? 'b' : text[i];
      }
    }
    return out;
  };
  std::vector<std::string> keys;
  for (int i = 0; i < 4000; ++i) keys.push_back(key());
  PathTwins twins = search(keys);
  const std::set<std::string> sorted(keys.begin(), keys.end());
  std::map<std::string, std::set<std::string>> by_fold;
  for (const std::string& one : sorted) by_fold[folded(one)].insert(one);
  for (int i = 0; i < 4000; ++i) {
    const std::string path = i % 2 == 0 ? keys[static_cast<size_t>(i)] : key();
    std::set<std::string> expected = by_fold[folded(path)];
    expected.erase(path);
    const std::vector<std::string> found = twins.find(path);
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected) << path;
  }
}

TEST_F(PathTwinsTest, AreSoughtWithoutReadingTheSiblings) {
  PathTwins twins(store, tree::a_tree(store, tree::numbered_entries(50000, "dir/k")));
  store.reset_counts();
  EXPECT_THAT(twins.find("DIR/K00025000"), ElementsAre("dir/k00025000"));
  EXPECT_LE(store.counts().loads, 12u);
}

TEST_F(PathTwinsTest, AreBounded) {
  std::vector<std::string> keys;
  for (int i = 0; i < 128; ++i) {
    std::string name;
    for (int bit = 0; bit < 7; ++bit) name += (i >> bit & 1) != 0 ? 'a' : 'A';
    keys.push_back(name + "/x");
  }
  PathTwins twins = search(keys);
  twins.find("aaaaaaa/x");
  EXPECT_TRUE(twins.exhausted());
}

}  // namespace
}  // namespace tarn::promotion

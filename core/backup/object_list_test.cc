#include "core/backup/object_list.h"

#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/model/address.h"

namespace tarn::backup {
namespace {

std::vector<ObjectLine> read_in_pieces(const std::string& text, size_t piece) {
  std::vector<ObjectLine> out;
  LineReader lines([&](const ObjectLine& object) { out.push_back(object); });
  for (size_t at = 0; at < text.size(); at += piece) lines.read(text.substr(at, piece));
  lines.finish();
  return out;
}

TEST(ObjectList, LinesAreReadInPiecesOfAnySize) {
  std::string text;
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i) {
    paths.push_back(relative_path(new_own_address(from_millis(1'000 + i))));
    text += to_line({i, paths.back(), static_cast<uint64_t>(i) * 1000});
  }
  for (const size_t piece : std::initializer_list<size_t>{1, 7, 64, 10'000}) {
    const auto lines = read_in_pieces(text, piece);
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_EQ(lines[4].repository, 4);
    EXPECT_EQ(lines[4].path, paths[4]);
    EXPECT_EQ(lines[4].size_bytes, 4'000U);
  }
}

TEST(ObjectList, RecordsOfRepositoriesAreNoObjects) {
  const auto lines = read_in_pieces("1 _tarn/repository 4\n1 _tarn/refs/0af 9\n", 100);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_FALSE(is_object(lines[0]));
  EXPECT_EQ(lines[1].path, "_tarn/refs/0af");
}

TEST(ObjectList, OtherLinesAreDataLoss) {
  const std::string path = relative_path(new_own_address(from_millis(1)));
  for (const std::string& line :
       {std::string("\n"), std::string("1\n"), "1 " + path + "\n", "1 " + path + " x\n",
        "x " + path + " 1\n", std::string("1 ../../etc/passwd 1\n"),
        std::string("1 _tarn/refs/../x 1\n"), std::string("1 _tarn/collector/1 1\n"),
        "1 " + path + " 1", "1 " + path + " 1 2\n", std::string(1'000, '1')}) {
    EXPECT_THROW(read_in_pieces(line, 4'000), Error) << line;
  }
}

}  // namespace
}  // namespace tarn::backup

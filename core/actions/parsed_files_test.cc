#include "core/actions/parsed_files.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"

namespace tarn::actions {
namespace {

std::shared_ptr<const ActionFile> file_of(size_t script_bytes) {
  ActionFile file;
  file.name = "checks";
  Hook& hook = file.hooks.emplace_back();
  hook.work = LuaHook{std::string(script_bytes, 'x'), "", "{}"};
  return std::make_shared<const ActionFile>(std::move(file));
}

TEST(ParsedFiles, CountsTheTextsOfAFile) {
  ActionFile file;
  const size_t empty = memory_bytes(file);
  file.hooks.emplace_back().work = WebhookHook{
      std::string(100, 'u'), {{std::string(10, 'q'), "v"}}, {{"h", std::string(1000, 'v')}}, "s"};
  EXPECT_GE(memory_bytes(file), empty + sizeof(Hook) + 100 + 11 + 1001 + 1);
  file.hooks.emplace_back().work = LuaHook{std::string(500, 's'), "", std::string(600, 'a')};
  file.hooks.emplace_back().work = AirflowHook{"", "", "", "", std::string(700, 'c')};
  EXPECT_GE(memory_bytes(file), empty + 3 * sizeof(Hook) + 1113 + 1100 + 700);
  file.events[HookEvent::kPreCommit].emplace_back(std::string(1000, 'b'));
  EXPECT_GE(memory_bytes(file), empty + 3 * sizeof(Hook) + 1113 + 1100 + 700 + 1000);
}

TEST(ParsedFiles, RemembersUpToItsBytes) {
  constexpr size_t kBytesMax = 100'000;
  ParsedFiles files(kBytesMax);
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    files.put(key, file_of(7'000));
    EXPECT_NE(files.find(key), nullptr);
    EXPECT_LE(files.bytes(), kBytesMax);
  }
  EXPECT_EQ(files.find("0"), nullptr);
  files.put("large", file_of(kBytesMax));
  EXPECT_EQ(files.find("large"), nullptr);
  EXPECT_NE(files.find("999"), nullptr) << "what is not remembered takes no room from others";
}

TEST(ParsedFiles, RemembersUpToANumber) {
  ParsedFiles files;
  for (size_t i = 0; i <= kParsedFilesMax; ++i) files.put(std::to_string(i), file_of(0));
  EXPECT_EQ(files.find("0"), nullptr);
  const size_t one = files.bytes();
  files.put(std::to_string(kParsedFilesMax), file_of(0));
  EXPECT_EQ(files.bytes(), one) << "the same file again";
}

}  // namespace
}  // namespace tarn::actions

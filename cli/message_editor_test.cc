#include "cli/message_editor.h"

#include <gtest/gtest.h>

namespace tarn::cli {
namespace {

Environment with(std::string_view name, std::string_view value) {
  return [=](std::string_view asked) -> std::optional<std::string> {
    if (asked != name) return std::nullopt;
    return std::string(value);
  };
}

TEST(MessageEditor, ShowsNotesAsComments) {
  EXPECT_EQ(message_template("Merge", "added a\n# b"),
            "Merge\n#\n# added a\n# # b\n# Lines that begin with # are left out; an empty message "
            "changes nothing.\n");
}

TEST(MessageEditor, LeavesOutCommentsAndBlankEnds) {
  EXPECT_EQ(message_in("\n\n  title\n\nbody #1 \n# note\n\n"), "title\n\nbody #1");
  EXPECT_EQ(message_in(message_template("", "added a")), "");
  EXPECT_EQ(message_in(""), "");
}

TEST(MessageEditor, ComesFromTheEnvironment) {
  EXPECT_EQ(editor_of(with("EDITOR", "nano")), "nano");
  EXPECT_EQ(editor_of(with("EDITOR", "")), "vi");
  const Environment both = [](std::string_view asked) { return std::optional(std::string(asked)); };
  EXPECT_EQ(editor_of(both), "TARN_EDITOR");
}

}  // namespace
}  // namespace tarn::cli

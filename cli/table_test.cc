#include "cli/table.h"

#include <gtest/gtest.h>

namespace tarn::cli {
namespace {

const Instant kNow = *parse_rfc3339("2026-11-20T12:00:00Z");
const std::string kCommit(64, 'a');

Screen screen_of(size_t columns, bool colours = false) {
  return {.is_terminal = columns > 0, .columns = columns, .rows = 24, .colours_data = colours};
}

std::string table(const Cells& columns, const std::vector<Cells>& rows, const Screen& screen) {
  return TableLayout(columns, screen, kNow).text(rows);
}

TEST(Table, ForProgramsIsComplete) {
  EXPECT_EQ(table({"commit", "date", "message"},
                  {{kCommit, "2026-11-20 09:00:00", std::string(100, 'm')}}, screen_of(0)),
            "COMMIT" + std::string(60, ' ') + "DATE                 MESSAGE\n" + kCommit +
                "  2026-11-20 09:00:00  " + std::string(100, 'm') + "\n");
}

TEST(Table, ForPeopleHasShortIdsAndRelativeTimes) {
  EXPECT_EQ(
      table({"commit", "date", "message"}, {{kCommit, "2026-11-20 09:00:00", "m"}}, screen_of(80)),
      "COMMIT        DATE         MESSAGE\naaaaaaaaaaaa  3 hours ago  m\n");
}

TEST(Table, LongValuesGiveWayToTheTerminal) {
  EXPECT_EQ(table({"commit", "state", "message"},
                  {{kCommit, "awaiting_approval", "a message that is too long"}}, screen_of(50)),
            "COMMIT        STATE              MESSAGE\n"
            "aaaaaaaaaaaa  awaiting_approval  a message that i…\n");
}

TEST(Table, NamesGiveWayAfterLongValues) {
  EXPECT_EQ(
      table({"id", "branch", "message"},
            {{std::string(20, 'i'), std::string(20, 'b'), std::string(20, 'm')}}, screen_of(46)),
      "ID                    BRANCH        MESSAGE\n" + std::string(20, 'i') + "  " +
          std::string(11, 'b') + "…  " + std::string(9, 'm') + "…\n");
}

TEST(Table, TheFirstColumnIsNeverShortened) {
  const std::string path(100, 'p');
  EXPECT_EQ(table({"path", "size"}, {{path, "1"}}, screen_of(80)),
            "PATH" + std::string(98, ' ') + "SIZE\n" + path + "  1\n");
}

TEST(Table, SentencesAreWrapped) {
  EXPECT_EQ(
      table({"check", "ok", "found"}, {{"clock", "no", "the clocks are far apart"}}, screen_of(26)),
      "CHECK  OK  FOUND\n"
      "clock  no  the clocks are\n"
      "           far apart\n");
}

TEST(Table, CutsBetweenCharacters) {
  EXPECT_EQ(table({"a", "message"}, {{"x", "ääääääääääää"}}, screen_of(13)),
            "A  MESSAGE\nx  äääääääää…\n");
}

TEST(Table, ColoursHeadsIdsAndStates) {
  EXPECT_EQ(table({"path", "type"}, {{"a", "added"}, {"b", "other"}}, screen_of(80, true)),
            "\x1b[1mPATH\x1b[0m  \x1b[1mTYPE\x1b[0m\na     \x1b[32madded\x1b[0m\nb     other\n");
}

TEST(Table, TimesAreRelativeInBothDirections) {
  const auto ago = [](int64_t seconds) {
    return time_from(kNow, kNow - std::chrono::seconds(seconds));
  };
  EXPECT_EQ(ago(0), "now");
  EXPECT_EQ(ago(1), "1 second ago");
  EXPECT_EQ(ago(89), "89 seconds ago");
  EXPECT_EQ(ago(90), "2 minutes ago");
  EXPECT_EQ(ago(3 * 3600), "3 hours ago");
  EXPECT_EQ(ago(-3 * 86'400), "in 3 days");
  EXPECT_EQ(ago(20 * 86'400), "3 weeks ago");
  EXPECT_EQ(ago(100 * 86'400), "3 months ago");
  EXPECT_EQ(ago(1000 * 86'400), "3 years ago");
}

TEST(Table, TimesForProgramsAreRfc3339) {
  EXPECT_EQ(machine_time("2026-11-20 08:15:42"), "2026-11-20T08:15:42Z");
  EXPECT_EQ(machine_time("2026-11-20T08:15:42.605Z"), "2026-11-20T08:15:42.605Z");
  EXPECT_EQ(machine_time("2026-11-20 08:15:4x"), "2026-11-20 08:15:4x");
  EXPECT_EQ(machine_time(""), "");
}

TEST(Table, ValuesOfObjectsKeepTheExactTime) {
  EXPECT_EQ(shown_value("date", "2026-11-20 09:00:00", screen_of(80), kNow),
            "2026-11-20 09:00:00 (3 hours ago)");
  EXPECT_EQ(shown_value("date", "2026-11-20 09:00:00", screen_of(0), kNow), "2026-11-20 09:00:00");
  EXPECT_EQ(shown_value("commit", kCommit, screen_of(80), kNow), kCommit);
  EXPECT_EQ(shown_value("state", "failed", screen_of(80, true), kNow), "\x1b[31mfailed\x1b[0m");
}

TEST(Table, ColoursTheFirstWordOfMessages) {
  EXPECT_EQ(coloured_message("tarn: no"), "\x1b[31mtarn:\x1b[0m no");
  EXPECT_EQ(coloured_message("done"), "done");
}

}  // namespace
}  // namespace tarn::cli

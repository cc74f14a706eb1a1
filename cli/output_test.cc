#include "cli/output.h"

#include <functional>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/progress.h"

namespace tarn::cli {
namespace {

using Json = nlohmann::json;

struct Printed {
  std::string data;
  std::string talk;
};

Printed print(Format format, const std::function<void(Output&)>& use, bool quiet = false) {
  std::ostringstream data;
  std::ostringstream talk;
  Output out(format, data, talk, quiet);
  use(out);
  return {data.str(), talk.str()};
}

std::string two_rows(Format format) {
  return print(format,
               [](Output& out) {
                 ListWriter rows = out.list("BranchList", {"branch", "commit"});
                 rows.add({{"id", "main"}}, {"main", "c1"});
                 rows.add({{"id", "a,\"b|"}}, {"a,\"b|", "c2"});
                 rows.finish();
               })
      .data;
}

TEST(Output, AlignsTables) {
  EXPECT_EQ(two_rows(Format::kTable), "BRANCH  COMMIT\nmain    c1\na,\"b|   c2\n");
}

TEST(Output, WritesOneJsonDocument) {
  EXPECT_EQ(Json::parse(two_rows(Format::kJson)),
            Json({{"apiVersion", "tarn/v1"},
                  {"kind", "BranchList"},
                  {"items", Json::array({{{"id", "main"}}, {{"id", "a,\"b|"}}})}}));
}

TEST(Output, WritesJsonLinesCsvMarkdownAndNames) {
  EXPECT_EQ(two_rows(Format::kJsonLines), "{\"id\":\"main\"}\n{\"id\":\"a,\\\"b|\"}\n");
  EXPECT_EQ(two_rows(Format::kCsv), "branch,commit\nmain,c1\n\"a,\"\"b|\",c2\n");
  EXPECT_EQ(two_rows(Format::kMarkdown),
            "| branch | commit |\n| --- | --- |\n| main | c1 |\n| a,\"b\\| | c2 |\n");
  EXPECT_EQ(two_rows(Format::kName), "main\na,\"b|\n");
}

TEST(Output, WritesYamlThatKeepsTypes) {
  const std::string text =
      print(Format::kYaml, [](Output& out) {
        ListWriter rows = out.list("BranchList", {"branch"});
        rows.add({{"id", "main"}, {"text", "true"}, {"number", 3}, {"none", nullptr}}, {"main"});
        rows.add({{"id", "1e3"}, {"list", {1, {{"k", "a: b"}}}}, {"empty", Json::object()}}, {"x"});
        rows.finish();
      }).data;
  EXPECT_EQ(text,
            "apiVersion: tarn/v1\nkind: BranchList\nitems:\n"
            "  - id: main\n    none: null\n    number: 3\n    text: \"true\"\n"
            "  - empty: {}\n    id: \"1e3\"\n    list:\n      - 1\n      - k: \"a: b\"\n");
  EXPECT_EQ(print(Format::kYaml, [](Output& out) { out.list("TagList", {"tag"}).finish(); }).data,
            "apiVersion: tarn/v1\nkind: TagList\nitems: []\n");
  EXPECT_EQ(print(Format::kYaml,
                  [](Output& out) {
                    out.object("Tag", {{"id", "v1"}}, {});
                  })
                .data,
            "apiVersion: tarn/v1\nid: v1\nkind: Tag\n");
}

TEST(Output, TimesForProgramsAreRfc3339) {
  const auto one = [](Output& out) {
    ListWriter rows = out.list("ObjectList", {"path", "modified"});
    rows.add({{"mtime", 1795248011}, {"size_bytes", 1795248011}}, {"a", "2026-11-21 08:00:11"});
    rows.finish();
  };
  EXPECT_EQ(Json::parse(print(Format::kJson, one).data)["items"][0],
            Json({{"mtime", "2026-11-21T08:00:11Z"}, {"size_bytes", 1795248011}}));
  EXPECT_EQ(print(Format::kCsv, one).data, "path,modified\na,2026-11-21T08:00:11Z\n");
  EXPECT_EQ(print(Format::kTable, one).data, "PATH  MODIFIED\na     2026-11-21 08:00:11\n");
}

TEST(Output, AnEmptyTableSaysWhatToDoNext) {
  const auto none = [](Output& out) { out.list("TagList", {"tag"}).finish(); };
  const Printed printed = print(Format::kTable, none);
  EXPECT_EQ(printed.data, "");
  EXPECT_EQ(printed.talk, "no tags: tarn tag create NAME REF creates one\n");
  EXPECT_EQ(print(Format::kTable, none, /*quiet=*/true).talk, "");
  EXPECT_EQ(print(Format::kJson, none).talk, "");
}

TEST(Output, AnEmptyListIsStillADocument) {
  const auto none = [](Output& out) { out.list("TagList", {"tag"}).finish(); };
  EXPECT_EQ(print(Format::kJson, none).data,
            "{\"apiVersion\":\"tarn/v1\",\"kind\":\"TagList\",\"items\":[]}\n");
  EXPECT_EQ(print(Format::kTable, none).data, "");
}

TEST(Output, AListThatFailsBeforeItsFirstRowPrintsNothing) {
  EXPECT_EQ(print(Format::kJson, [](Output& out) { out.list("TagList", {"tag"}); }).data, "");
}

TEST(Output, KeepsAlignmentBeyondTheFirstRows) {
  constexpr int kRows = 2500;
  const std::string text = print(Format::kTable, [](Output& out) {
                             ListWriter rows = out.list("L", {"k", "v"});
                             for (int i = 0; i < kRows; ++i)
                               rows.add(nullptr, {"key", std::to_string(i)});
                             rows.finish();
                           }).data;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kRows + 1);
  EXPECT_NE(text.find("\nkey  2499\n"), std::string::npos);
}

TEST(Output, ObjectsCarryVersionAndKind) {
  const auto one = [](Output& out) {
    out.object("Tag", {{"id", "v1"}}, {{"tag", "v1"}, {"points at", "c"}});
  };
  EXPECT_EQ(Json::parse(print(Format::kJson, one).data),
            Json({{"apiVersion", "tarn/v1"}, {"kind", "Tag"}, {"id", "v1"}}));
  EXPECT_EQ(print(Format::kTable, one).data, "tag        v1\npoints at  c\n");
  EXPECT_EQ(print(Format::kName, one).data, "v1\n");
}

TEST(Output, LinesOfAValueAreIndented) {
  EXPECT_EQ(print(Format::kTable,
                  [](Output& out) {
                    out.object("O", {}, {{"message", "one\n\n  two\x1b\n"}, {"id", "x"}});
                  })
                .data,
            "message  one\n         \n           two\\x1b\nid       x\n");
}

TEST(Output, MessagesGoToStandardError) {
  const auto talk = [](Output& out) {
    out.remark("done");
    out.warn("careful");
  };
  EXPECT_EQ(print(Format::kJson, talk).data, "");
  EXPECT_EQ(print(Format::kJson, talk).talk, "done\ncareful\n");
  EXPECT_EQ(print(Format::kJson, talk, true).talk, "careful\n");
}

TEST(Output, KeysCannotControlTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f"), "a\\x1b[31m\\x0ab\\x7f");
  EXPECT_EQ(printable("päth"), "päth");
  EXPECT_EQ(printable_lines("a:\n\t* b\n\t::c"), "a:\n    * b\n|     ::c");
  EXPECT_EQ(printable_lines("a\x1b\n  ::error::b\nc::d\n"), "a\\x1b\n|   ::error::b\nc::d\n");
  EXPECT_EQ(markdown_cell("a|b\\|<img>\n"), "a\\|b\\\\\\|&lt;img>\\\\x0a");
}

TEST(Output, InvalidUtf8DoesNotBreakJson) {
  const std::string data = print(Format::kJson, [](Output& out) {
                             out.object("O", {{"path", "a\xff"}}, {});
                           }).data;
  EXPECT_TRUE(Json::accept(data));
}

TEST(Output, RefusesAnUnknownFormat) { EXPECT_THROW(parse_format("xml"), Error); }

TEST(Output, FormatsSizesAndTimes) {
  EXPECT_EQ(size_in_words(0), "0 B");
  EXPECT_EQ(size_in_words(1023), "1023 B");
  EXPECT_EQ(size_in_words(1536), "1.5 KiB");
  EXPECT_EQ(size_in_words(5ull << 40), "5.0 TiB");
  EXPECT_EQ(time_in_words(1795248011), "2026-11-21 08:00:11");
}

TEST(Output, FailuresAreTextOrJson) {
  const Error error(ErrorCode::kNotFound, "branch not found");
  std::ostringstream words;
  print_failure(words, error, Format::kTable);
  EXPECT_EQ(words.str(), "tarn: branch not found\n");
  std::ostringstream json;
  print_failure(json, error, Format::kJson);
  EXPECT_EQ(Json::parse(json.str()), Json({{"apiVersion", "tarn/v1"},
                                           {"kind", "Error"},
                                           {"code", "not_found"},
                                           {"message", "branch not found"},
                                           {"exitCode", 4}}));
}

TEST(Progress, ShowsShareAndRate) {
  EXPECT_EQ(progress_line("a.bin", Unit::kBytes, 1 << 20, 2 << 20, std::chrono::seconds(2)),
            "a.bin  [============>           ] 50%  1.0 MiB of 2.0 MiB  512.0 KiB/s");
  EXPECT_EQ(progress_line("a", Unit::kBytes, 3, 2, std::chrono::seconds(0)),
            "a  [========================] 100%  3 B of 2 B");
}

TEST(Progress, CountsWithoutATotal) {
  EXPECT_EQ(progress_line("importing", Unit::kObjects, 3000, 0, std::chrono::seconds(2)),
            "importing  3000 objects  1500/s");
}

}  // namespace
}  // namespace tarn::cli

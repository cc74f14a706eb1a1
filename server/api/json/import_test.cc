#include "server/api/json/import.h"

#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"

namespace tarn::api::json {
namespace {

TEST(ImportBodies, AreReadAndWrittenWhole) {
  const auto given =
      parsed(parse_start_import,
             R"({"paths":[{"type":"common_prefix","path":"s3://b/p","destination":"d"},)"
             R"({"type":"object","path":"s3://b/k","destination":"k"}],"commit":{"message":"m"}})");
  ASSERT_EQ(given.paths.size(), 2u);
  EXPECT_EQ(given.paths[0].kind, imports::ImportPath::Kind::kPrefix);
  EXPECT_EQ(given.paths[1].kind, imports::ImportPath::Kind::kObject);
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
  EXPECT_EQ(import_status_body({.id = "i",
                                .completed = true,
                                .updated = from_millis(0),
                                .added = 1,
                                .replaced = 2,
                                .removed = 3}),
            R"({"completed":true,"update_time":"1970-01-01T00:00:00.000Z","ingested_objects":0,)"
            R"("added":1,"changed":true,"replaced":2,"removed":3})"
            "\n");
}

TEST(Codecs, APreviewOfAnImportCountsWhatIsKnown) {
  EXPECT_EQ(import_preview_body({.objects = {}, .has_more = true, .at_destination = 7}),
            R"({"at_destination":7,"has_more":true,"results":[]})"
            "\n");
  EXPECT_EQ(
      import_preview_body({.at_destination = 7, .added = 1, .changed = 2, .removed = 5}),
      R"({"added":1,"at_destination":7,"changed":2,"has_more":false,"removed":5,"results":[]})"
      "\n");
  EXPECT_EQ(import_preview_body({.added_paths = {"a"},
                                 .changed_paths = {"b"},
                                 .removed_paths = {"c", "d"},
                                 .names_object = true,
                                 .also_matches = "s3://b/k"}),
            R"({"at_destination":0,"has_more":false,"added_paths":["a"],"changed_paths":["b"],)"
            R"("removed_paths":["c","d"],"names_object":true,"also_matches":"s3://b/k",)"
            R"("results":[]})"
            "\n");
}

}  // namespace
}  // namespace tarn::api::json

// lakefs/catalogexport/* and formats over objects of the test: what they write, and what they
// refuse.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/actions/lua/script_fixture.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kAction =
    R"({"event_type":"post-commit","repository_id":"lake","branch_id":"main",)"
    R"("commit_id":"c0ffee1234567890","storage_namespace":"s3://store/lake"})";
constexpr const char* kAnimals = R"(
name: animals
type: hive
path: tables/animals/
partition_columns: [year, site]
schema:
  type: struct
  fields:
    - {name: year, type: integer, nullable: false, metadata: {}}
    - {name: site, type: string, nullable: false}
    - {name: page, type: string, nullable: false, metadata: {comment: of the book}}
    - {name: views, type: long, nullable: true}
)";

/// The repository, as the server's answers show it.
class CatalogExport : public ::testing::Test {
 protected:
  struct Object {
    std::string text;
    Json more = Json::object();
  };
  void put(const std::string& path, std::string text = "x", Json more = Json::object()) {
    objects_[path] = {std::move(text), std::move(more)};
  }
  /// Writers of the script print what they are given.
  std::string run(const std::string& text, const std::string& action = kAction) {
    return tarn::testing::script_output(
        {.text =
             "local function write(bucket, key, data) print('[' .. bucket .. ' ' .. key .. ']\\n' "
             ".. data) end\n" +
             text,
         .action = action},
        [this](const Message& message) { return answer(Json::parse(message.json)); });
  }
  int pages = 0;

 private:
  static Message as_json(int status, const Json& body) {
    return {Message::Kind::kAnswer, Json{{"status", status}, {"json", true}}.dump(), body.dump()};
  }
  static Json shown(const std::string& path, const Object& object) {
    Json out{{"path", path},
             {"path_type", "object"},
             {"physical_address", "s3://store/lake/data/" + path},
             {"size_bytes", object.text.size()},
             {"checksum", "e"}};
    out.update(object.more);
    return out;
  }
  Message answer(const Json& call) {
    const Json& given = call.at("arguments");
    EXPECT_EQ(given.at("repository"), "lake");
    if (call.at("function") == "list_objects") return list(given);
    const std::string path = given.at("path");
    const auto at = objects_.find(path);
    if (at == objects_.end()) return as_json(404, {{"message", "not found"}});
    if (call.at("function") == "stat_object") return as_json(200, shown(path, at->second));
    EXPECT_EQ(call.at("function"), "get_object");
    return {Message::Kind::kAnswer, R"({"status":200,"json":false})", at->second.text};
  }
  Message list(const Json& given) {
    ++pages;
    const std::string prefix = given.at("prefix");
    Json results = Json::array();
    bool more = false;
    for (auto at = objects_.upper_bound(given.at("after")); at != objects_.end() && !more; ++at) {
      if (!at->first.starts_with(prefix)) continue;
      more = static_cast<int64_t>(results.size()) == given.at("amount").get<int64_t>();
      if (!more) results.push_back(shown(at->first, at->second));
    }
    const std::string next = more ? results.back()["path"].get<std::string>() : "";
    return as_json(
        200, {{"results", results}, {"pagination", {{"has_more", more}, {"next_offset", next}}}});
  }

  std::map<std::string, Object> objects_;
};

class HiveTable : public CatalogExport {
 protected:
  HiveTable() {
    put("_lakefs_tables/animals.yaml", kAnimals);
    put("_lakefs_tables/_draft.yaml");
    put("_lakefs_tables/notes.txt");
    put("tables/animals/_SUCCESS");
    put("tables/animals/readme.txt");
    put("tables/animals/year=2019/site=a/1.parquet");
    put("tables/animals/year=2019/site=a/2.parquet");
    put("tables/animals/year=2019/site=b/3.parquet");
    put("tables/animals/year=2020/site=a/4.parquet");
    put("tables/animals2/year=2020/site=a/5.parquet");
  }
};

constexpr const char* kSymlinks = R"lua(
local exporter = require('lakefs/catalogexport/symlink_exporter')
local made = exporter.export_s3(nil, '_lakefs_tables/animals.yaml', action, {writer = write})
print(made.location.protocol, made.location.bucket, made.location.key)
)lua";

TEST_F(HiveTable, HasSymlinksForEachPartition) {
  EXPECT_EQ(run(kSymlinks),
            "[store lake/_lakefs/exported/main/c0ffee/animals/year=2019/site=a/symlink.txt]\n"
            "s3://store/lake/data/tables/animals/year=2019/site=a/1.parquet\n"
            "s3://store/lake/data/tables/animals/year=2019/site=a/2.parquet\n\n"
            "[store lake/_lakefs/exported/main/c0ffee/animals/year=2019/site=b/symlink.txt]\n"
            "s3://store/lake/data/tables/animals/year=2019/site=b/3.parquet\n\n"
            "[store lake/_lakefs/exported/main/c0ffee/animals/year=2020/site=a/symlink.txt]\n"
            "s3://store/lake/data/tables/animals/year=2020/site=a/4.parquet\n\n"
            "s3\tstore\tlake/_lakefs/exported/main/c0ffee/\n");
}

TEST_F(HiveTable, IsWrittenElsewhereWhenAskedFor) {
  const std::string said = run(R"lua(
local exporter = require('lakefs/catalogexport/symlink_exporter')
local client = {put_object = write}
exporter.export_s3(client, '_lakefs_tables/animals.yaml', action, {export_base_uri = 's3://other/deep/er', debug = true})
)lua");
  EXPECT_THAT(said, HasSubstr("[other deep/er/_lakefs/exported/main/c0ffee/animals/year=2019/"));
  EXPECT_THAT(said, HasSubstr("symlinks of 2 objects: s3://other/deep/er/"));
}

TEST_F(HiveTable, OfATagIsWrittenBelowItsName) {
  EXPECT_THAT(
      run(kSymlinks, R"({"event_type":"post-create-tag","repository_id":"lake","tag_id":"v1",)"
                     R"("commit_id":"c0ffee12","storage_namespace":"s3://store/lake"})"),
      HasSubstr("[store lake/_lakefs/exported/v1/c0ffee/animals/year=2019/"));
}

TEST_F(HiveTable, WithoutPartitionsHasOneFile) {
  put("_lakefs_tables/animals.yaml", "name: flat\ntype: hive\npath: tables/animals2\nschema: {}\n");
  EXPECT_THAT(run(kSymlinks),
              HasSubstr("[store lake/_lakefs/exported/main/c0ffee/flat/symlink.txt]\n"
                        "s3://store/lake/data/tables/animals2/year=2020/site=a/5.parquet\n"));
}

TEST_F(HiveTable, StoredInPartsIsRefused) {
  put("tables/animals/year=2020/site=a/4.parquet", "x", {{"stored_in_parts", true}});
  EXPECT_THAT(run(kSymlinks), HasSubstr("site=a/4.parquet is stored in several parts"));
}

TEST_F(HiveTable, OtherTableTypesAreRefused) {
  put("_lakefs_tables/animals.yaml", "name: a\ntype: delta\npath: x\n");
  EXPECT_THAT(run(kSymlinks),
              HasSubstr("only tables of type hive have symlinks, this one is delta"));
  put("_lakefs_tables/animals.yaml", "just text");
  EXPECT_THAT(run(kSymlinks), HasSubstr("is no YAML map"));
  EXPECT_THAT(run(kSymlinks, R"({"event_type":"pre-commit","repository_id":"lake",)"
                             R"("branch_id":"main","storage_namespace":"s3://store/lake"})"),
              HasSubstr("event pre-commit has no commit to export"));
  EXPECT_THAT(run("require('lakefs/catalogexport/symlink_exporter').export_s3(nil, 'absent.yaml', "
                  "action, {})"),
              HasSubstr("table descriptor absent.yaml at c0ffee1234567890: HTTP 404"));
}

TEST_F(HiveTable, IsListedPageByPage) {
  EXPECT_EQ(run(R"lua(
local hive, lakefs = require('lakefs/catalogexport/hive'), require('lakefs')
local pager = hive.extract_partition_pager(lakefs, 'lake', 'main', 'tables/animals', {'year', 'site'}, 2)
for partition, entries in pager do
  print(partition, #entries, entries[1].path, entries[1].size, entries[1].checksum)
end
local extractor = require('lakefs/catalogexport/table_extractor')
for _, entry in ipairs(extractor.list_table_descriptor_entries(lakefs, 'lake', 'main')) do print(entry.path) end
print(#extractor.get_table_descriptor(lakefs, 'lake', 'main', '_lakefs_tables/animals.yaml').partition_columns)
)lua"),
            "tables/animals/year=2019/site=a/\t2\ttables/animals/year=2019/site=a/1.parquet\t1\te\n"
            "tables/animals/year=2019/site=b/\t1\ttables/animals/year=2019/site=b/3.parquet\t1\te\n"
            "tables/animals/year=2020/site=a/\t1\ttables/animals/year=2020/site=a/4.parquet\t1\te\n"
            "_lakefs_tables/animals.yaml\n2\n");
  EXPECT_EQ(pages, 4);
}

TEST_F(HiveTable, IsDescribedToGlue) {
  EXPECT_EQ(
      run(R"lua(
local exporter, json = require('lakefs/catalogexport/glue_exporter'), require('encoding/json')
local glue = {
  create_database = function(db, options) print('database', db, json.marshal(options)) end,
  create_table = function(db, text) print('table', db, text) end,
}
local input = {StorageDescriptor = {InputFormat = 'I'}, Parameters = {EXTERNAL = 'TRUE'}}
exporter.export_glue(glue, 'db', '_lakefs_tables/animals.yaml', input, action,
  {create_db_input = {DatabaseInput = {Description = 'd'}}})
print(input.Name, input.StorageDescriptor.Columns)
)lua"),
      R"(database	db	{"create_db_input":{"DatabaseInput":{"Description":"d"}},)"
      R"("error_on_already_exists":false})"
      "\n"
      R"(table	db	{"Name":"animals_lake_main_c0ffee","Parameters":{"EXTERNAL":"TRUE"},)"
      R"("PartitionKeys":[{"Name":"year","Type":"int"},{"Name":"site","Type":"string"}],)"
      R"("StorageDescriptor":{"Columns":[{"Comment":"of the book","Name":"page","Type":"string"},)"
      R"({"Name":"views","Type":"bigint"}],"InputFormat":"I",)"
      R"("Location":"s3://store/lake/_lakefs/exported/main/c0ffee/animals"},)"
      R"("TableType":"EXTERNAL_TABLE"})"
      "\nnil\tnil\n");
  put("_lakefs_tables/animals.yaml",
      "name: a\ntype: hive\npath: x\npartition_columns: [day]\nschema: {fields: []}\n");
  EXPECT_THAT(run("require('lakefs/catalogexport/glue_exporter').export_glue({}, 'db', "
                  "'_lakefs_tables/animals.yaml', {}, action)"),
              HasSubstr("its schema has no field for the partition column day"));
}

class DeltaTable : public CatalogExport {
 protected:
  DeltaTable() {
    put("_lakefs_tables/t.yaml", "name: people\ntype: delta\npath: tables/people\n");
    put("tables/people/a 1.parquet");
    put("tables/people/b+2.parquet");
    entry(0, {R"({"protocol":{"minReaderVersion":1,"minWriterVersion":2}})",
              R"({"metaData":{"id":"4711","name":null,"schemaString":"{}","partitionColumns":[],)"
              R"("configuration":{},"createdTime":17}})",
              add("a%201.parquet")});
    entry(1, {R"({"commitInfo":{"operation":"WRITE"}})", add("b+2.parquet")});
  }
  static std::string add(const std::string& path, const std::string& more = "") {
    return R"({"add":{"dataChange":true,"partitionValues":{"p":null},"path":")" + path + R"(")" +
           more + "}}";
  }
  static std::string remove(const std::string& path) {
    return R"({"remove":{"dataChange":true,"path":")" + path + R"("}})";
  }
  void entry(int version, const std::vector<std::string>& lines) {
    std::string name = std::to_string(version);
    name.insert(0, 20 - name.size(), '0');
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    put("tables/people/_delta_log/" + name + ".json", text);
  }
};

constexpr const char* kDelta = R"lua(
local formats, exporter = require('formats'), require('lakefs/catalogexport/delta_exporter')
local client = formats.delta_client('key', 'secret', 'us-east-1')
local made = exporter.export_delta_log(action, {'t'}, write, client, '_lakefs_tables')
print(made.t.path, made.t.metadata.id, made.t.metadata.created_time, #made.t.metadata.partition_columns)
)lua";

TEST_F(DeltaTable, IsExportedWithAddressesOfTheStore) {
  EXPECT_EQ(
      run(kDelta),
      "[store lake/_lakefs/exported/main/c0ffee/people/_delta_log/00000000000000000000.json]\n"
      R"({"protocol":{"minReaderVersion":1,"minWriterVersion":2}})"
      "\n"
      R"({"metaData":{"id":"4711","name":null,"schemaString":"{}","partitionColumns":[],)"
      R"("configuration":{},"createdTime":17}})"
      "\n"
      R"({"add":{"dataChange":true,"partitionValues":{"p":null},)"
      R"("path":"s3://store/lake/data/tables/people/a%201.parquet"}})"
      "\n\n"
      "[store lake/_lakefs/exported/main/c0ffee/people/_delta_log/00000000000000000001.json]\n"
      R"({"commitInfo":{"operation":"WRITE"}})"
      "\n"
      R"({"add":{"dataChange":true,"partitionValues":{"p":null},)"
      R"("path":"s3://store/lake/data/tables/people/b%2B2.parquet"}})"
      "\n\n"
      "s3://store/lake/_lakefs/exported/main/c0ffee/people\t4711\t17\t0\n");
}

TEST_F(DeltaTable, TakesATransformerOfPaths) {
  const std::string said = run(R"lua(
local formats, exporter = require('formats'), require('lakefs/catalogexport/delta_exporter')
local made = exporter.export_delta_log(action, {'t.yaml'}, write, formats.delta_client('k', 's'), '_lakefs_tables',
  function(path) return 'abfss' .. path:sub(3) end)
print(made['t.yaml'].path)
)lua");
  EXPECT_THAT(said, HasSubstr(R"("path":"abfss://store/lake/data/tables/people/a%201.parquet")"));
  EXPECT_THAT(said, HasSubstr("\nabfss://store/lake/_lakefs/exported/main/c0ffee/people\n"));
}

TEST_F(DeltaTable, MissingFilesMatterOnlyWhileTheLogNamesThem) {
  entry(2, {add("old.parquet")});
  entry(3, {remove("old.parquet"), remove("a%201.parquet")});
  const std::string said = run(kDelta);
  EXPECT_THAT(said, HasSubstr(R"({"remove":{"dataChange":true,"path":"old.parquet"}})"));
  EXPECT_THAT(said, HasSubstr(R"("path":"s3://store/lake/data/tables/people/a%201.parquet"}})"));
  entry(4, {add("old.parquet")});
  EXPECT_THAT(run(kDelta), HasSubstr("its log names old.parquet, which is not there"));
}

TEST_F(DeltaTable, IsExportedWholeOrNotAtAll) {
  entry(3, {add("a%201.parquet")});
  EXPECT_THAT(run(kDelta), HasSubstr("its log has no version 2, and checkpoints are not read"));
  entry(2, {add("a%201.parquet", R"(,"deletionVector":{"storageType":"u","pathOrInlineDv":"x"})")});
  EXPECT_THAT(run(kDelta), HasSubstr("deletion vectors"));
  entry(2, {"no json"});
  EXPECT_THAT(run(kDelta), HasSubstr("a line is no action of a Delta log"));
  entry(2, {R"({"add":{"path":7}})"});
  EXPECT_THAT(run(kDelta), HasSubstr("names no file"));
  entry(2, {});
  put("tables/people/a 1.parquet", "x", {{"stored_in_parts", true}});
  const std::string said = run(kDelta);
  EXPECT_THAT(said, HasSubstr("tables/people/a 1.parquet is stored in several parts"));
  EXPECT_EQ(said.find("[store"), std::string::npos) << "nothing was written";
  put("_lakefs_tables/t.yaml", "name: people\ntype: delta\npath: tables/absent\n");
  EXPECT_THAT(run(kDelta), HasSubstr("there is no log below tables/absent/_delta_log/"));
}

}  // namespace
}  // namespace tarn::actions::lua

// Metric files as training programs write them, whole, torn and hostile.
#include "core/metrics/files/metric_file.h"

#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/base/crc.h"
#include "core/base/number.h"
#include "core/metrics/files/mlflow_run.h"

namespace tarn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Texts = std::vector<std::string>;

FileFacts read(const std::string& path, std::string_view bytes) {
  FileFacts facts(path);
  ByteSource source(bytes);
  read_metric_file(metric_file_kind(path), source, facts);
  return facts;
}

/// "name@split=step:value,step:value", followed by the last value if it differs.
Texts curves(const FileFacts& facts) {
  Texts out;
  for (const FileFacts::Measured& m : facts.measured()) {
    std::string text = m.series.name + (m.series.split.empty() ? "" : "@" + m.series.split) + "=";
    for (const Point& p : m.series.points) {
      text += (text.back() == '=' ? "" : ",") + std::to_string(p.step) + ":" + to_text(p.value);
    }
    out.push_back(text);
  }
  return out;
}

Texts values(const FileFacts& facts) {
  Texts out;
  for (const FileFacts::Measured& m : facts.measured()) {
    out.push_back(m.series.name + "=" + to_text(m.last));
  }
  return out;
}

TEST(MetricFileKind, IsDecidedByThePath) {
  const std::vector<std::pair<std::string_view, MetricFileKind>> known = {
      {"metrics/eval.json", MetricFileKind::kJson},
      {"metrics.yml", MetricFileKind::kYaml},
      {"metrics/part-00000-0f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f01-c000.json", MetricFileKind::kJson},
      {"metrics/_SUCCESS", MetricFileKind::kNone},
      {"metrics/_temporary/0/part-00000.json", MetricFileKind::kNone},
      {"metrics/.part-00000.json.crc", MetricFileKind::kNone},
      {"metrics/", MetricFileKind::kNone},
      {"metrics/scores.csv", MetricFileKind::kCsv},
      {"metrics/scores.tsv", MetricFileKind::kTsv},
      {"metrics/plot.png", MetricFileKind::kNone},
      {"metrics/accuracy", MetricFileKind::kMlflowMetric},
      {"mlruns/0/abc/metrics/val/loss", MetricFileKind::kMlflowMetric},
      {"mlruns/0/abc/metrics/loss.v2", MetricFileKind::kMlflowMetric},
      {"mlruns/0/abc/params/lr", MetricFileKind::kMlflowParam},
      {"mlruns/0/abc/meta.yaml", MetricFileKind::kNone},
      {"mlruns/0/abc/tags/mlflow.user", MetricFileKind::kNone},
      {"mlruns/0/abc/artifacts/metrics/x", MetricFileKind::kNone},
      {"logs/train/events.out.tfevents.1700.host.1.0.v2", MetricFileKind::kTensorBoard},
  };
  for (const auto& [path, kind] : known) EXPECT_EQ(metric_file_kind(path), kind) << path;
}

TEST(JsonFile, NamesNestedNumbers) {
  const FileFacts facts = read("metrics.json", R"({
    "accuracy": "0.83", "loss": -1.5e-3, "val": {"loss": 0.25, "by": {"class": {"cat": 1}}},
    "name": "resnet", "ok": true, "none": null, "count": 18446744073709551615})");
  EXPECT_THAT(values(facts), ElementsAre("accuracy=0.83", "loss=-0.0015", "val.loss=0.25",
                                         "val.by.class.cat=1", "count=18446744073709551616"));
  EXPECT_THAT(facts.warnings(), IsEmpty());
}

TEST(JsonFile, AcceptsNanAndInfinity) {
  EXPECT_THAT(
      values(read("m.json", R"({"a": NaN, "b": Infinity, "c": -Infinity, "d": "-inf", "e": "nan",
                                        "s": "NaN \" Infinity", "f": 1})")),
      ElementsAre("a=NaN", "b=Infinity", "c=-Infinity", "d=-Infinity", "e=NaN", "f=1"));
}

TEST(JsonFile, ListsAreCurves) {
  EXPECT_THAT(
      curves(read("history.json", R"({"loss": [0.5, 0.25], "epochs": {"acc": [1, 2, 3]}})")),
      ElementsAre("loss=0:0.5,1:0.25", "epochs.acc=0:1,1:2,2:3"));
  EXPECT_THAT(curves(read("m.json", R"([{"step": 10, "loss": 1}, {"step": 20, "loss": 0.5}])")),
              ElementsAre("loss=10:1,20:0.5"));
}

TEST(JsonFile, LinesArePoints) {
  const FileFacts facts =
      read("metrics/log.jsonl", "{\"epoch\":1,\"loss\":\"0.7\"}\n\n{\"epoch\":3,\"loss\":0.5}\r\n");
  EXPECT_THAT(curves(facts), ElementsAre("loss=1:0.7,3:0.5"));
  EXPECT_THAT(facts.warnings(), IsEmpty());
  EXPECT_THAT(curves(read("m.ndjson", "{\"a\":1}\n{\"a\":2}\n")), ElementsAre("a=0:1,1:2"));
  EXPECT_THAT(values(read("metrics/part-00000.json", "{\"loss\":\"0.7\",\"accuracy\":\"1.5\"}\n")),
              ElementsAre("loss=0.7", "accuracy=1.5"));
}

TEST(JsonFile, BrokenDocumentIsIgnored) {
  for (const char* text :
       {"{\"a\": 0.1, \"a\": 0.97}", "{\n\"b\": {\"a\": 1, \"a\": 2}}", "{\"a\": 0.93} garbage",
        "{\"a\": 0.93}\n]", "{\"a\": 0.93, \"b\": ", "{\"a\": 0.93,\n \"b\": "}) {
    const FileFacts facts = read("m.json", text);
    EXPECT_THAT(values(facts), IsEmpty()) << text;
    EXPECT_THAT(facts.params(), IsEmpty()) << text;
    EXPECT_FALSE(facts.warnings().empty()) << text;
  }
  EXPECT_THAT(values(read("m.json", "{\"a\": 1, \"b\": {\"a\": 2}, \"c\": {\"a\": 3}}")),
              ElementsAre("a=1", "b.a=2", "c.a=3"));
}

TEST(MetricFile, TheValueOfACurveIsThatOfItsHighestStep) {
  EXPECT_THAT(values(read("m.jsonl", "{\"step\":100,\"a\":0.4}\n{\"step\":10,\"a\":0.97}\n")),
              ElementsAre("a=0.4"));
  EXPECT_THAT(values(read("m.csv", "step,a\n100,0.4\n10,0.95\n100,0.5\n")), ElementsAre("a=0.5"))
      << "of one step the later line";
  EXPECT_THAT(values(read("mlruns/0/r/metrics/a", "1700 0.4 100\n1701 0.97 10\n")),
              ElementsAre("a=0.4"));
}

TEST(JsonFile, TruncatedAnywhereIsIgnored) {
  const std::string whole =
      "{\n \"a\": 1,\n \"b\": {\"c\": [0.5, NaN], \"d\": \"x\\\"y\"},\n \"e\": -Infinity\n}";
  const size_t all = read("m.json", whole).measured().size();
  EXPECT_EQ(all, 3u);
  for (size_t length = 0; length < whole.size(); ++length) {
    const FileFacts facts = read("m.json", whole.substr(0, length));
    EXPECT_THAT(facts.measured(), IsEmpty()) << length;
    EXPECT_EQ(facts.warnings().size(), length == 0 ? 0u : 1u) << length;
  }
}

TEST(JsonFile, LimitsDepth) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(read("m.json", deep).warnings(),
              ElementsAre("m.json: line 1: is nested too deep: the file counts for nothing"));
}

TEST(MetricFile, WarningsAreText) {
  FileFacts facts("m.csv");
  facts.warn(std::string_view("a\xff\0b", 4));
  EXPECT_THAT(facts.warnings(), ElementsAre("m.csv: a??b"));
  for (size_t i = 0; i < 2 * kWarningsPerFileMax; ++i) facts.warn("again");
  EXPECT_EQ(facts.warnings().size(), kWarningsPerFileMax + 1);
}

TEST(YamlFile, IsReadLikeJson) {
  const FileFacts facts =
      read("metrics.yaml",
           "accuracy: 0.83\nval:\n  loss: '0.25'\n  inf: .inf\n  minus: -.inf\n  nan: .nan\n"
           "list: [1, 2]\nname: x\nempty:\nrow:\n- {step: 5, f1: 0.5}\n- {step: 6, f1: 0.75}\n");
  EXPECT_THAT(curves(facts),
              ::testing::UnorderedElementsAre(
                  "accuracy=0:0.83", "val.loss=0:0.25", "val.inf=0:Infinity",
                  "val.minus=0:-Infinity", "val.nan=0:NaN", "list=0:1,1:2", "row.f1=5:0.5,6:0.75"));
}

TEST(YamlFile, AliasBombsStaySmall) {
  std::string bomb = "a: &a [1,1,1,1,1,1,1,1,1]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) bomb += std::string(i ? "," : "") + "*" + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(read("m.yaml", bomb).warnings(), ::testing::SizeIs(1));
  EXPECT_THAT(read("m.yaml", std::string(100'000, '[')).warnings(), ::testing::SizeIs(1));
  EXPECT_THAT(read("m.yaml", std::string(kYamlBytesMax + 1, ' ')).warnings(), ::testing::SizeIs(1));
}

TEST(YamlFile, DuplicateKeyIsIgnored) {
  for (const auto& [text, line] : std::vector<std::pair<std::string, std::string>>{
           {"accuracy: 0.1\naccuracy: 0.97\n", "2"},
           {"loss: 1\nval:\n  a: 1\n  \"a\": 2\n", "4"},
           {"{a: 1, b: {c: 2}, a: 3}\n", "1"},
           {"rows:\n- {step: 1, a: 1}\n- {step: 2, a: 1, a: 2}\n", "3"}}) {
    const FileFacts facts = read("m.yaml", text);
    EXPECT_THAT(values(facts), IsEmpty()) << text;
    EXPECT_THAT(facts.warnings(), ElementsAre("m.yaml: line " + line +
                                              ": has a key twice in one map: the file counts for "
                                              "nothing"))
        << text;
  }
  const FileFacts facts = read("m.yaml", "a: 1\nb: {a: 2}\nc: [{a: 3}, {a: 4}]\nd: a\ne: a\n");
  EXPECT_THAT(values(facts), ElementsAre("c.a=4", "a=1", "b.a=2"));
  EXPECT_THAT(facts.warnings(), IsEmpty());
}

/// The most memory that this process ever had, in bytes.
size_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

TEST(YamlFile, StructuralCharactersAreLimited) {
  // Each is what the parser needs most memory for.
  for (const char* unit : {"[", "{", "1,", "[:", "{a:", "\"\"", "'' ", "&a ", "*a ", "!a ", "? ",
                           "a #\n", "a: 1\n", "a: [1]\n"}) {
    std::string text = "[";
    while (text.size() + 8 < kYamlBytesMax) text += unit;
    const size_t before = peak_memory_bytes();
    EXPECT_THAT(read("m.yaml", text).warnings(), ElementsAre(HasSubstr("brackets"))) << unit;
    EXPECT_LT(peak_memory_bytes() - before, 64u << 20) << unit;
  }
}

TEST(CsvFile, TheWineSample) {
  const FileFacts facts = read("metrics/scores.csv", ",f1\r\n0,0.25\r\n1,0.5\r\n");
  EXPECT_THAT(curves(facts), ElementsAre("f1=0:0.25,1:0.5"));
  EXPECT_THAT(facts.warnings(), IsEmpty());
}

TEST(CsvFile, HasQuotesStepsTextAndHoles) {
  const FileFacts facts = read("m.csv",
                               "model,step,\"a \"\"b\"\", "
                               "c\",loss\n\"x\ny\",10,1,0.5\nz,20,,n/a\nw,30,\"3\",0.25\n");
  EXPECT_THAT(curves(facts), ElementsAre("a \"b\", c=10:1,30:3", "loss=10:0.5,30:0.25"));
  EXPECT_THAT(facts.warnings(),
              ElementsAre("m.csv: line 4: column \"loss\" has a cell that is no number"));
}

TEST(CsvFile, DuplicateColumnIsIgnored) {
  for (const char* header : {"step,a,b,a", "\"a\",a", "a,step,b,step"}) {
    const FileFacts facts = read("m.csv", std::string(header) + "\n1,2,3,4\n");
    EXPECT_THAT(values(facts), IsEmpty()) << header;
    EXPECT_THAT(facts.warnings(),
                ElementsAre(::testing::MatchesRegex(
                    "m.csv: line 1: has column \"(a|step)\" twice: the file counts for nothing")))
        << header;
  }
  EXPECT_THAT(values(read("m.tsv", "a\ta\n1\t2\n")), IsEmpty());
  // Columns of an index have no name.
  EXPECT_THAT(values(read("m.csv", ",Unnamed: 0,a,A\n0,0,1,2\n")), ElementsAre("a=1", "A=2"));
}

TEST(CsvFile, TornAtEveryByteKeepsWholeRows) {
  const std::string whole = "a,b\n1,\"2\"\n3,4\n";
  for (size_t length = 0; length <= whole.size(); ++length) {
    const FileFacts facts = read("m.csv", whole.substr(0, length));
    if (length >= whole.find("3,")) {
      ASSERT_EQ(facts.measured().size(), 2u) << length;
      EXPECT_EQ(facts.measured()[1].series.points[0].value, 2) << length;
    }
  }
}

TEST(MlflowFile, DeletedAndFailedRunsAreIgnored) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(mlflow_meta_paths("mlruns/0/abc/metrics/a"),
            (Paths{"mlruns/0/meta.yaml", "mlruns/0/abc/meta.yaml"}));
  EXPECT_EQ(mlflow_meta_paths("out/mlruns/0/abc/metrics/val/a"),
            (Paths{"out/mlruns/0/meta.yaml", "out/mlruns/0/abc/meta.yaml"}));
  EXPECT_EQ(mlflow_meta_paths("metrics/a"), Paths{});
  EXPECT_EQ(mlflow_meta_paths("mlruns/a"), Paths{});
  for (const char* meta :
       {"run_id: abc\nlifecycle_stage: deleted\n", "lifecycle_stage: active\nstatus: 4\n",
        "status: 5\n", "status: FAILED\n", "status: KILLED\n", "status: 3\nstatus: 4\n", "- ["}) {
    EXPECT_NE(mlflow_run_problem(meta), "") << meta;
  }
  for (const char* meta : {"run_id: abc\nlifecycle_stage: active\nstatus: 3\n", "status: 1\n",
                           "status: RUNNING\n", "experiment_id: '0'\n", ""}) {
    EXPECT_EQ(mlflow_run_problem(meta), "") << meta;
  }
}

TEST(MlflowFile, ReadsMetricsAndParameters) {
  EXPECT_THAT(
      curves(read("mlruns/0/abc/metrics/val/loss", "1700000000000 0.5 0\n1700000000001 nan 10\n")),
      ElementsAre("val/loss=0:0.5,10:NaN"));
  const FileFacts param = read("mlruns/0/abc/params/lr", "0.01");
  EXPECT_EQ(param.params(), (std::map<std::string, std::string>{{"lr", "0.01"}}));
  EXPECT_THAT(read("metrics/README", "how to read this").warnings(), ::testing::SizeIs(1));
  EXPECT_THAT(curves(read("metrics/a", "1700 0.5\n1701 0.6 7 data 1a2b\n")),
              ElementsAre("a=0:0.5,7:0.6"));
}

TEST(MlflowFile, TheNewestValueOfTheHighestStepCounts) {
  EXPECT_THAT(values(read("metrics/a", "1702 0.1 5\n1701 0.99 5\n1703 0.5 4\n")),
              ElementsAre("a=0.1"));
  EXPECT_THAT(values(read("metrics/a", "1701 0.3 5\n1701 0.4 5\n1702 0.2 5\n1702 0.2 5\n")),
              ElementsAre("a=0.2"));
}

// Messages of TensorFlow, by hand.
void put_little(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}
std::string field(int number, std::string_view bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  out.push_back(static_cast<char>(bytes.size()));
  return out.append(bytes);
}
std::string number_field(int number, uint64_t value) {
  std::string out(1, static_cast<char>(number << 3));
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string float_bytes(float value) {
  std::string out;
  put_little(out, std::bit_cast<uint32_t>(value), 4);
  return out;
}
std::string record(std::string_view event) {
  const auto masked = [](std::string_view bytes) {
    const auto crc = static_cast<uint32_t>(crc_of(CrcKind::kCrc32c, bytes));
    return std::rotr(crc, 15) + 0xA282EAD8u;
  };
  std::string out;
  put_little(out, event.size(), 8);
  put_little(out, masked(out), 4);
  out.append(event);
  put_little(out, masked(event), 4);
  return out;
}
std::string event(uint64_t step, std::string_view value) {
  std::string out("\x09\0\0\0\0\0\0\0\0", 9);  // wall_time
  return out + number_field(2, step) + field(5, field(1, value));
}
std::string simple(std::string_view tag, float value) {
  return field(1, tag) + std::string(1, '\x15') + float_bytes(value);
}
std::string tensor(std::string_view tag, std::string_view proto) {
  return field(1, tag) + field(8, proto);
}

const std::string kEventPath = "logs/validation/events.out.tfevents.1.host";

TEST(TensorBoardFile, ReadsScalarsOfBothKinds) {
  std::string double_content;
  put_little(double_content, std::bit_cast<uint64_t>(0.75), 8);
  const std::string bytes =
      record(field(3, "brain.Event:2")) + record(event(1, simple("loss", 0.5f))) +
      record(event(300, simple("loss", 0.25f))) +
      record(event(2, tensor("epoch_accuracy",
                             number_field(1, 1) + field(2, "") + field(4, float_bytes(1.5f))))) +
      record(event(3, tensor("listed", number_field(1, 1) + field(5, float_bytes(2.5f))))) +
      record(event(4, tensor("double", number_field(1, 2) + field(4, double_content)))) +
      record(event(5, tensor("count", number_field(1, 9) + number_field(10, 7)))) +
      record(event(6, tensor("packed", number_field(1, 3) + field(7, "\x09")))) +
      record(event(7, tensor("words", number_field(1, 7) + field(8, "text")))) +
      record(event(8, tensor("vector", number_field(1, 1) + field(2, field(2, "\x08\x01")) +
                                           field(5, float_bytes(1)))));
  const FileFacts facts = read(kEventPath, bytes);
  EXPECT_THAT(curves(facts),
              ElementsAre("loss@validation=1:0.5,300:0.25", "epoch_accuracy@validation=2:1.5",
                          "listed@validation=3:2.5", "double@validation=4:0.75",
                          "count@validation=5:7", "packed@validation=6:9"));
  EXPECT_THAT(facts.warnings(), IsEmpty());
}

TEST(TensorBoardFile, TornAtEveryByteKeepsWholeRecords) {
  const std::string first = record(event(1, simple("loss", 0.5f)));
  const std::string whole = first + record(event(2, simple("loss", 0.25f)));
  for (size_t length = 0; length <= whole.size(); ++length) {
    const FileFacts facts = read(kEventPath, std::string_view(whole).substr(0, length));
    const size_t points = facts.measured().empty() ? 0 : facts.measured()[0].series.points.size();
    EXPECT_EQ(points, length == whole.size() ? 2u : length >= first.size() ? 1u : 0u) << length;
    const bool between = length == 0 || length == first.size() || length == whole.size();
    EXPECT_EQ(facts.warnings().size(), between ? 0u : 1u) << length;
  }
}

TEST(TensorBoardFile, EveryDamagedByteIsNoticed) {
  const std::string first = record(event(1, simple("loss", 0.5f)));
  const std::string second = record(event(2, simple("loss", 0.25f)));
  for (size_t at = 0; at < second.size(); ++at) {
    std::string damaged = second;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const FileFacts facts = read(kEventPath, first + damaged + first);
    ASSERT_EQ(facts.warnings().size(), 1u) << at;
    EXPECT_THAT(facts.warnings()[0], HasSubstr("record at byte " + std::to_string(first.size())))
        << at;
    EXPECT_THAT(curves(facts), IsEmpty()) << at;
  }
}

TEST(TensorBoardFile, LongRecordsAreSkipped) {
  const std::string image(kEventBytesMax + 1, 'x');
  const FileFacts facts = read(kEventPath, record(image) + record(event(1, simple("loss", 0.5f))));
  EXPECT_THAT(curves(facts), ElementsAre("loss@validation=1:0.5"));
  EXPECT_THAT(facts.warnings(), IsEmpty());
}

struct Content {
  std::string path;
  std::string bytes;
};

/// Contents that two common loaders read differently, or that one of them refuses. A kind without
/// any does not compile.
std::vector<Content> read_differently(MetricFileKind kind) {
  const std::string good = record(event(1, simple("a", 0.5f)));
  std::string damaged = good;
  damaged[20] ^= 1;
  switch (kind) {
    case MetricFileKind::kNone:
      return {};
    case MetricFileKind::kJson:
      return {{"m.json", R"({"eval": {"acc": 0.1}, "eval.acc": 0.99})"},
              {"m.json", R"({"eval.acc": 0.99, "eval": {"acc": 0.1}})"},
              {"m.json", R"({"": {"acc": 0.1}, "acc": 0.99})"},
              {"m.json", R"({"rows": [{"a": 1}, {"a": 2}], "rows.a": 5})"},
              {"m.json", R"({"a": {"b": [1, 2]}, "a.b": 3})"},
              {"m.json", R"({"x": {"y": {"a": 0.1, "a": 0.99}}})"},
              {"m.json", "{\"a\": 0.1}\n{\"a\": 0.99}\n"},
              {"m.json", "{\"a\": 0.1} {\"a\": 0.99}"},
              {"m.json", "{\"a\": 0.1},"},
              {"m.json", "{\"a\": 0.1, \"b\": Inf}"},
              {"m.json", "{\"a\": 0.1, N: 1}"},
              {"m.json", "{\"a\": 1, \"b\": 0"},
              {"m.json", "\xEF\xBB\xBF{\"a\": 0.1}"},
              {"m.json", "\n\xEF\xBB\xBF{\"a\": 0.1}"},
              {"m.jsonl", "{\"a\": 0.1}\n\xEF\xBB\xBF{\"a\": 0.9}"},
              {"m.json", std::string("{\0\"\0a\0\"\0:\0001\0}\0", 14)},
              {"m.json", "{\"a\": 0.1, \"n\": \"\xff\"}"},
              {"m.json", "{\"a\": 0.1, \"n\": \"\xed\xa0\x80\"}"},
              {"m.jsonl", "{\"a\": 1}\n{\"a\": 2,\"b\n{\"a\": 3}\n"},
              {"m.jsonl", "{\"a\": 1}\n{\"a\": 12"},
              {"m.jsonl", "{\"a\": 1} {\"a\": 2}\n"},
              {"m.jsonl", "{\"a\": 1, \"a\": 2}\n{\"a\": 3}\n"},
              {"m.jsonl", "{\"e\": {\"a\": 1}}\n{\"e.a\": 2}\n"},
              {"m.jsonl", "{\"a\": 1}\n" + std::string(kMetricLineBytesMax + 1, ' ') + "\n"}};
    case MetricFileKind::kCsv:
      return {{"m.csv", "a,b,a\n1,2,3\n"},
              {"m.csv", "a\rb\n1\n"},
              {"m.csv", "a,\"b\rc\"\n1,2\n"},
              {"m.csv", "a\n1\r2\n"},
              {"m.csv", "a\n1\n0.5,0.99\n"},
              {"m.csv", "a,b\n1,2,\n"},
              {"m.csv", "a\n1\n\"2\n"},
              {"m.csv", "\"a\n1\n"},
              {"m.csv",
               "\xEF\xBB\xBF"
               "a,b\n1,2\n"},
              {"m.csv", "a,b\n1,\xe9\n"},
              {"m.csv", std::string("a,b\n1,\0\n", 9)},
              {"m.csv", "a\n1\n" + std::string(kMetricLineBytesMax + 1, '2') + "\n"}};
    case MetricFileKind::kTsv:
      return {{"m.tsv", "a\ta\n1\t2\n"}, {"m.tsv", "a\n1\n2\t3\n"}, {"m.tsv", "a\n1\n\"2"}};
    case MetricFileKind::kYaml:
      return {{"m.yaml", "eval: {acc: 0.1}\neval.acc: 0.99\n"},
              {"m.yaml", "a: 0.1\n---\na: 0.99\n"},
              {"m.yaml", "a: 0.1\n---\n"},
              {"m.yaml", "a: 0.1\n...\na: 0.99\n"},
              {"m.yaml", "a: 0.1\nb: {c: 2"},
              {"m.yaml", "a: 0.1\n]\na: 0.99\n"},
              {"m.yaml", "a: 0.1\n\"a\": 0.99\n"},
              {"m.yaml", "x: [{y: {a: 1, a: 2}}]\n"},
              {"m.yaml", "1: 0.1\n1.0: 0.99\n"},
              {"m.yaml", "1: 0.1\n\"1\": 0.99\n"},
              {"m.yaml", "yes: 0.1\ntrue: 0.99\n"},
              {"m.yaml", "~: {a: 0.1}\n"},
              {"m.yaml", "? [a, b]\n: 1\na: 2\n"},
              {"m.yaml", "? {c: 2}\n: {d: 3}\n"},
              {"m.yaml", "x: &x {step: 2, a: 0.99}\nr: [{step: 1, a: 0.1}, *x]\n"},
              {"m.yaml", "a: &x 0.99\n"},
              {"m.yaml", "r: [{&a: 0.99}]\nb: 1\n"},
              {"m.yaml", "<<: {a: 0.99}\nb: 1\n"},
              {"m.yaml", "b: 1\na: =\n"},
              {"m.yaml", "a: 0.1\n%YAML 1.2\n"},
              {"m.yaml", "b: 1\na:\t0.1\n"},
              {"m.yaml", "b: 1\ra: 0.1\n"},
              {"m.yaml", "b: 1\n# \u0085a: 0.1\n"},
              {"m.yaml", "b: 1\n# \u2028a: 0.1\n"},
              {"m.yaml", "b: 1\n# \u2029a: 0.1\n"},
              {"m.yaml", "b: 1\n\ufeffa: 0.1\n"},
              {"m.yaml", "a: !{b: 1}\n"},
              {"m.yaml", "a: !!int \"7\"\n"},
              {"m.yaml", "a: !other 0.5\n"},
              {"m.yaml", "a: !!set {b}\n"},
              {"m.yaml", "a: 010\n"},
              {"m.yaml", "a: 0x1F\n"},
              {"m.yaml", "a: -0b11\n"},
              {"m.yaml", "a: 0o17\n"},
              {"m.yaml", "a: 1_000\n"},
              {"m.yaml", "a: 1_0.5e+3\n"},
              {"m.yaml", "a: 1:30\n"},
              {"m.yaml", "0x1: 0.5\n"},
              {"m.yaml",
               "\xEF\xBB\xBF"
               "a: 0.1\n"},
              {"m.yaml", std::string("\xFF\xFE"
                                     "a\0:\0 \0001\0",
                                     10)},
              {"m.yaml", "a: 0.1\nb: \xff\n"},
              {"m.yaml", "a: 1\n" + std::string(kYamlBytesMax, ' ')}};
    case MetricFileKind::kMlflowMetric:
      return {{"metrics/a", "1700 0.5 0\n1700 0.2\n1701 x 1\n"},
              {"metrics/a", "1700 0.5 0\n\n1701 0.6 1\n"},
              {"metrics/a", "1700 0.5 0 data\n"},
              {"metrics/a", "1700 0.5 0\n1.5 0.9 1\n"},
              {"metrics/a", "1700 0.5  0\n"},
              {"metrics/a", "1700 0.5 0\n1701 0.9 1 d x\r1702\n"},
              {"metrics/a", "1700 0.5 1\n1700 0.9 1\n"},
              {"mlruns/0/r/metrics/a", "1700 0.5 1\n1701 NaN 1\n1701 0.9 1\n"},
              {"metrics/a",
               "\xEF\xBB\xBF"
               "1700 0.5 1\n"},
              {"metrics/a", "1700 0.5 1 d \xff\n"}};
    case MetricFileKind::kMlflowParam:
      return {{"mlruns/0/r/params/lr",
               "\xEF\xBB\xBF"
               "0.1"},
              {"mlruns/0/r/params/lr", "\xff"}};
    case MetricFileKind::kTensorBoard:
      return {{kEventPath, good + damaged + good},
              {kEventPath, good + record("\x0a") + good},
              {kEventPath, good + std::string(40, 'x')}};
  }
  return {};
}

TEST(MetricFile, ThatLoadersReadDifferentlyCountsForNothing) {
  for (auto kind = MetricFileKind::kNone; kind <= MetricFileKind::kTensorBoard;
       kind = static_cast<MetricFileKind>(static_cast<int>(kind) + 1)) {
    for (const auto& [path, bytes] : read_differently(kind)) {
      EXPECT_EQ(metric_file_kind(path), kind) << path;
      const FileFacts facts = read(path, bytes);
      const std::string shown = bytes.substr(0, 60);
      EXPECT_THAT(values(facts), IsEmpty()) << path << ": " << shown;
      EXPECT_THAT(facts.params(), IsEmpty()) << path << ": " << shown;
      EXPECT_THAT(facts.warnings(), ElementsAre(HasSubstr(": the file counts for nothing")))
          << path << ": " << shown;
    }
  }
}

TEST(MetricFile, CharactersOfAnyWidthMayMeetTheEndOfAChunk) {
  for (const std::string character : {"a", "\u00e9", "\u20ac", "\U0001F600"}) {
    for (size_t before = 65530; before < 65540; ++before) {
      const std::string text = "{\"n\": \"" + std::string(before, 'x') + character + character +
                               std::string(70'000, 'y') + "\", \"a\": 1}";
      EXPECT_THAT(values(read("m.json", text)), ElementsAre("a=1")) << before << character;
    }
  }
}

TEST(YamlFile, PlainTextThatLooksLikeANumberIsText) {
  const FileFacts facts = read("m.yaml",
                               "a: 1\nday: 2024-01-01\nrun: 2024-01-01_12-00-00\nsha: 0b1f33\n"
                               "name: 10_epochs\nquoted: '010'\nseven: 07\nversion: 1.2.3\n");
  EXPECT_THAT(values(facts), ElementsAre("a=1", "quoted=10", "seven=7"));
  EXPECT_THAT(facts.warnings(), IsEmpty());
}

TEST(TensorBoardFile, SummariesOfOneEventAreMerged) {
  const std::string both = number_field(2, 1) + field(5, field(1, simple("a", 0.5f))) +
                           field(5, field(1, simple("b", 0.25f)));
  EXPECT_THAT(values(read(kEventPath, record(both))), ElementsAre("a=0.5", "b=0.25"));
}

TEST(MetricFile, AMillionPointsAreKeptAndTheLastValueCounts) {
  std::string lines;
  for (size_t i = 0; i < kPointsPerSeriesMax + 10; ++i) {
    lines += "1 " + std::to_string(i) + " " + std::to_string(i) + "\n";
  }
  const FileFacts facts = read("mlruns/0/a/metrics/loss", lines);
  ASSERT_EQ(facts.measured().size(), 1u);
  EXPECT_EQ(facts.measured()[0].series.points.size(), kPointsPerSeriesMax);
  EXPECT_EQ(facts.measured()[0].last, static_cast<double>(kPointsPerSeriesMax + 9));
  EXPECT_THAT(facts.warnings(), ElementsAre(HasSubstr("too many points")));
}

TEST(MetricFile, IsReadUpToItsLimit) {
  uint64_t given = 0;
  ByteSource source(
      [&](std::span<char> out) {
        for (char& c : out) c = (given++ % 16) == 15 ? '\n' : '1';
        return out.size();
      },
      1'000'000);
  FileFacts facts("metrics/endless.csv");
  read_metric_file(MetricFileKind::kCsv, source, facts);
  EXPECT_THAT(values(facts), IsEmpty());
  EXPECT_THAT(facts.warnings(), ::testing::Contains(HasSubstr("counts for nothing")));
  EXPECT_LT(given, 1'200'000u);
}

TEST(MetricFile, TooManyNamesAreAWarning) {
  std::string json = "{";
  for (size_t i = 0; i <= kSeriesPerFileMax + 5; ++i) json += "\"m" + std::to_string(i) + "\":1,";
  json += "\"" + std::string(300, 'x') + "\":1}";
  const FileFacts facts = read("m.json", json);
  EXPECT_EQ(facts.measured().size(), kSeriesPerFileMax);
  EXPECT_EQ(facts.warnings().size(), 2u);
}

TEST(Series, RoundTrip) {
  const std::vector<Point> points = {
      {0, 0.1}, {INT64_MAX, -0.0}, {INT64_MIN, std::nan("")}, {5, HUGE_VAL}};
  const std::vector<Point> read = decode_points(encode_points(points.data(), points.size()));
  ASSERT_EQ(read.size(), points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(read[i].step, points[i].step);
    EXPECT_EQ(std::bit_cast<uint64_t>(read[i].value), std::bit_cast<uint64_t>(points[i].value));
  }
}

}  // namespace
}  // namespace tarn

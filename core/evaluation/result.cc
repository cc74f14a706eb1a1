#include "core/evaluation/result.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/wire.h"
#include "core/metrics/metric.h"

namespace tarn::evaluation {
namespace {

using Json = nlohmann::json;

struct Example {
  std::string id;
  std::vector<double> values;  ///< by the names of the first line
  std::set<std::string> slices;
};

/// Reads lines; every line is checked against the first.
class ResultReader {
 public:
  void read(std::string_view line) {
    ++number_;
    if (trimmed(line).empty()) return;
    if (examples_.size() == kExamplesMax)
      fail(str_cat("is one more than ", kExamplesMax, " examples"));
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) fail("is no JSON object");
    for (const auto& [key, value] : json.items()) {
      if (key != "id" && key != "values" && key != "slices")
        fail(str_cat("has an unknown member \"", key, "\""));
    }
    Example& example = examples_.emplace_back();
    example.id = text_of(json, "id", kExampleIdBytesMax);
    read_values(json, example);
    if (const auto slices = json.find("slices"); slices != json.end())
      read_slices(*slices, example);
  }

  Result take() {
    if (examples_.empty()) fail("there is no example");
    std::sort(examples_.begin(), examples_.end(),
              [](const Example& a, const Example& b) { return a.id < b.id; });
    const auto twice =
        std::adjacent_find(examples_.begin(), examples_.end(),
                           [](const Example& a, const Example& b) { return a.id == b.id; });
    if (twice != examples_.end()) fail(str_cat("example \"", twice->id, "\" is there twice"));
    Result out;
    out.examples = examples_.size();
    std::string digested;
    std::set<std::string> slices;
    for (const Example& example : examples_) {
      put_bytes(out.ids, example.id);
      put_bytes(digested, example.id);
      put_varint(digested, example.slices.size());
      for (const std::string& slice : example.slices) put_bytes(digested, slice);
      slices.insert(example.slices.begin(), example.slices.end());
    }
    out.digest = sha256(digested);
    for (size_t m = 0; m < names_.size(); ++m) {
      add(m, "", out);
      for (const std::string& slice : slices) add(m, slice, out);
    }
    return out;
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw Error(ErrorCode::kInvalidArgument, reason::kEvaluationInvalid,
                str_cat("result, line ", number_, ": ", why));
  }

  std::string text_of(const Json& json, const char* member, size_t most) const {
    const auto at = json.find(member);
    if (at == json.end() || !at->is_string()) fail(str_cat("\"", member, "\" must be a text"));
    std::string text = at->get<std::string>();
    if (text.empty() || text.size() > most)
      fail(str_cat("\"", member, "\" must have 1 to ", most, " bytes"));
    return text;
  }

  void read_values(const Json& json, Example& example) {
    const auto values = json.find("values");
    if (values == json.end() || !values->is_object() || values->empty())
      fail("\"values\" must be a map of numbers");
    if (names_.empty()) {
      for (const auto& [name, value] : values->items()) {
        if (name.empty() || name.size() > kMetricNameBytesMax || trimmed(name) != name)
          fail(str_cat("\"", name, "\" is no name of a metric"));
        names_.push_back(name);
      }
      if (names_.size() > kResultMetricsMax)
        fail(str_cat("has more than ", kResultMetricsMax, " values"));
    }
    if (values->size() != names_.size()) fail("has other names of values than the first line");
    for (const std::string& name : names_) {
      const auto value = values->find(name);
      if (value == values->end())
        fail(str_cat("has no value of \"", name, "\", as the first line has"));
      if (!value->is_number() || !std::isfinite(value->get<double>()))
        fail(str_cat("\"", name, "\" must be a finite number"));
      example.values.push_back(value->get<double>());
      count();
    }
  }

  void read_slices(const Json& slices, Example& example) {
    if (!slices.is_array() || slices.size() > kSlicesOfExampleMax)
      fail(str_cat("\"slices\" must be a list of at most ", kSlicesOfExampleMax));
    for (const Json& slice : slices) {
      if (!slice.is_string()) fail("a slice must be a text");
      const std::string name = slice.get<std::string>();
      const bool plain =
          std::all_of(name.begin(), name.end(), [](char c) { return is_word(c) || c == '-'; });
      if (name.empty() || name.size() > kSliceNameBytesMax || !plain)
        fail(str_cat("slice \"", name,
                     "\" must be letters, digits, underscores and hyphens, at most ",
                     kSliceNameBytesMax));
      if (!example.slices.insert(name).second) continue;
      slices_.insert(name);
      if (slices_.size() > kResultSlicesMax)
        fail(str_cat("is of more than ", kResultSlicesMax, " slices"));
      for (size_t i = 0; i < names_.size(); ++i) count();
    }
  }

  void count() {
    if (++numbers_ > kResultNumbersMax)
      fail(str_cat("there are more than ", kResultNumbersMax, " numbers of metrics and slices"));
  }

  void add(size_t m, const std::string& slice, Result& out) const {
    ResultValues& values = out.values.emplace_back();
    for (const Example& example : examples_) {
      if (slice.empty() || example.slices.contains(slice))
        values.numbers.push_back(example.values[m]);
    }
    // Scaled first: a sum of great values must not overflow.
    const double n = static_cast<double>(values.numbers.size());
    double mean = 0;
    for (const double number : values.numbers) mean += number / n;
    if (std::all_of(values.numbers.begin(), values.numbers.end(),
                    [](double v) { return v == 0 || v == 1; }))
      mean = static_cast<double>(std::count(values.numbers.begin(), values.numbers.end(), 1.0)) / n;
    values.mean = {.metric = names_[m], .slice = slice, .mean = mean, .n = values.numbers.size()};
  }

  size_t number_ = 0;
  std::vector<std::string> names_;
  std::vector<Example> examples_;
  std::set<std::string> slices_;
  size_t numbers_ = 0;
};

}  // namespace

Result parse_result(std::string_view lines) {
  if (lines.size() > kResultBytesMax) {
    throw Error(ErrorCode::kInvalidArgument, reason::kEvaluationInvalid,
                str_cat("result: is larger than ", kResultBytesMax, " bytes"));
  }
  ResultReader reader;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    reader.read(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return reader.take();
}

std::vector<std::string> ids_from(std::string_view bytes) {
  std::vector<std::string> out;
  WireReader reader(bytes, "ids of examples");
  while (!reader.done()) out.emplace_back(reader.bytes());
  return out;
}

std::string metric_name(const Mean& mean) {
  return mean.slice.empty() ? mean.metric : str_cat("slice.", mean.slice, ".", mean.metric);
}

}  // namespace tarn::evaluation

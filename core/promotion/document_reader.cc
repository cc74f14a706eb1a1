#include "core/promotion/document_reader.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/quantity.h"
#include "core/base/text.h"

namespace tarn::promotion {
namespace {

/// Maximum length of a quoted wrong value.
constexpr size_t kShownBytesMax = 60;

constexpr Unit kCounts[] = {{"", 1}};
constexpr Unit kSizes[] = {
    {"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", uint64_t{1} << 40}};
constexpr Unit kTimes[] = {{"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};

std::string shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return str_cat("\"", std::string_view(node.text).substr(0, kShownBytesMax), "\"");
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  check_failed("YamlNode::Kind", __FILE__, __LINE__);
}

bool is_plain(const YamlNode& node) { return node.kind == YamlNode::Kind::kScalar && !node.quoted; }

bool is_flag(std::string_view text) { return text == "true" || text == "false"; }

}  // namespace

void DocumentReader::complain(const YamlNode& at, std::string_view path, std::string_view why) {
  problems_.push_back(str_cat(at.place(), ": ", path, ": ", why));
}

void DocumentReader::expected(const YamlNode& at, std::string_view path, std::string_view what) {
  complain(at, path, str_cat("expected ", what, ", found ", shown(at)));
}

std::string DocumentReader::problems() const {
  std::string out;
  for (size_t i = 0; i < problems_.size() && i < kDocumentProblemsMax; ++i) {
    out += str_cat(i == 0 ? "" : "; ", problems_[i]);
  }
  if (problems_.size() > kDocumentProblemsMax) {
    out += str_cat("; and ", problems_.size() - kDocumentProblemsMax, " more");
  }
  return out;
}

DocumentReader::Members DocumentReader::members_of(const YamlNode& node, const std::string& path,
                                                   const std::vector<std::string_view>& known) {
  Members out;
  if (node.kind != YamlNode::Kind::kMap) {
    expected(node, path, str_cat("a map with some of: ", joined(known, ", ")));
    return out;
  }
  for (const auto& [key, value] : node.members) {
    const auto at = std::find(known.begin(), known.end(), key.text);
    if (key.kind != YamlNode::Kind::kScalar || at == known.end()) {
      complain(key, path,
               str_cat("unknown key ", shown(key), ", expected some of: ", joined(known, ", ")));
    } else if (!out.emplace(*at, &value).second) {
      complain(key, path, str_cat("key ", shown(key), " is given twice"));
    }
  }
  return out;
}

std::optional<std::string> DocumentReader::text_at(const YamlNode& node, const std::string& path,
                                                   size_t bytes_max) {
  if (node.kind != YamlNode::Kind::kScalar || node.text.empty()) {
    expected(node, path, "text");
  } else if (is_plain(node) && (parse_number(node.text) || is_flag(node.text))) {
    complain(node, path, str_cat("expected text: write ", shown(node), " in quotes"));
  } else if (node.text.size() > bytes_max) {
    complain(node, path, str_cat("is longer than ", bytes_max, " bytes"));
  } else if (has_control(node.text)) {
    complain(node, path, "holds control characters");
  } else {
    return node.text;
  }
  return std::nullopt;
}

std::optional<Glob> DocumentReader::glob_at(const YamlNode& node, const std::string& path,
                                            size_t bytes_max) {
  const auto text = text_at(node, path, bytes_max);
  if (!text) return std::nullopt;
  if (const std::string problem = Glob::problem(*text); !problem.empty()) {
    complain(node, path, str_cat("pattern ", shown(node), ": ", problem));
    return std::nullopt;
  }
  return Glob(*text);
}

std::optional<double> DocumentReader::number_at(const YamlNode& node, const std::string& path) {
  const auto value = is_plain(node) ? parse_number(node.text) : std::nullopt;
  if (value && std::isfinite(*value)) return value;
  expected(node, path, "a finite number");
  return std::nullopt;
}

std::optional<uint32_t> DocumentReader::count_at(const YamlNode& node, const std::string& path,
                                                 uint32_t most) {
  const auto value = is_plain(node) ? parse_quantity(node.text, kCounts) : std::nullopt;
  if (value && *value <= most) return static_cast<uint32_t>(*value);
  expected(node, path, str_cat("a whole number from 0 to ", most));
  return std::nullopt;
}

std::optional<uint64_t> DocumentReader::size_at(const YamlNode& node, const std::string& path) {
  const auto value =
      node.kind == YamlNode::Kind::kScalar ? parse_quantity(node.text, kSizes) : std::nullopt;
  if (!value) {
    expected(node, path, "a whole number of bytes, with or without KiB, MiB, GiB or TiB");
  }
  return value;
}

std::optional<std::chrono::milliseconds> DocumentReader::time_at(const YamlNode& node,
                                                                 const std::string& path,
                                                                 std::chrono::days most) {
  const auto value =
      node.kind == YamlNode::Kind::kScalar ? parse_quantity(node.text, kTimes) : std::nullopt;
  const std::chrono::milliseconds most_ms = most;
  if (value && *value > 0 && *value <= static_cast<uint64_t>(most_ms.count())) {
    return std::chrono::milliseconds(*value);
  }
  expected(node, path, str_cat("a time such as 30m, 2h or 14d, at most ", most.count(), "d"));
  return std::nullopt;
}

bool DocumentReader::flag_at(const YamlNode& node, const std::string& path) {
  if (!is_plain(node) || !is_flag(node.text)) expected(node, path, "true or false");
  return node.text == "true";
}

}  // namespace tarn::promotion

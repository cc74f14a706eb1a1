#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/http/message.h"

namespace tarn::http {
namespace {

std::string decode(std::string_view raw) {
  std::optional<std::string> text = form_decode(raw);
  if (!text) throw_invalid(str_cat("decoding query parameter \"", raw, "\": bad percent-encoding"));
  return std::move(*text);
}

}  // namespace

Query Query::parse(std::string_view raw) {
  Query query;
  while (!raw.empty()) {
    const size_t end = raw.find('&');
    const std::string_view pair = raw.substr(0, end);
    raw = end == std::string_view::npos ? std::string_view() : raw.substr(end + 1);
    if (pair.empty()) continue;
    // Only the first '=' separates: continuation tokens end in '='.
    const size_t equals = pair.find('=');
    query.pairs_.emplace_back(
        decode(pair.substr(0, equals)),
        equals == std::string_view::npos ? std::string() : decode(pair.substr(equals + 1)));
  }
  return query;
}

const std::string* Query::find(std::string_view name) const {
  for (const auto& [key, value] : pairs_) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::vector<std::string> Query::values(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [key, value] : pairs_) {
    if (key == name) found.push_back(value);
  }
  return found;
}

}  // namespace tarn::http

#include "server/api/router.h"

#include <optional>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::api {
namespace {

constexpr size_t kMethods = 6;

bool is_parameter(std::string_view segment) { return segment.starts_with('{'); }

/// Cuts the first segment off "/a/b"; nullopt at the end.
std::optional<std::string_view> next_segment(std::string_view& path) {
  if (path.empty() || path[0] != '/') return std::nullopt;
  const size_t end = path.find('/', 1);
  const std::string_view segment = path.substr(1, end == std::string_view::npos ? end : end - 1);
  path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  return segment;
}

std::string decode_value(std::string_view name, std::string_view raw) {
  const auto fail = [&](std::string_view why) {
    throw_invalid(str_cat("parameter \"", name, "\" in path has an error: ", why));
  };
  if (raw.empty()) fail("empty value is not allowed");
  std::optional<std::string> value = percent_decode(raw);
  if (!value) fail("is not percent-encoded");
  if (value->find('\0') != std::string::npos) fail("holds a NUL byte");
  if (!is_utf8(*value)) fail("is not UTF-8");
  return *std::move(value);
}

}  // namespace

struct Router::Node {
  std::vector<std::pair<std::string_view, std::unique_ptr<Node>>> literals;
  std::unique_ptr<Node> parameter;
  std::array<const Route*, kMethods> routes{};

  Node* literal(std::string_view segment) const {
    for (const auto& [name, node] : literals) {
      if (name == segment) return node.get();
    }
    return nullptr;
  }

  Node& child(std::string_view segment) {
    if (is_parameter(segment)) {
      if (!parameter) parameter = std::make_unique<Node>();
      return *parameter;
    }
    if (Node* found = literal(segment)) return *found;
    literals.emplace_back(segment, std::make_unique<Node>());
    return *literals.back().second;
  }
};

Router::Router(std::span<const Route> routes) : root_(std::make_unique<Node>()) {
  for (const Route& route : routes) {
    Node* node = root_.get();
    std::string_view rest = route.pattern;
    while (const auto segment = next_segment(rest)) node = &node->child(*segment);
    const Route*& slot = node->routes[static_cast<size_t>(route.method)];
    TARN_CHECK(slot == nullptr);
    slot = &route;
  }
}

Router::~Router() = default;

Router::Match Router::find(Method method, std::string_view path) const {
  std::array<std::string_view, PathValues::kMax> raw;
  size_t count = 0;
  const Node* node = root_.get();
  while (const auto segment = next_segment(path)) {
    if (const Node* literal = node->literal(*segment)) {
      node = literal;
    } else if (node->parameter != nullptr && count < raw.size() &&
               !(segment->empty() && path.empty())) {
      node = node->parameter.get();
      raw[count++] = *segment;
    } else {
      return {};
    }
  }
  Match match{.route = node->routes[static_cast<size_t>(method)], .values = {}};
  if (match.route == nullptr) return match;

  std::string_view pattern = match.route->pattern;
  while (const auto segment = next_segment(pattern)) {
    if (!is_parameter(*segment)) continue;
    const std::string_view name = segment->substr(1, segment->size() - 2);
    const size_t i = match.values.count++;
    match.values.names[i] = name;
    match.values.values[i] = decode_value(name, raw[i]);
  }
  return match;
}

}  // namespace tarn::api

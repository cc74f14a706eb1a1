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

/// ":set" of "{alias}:set"; "" for a parameter without a verb.
std::string_view verb_of(std::string_view parameter) {
  return parameter.substr(parameter.find('}') + 1);
}

/// Removes the first segment of "/a/b"; nullopt at the end.
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
  using Named = std::vector<std::pair<std::string_view, std::unique_ptr<Node>>>;
  Named literals;
  Named verbs;  ///< after a parameter, with their colons
  std::unique_ptr<Node> parameter;
  std::array<const Route*, kMethods> routes{};

  static Node* find(const Named& nodes, std::string_view name) {
    for (const auto& [known, node] : nodes) {
      if (known == name) return node.get();
    }
    return nullptr;
  }
  static Node& make(Named& nodes, std::string_view name) {
    if (Node* found = find(nodes, name)) return *found;
    return *nodes.emplace_back(name, std::make_unique<Node>()).second;
  }

  Node* literal(std::string_view segment) const { return find(literals, segment); }
  /// The node of a parameter with a verb; removes the verb from `segment`.
  Node* verb(std::string_view& segment) const {
    const size_t colon = segment.rfind(':');
    if (colon == std::string_view::npos) return nullptr;
    Node* found = find(verbs, segment.substr(colon));
    if (found != nullptr) segment.remove_suffix(segment.size() - colon);
    return found;
  }

  Node& child(std::string_view segment) {
    if (!is_parameter(segment)) return make(literals, segment);
    if (const std::string_view verb = verb_of(segment); !verb.empty()) return make(verbs, verb);
    if (!parameter) parameter = std::make_unique<Node>();
    return *parameter;
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
  while (auto segment = next_segment(path)) {
    if (const Node* literal = node->literal(*segment)) {
      node = literal;
    } else if (const Node* verb = count < raw.size() ? node->verb(*segment) : nullptr) {
      node = verb;
      raw[count++] = *segment;
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
    const std::string_view name = segment->substr(1, segment->find('}') - 1);
    const size_t i = match.values.count++;
    match.values.names[i] = name;
    match.values.values[i] = decode_value(name, raw[i]);
  }
  return match;
}

}  // namespace tarn::api

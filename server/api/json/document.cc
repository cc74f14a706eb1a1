#include "server/api/json/document.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/api/json/limits.h"

namespace tarn::api::json {
namespace {

using Node = nlohmann::json;

const Node& node_of(const void* node) { return *static_cast<const Node*>(node); }

[[noreturn]] void fail_at(std::string_view pointer, std::string_view why) {
  throw_invalid(str_cat("request body has an error: ", pointer.empty() ? "/" : pointer, ": ", why));
}

/// RFC 6901: '~' and '/' in a member name.
std::string member_pointer(const std::string& parent, std::string_view name) {
  std::string out = parent + "/";
  for (char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string text_of(const Node& node, const std::string& pointer) {
  if (!node.is_string()) fail_at(pointer, "expected a string");
  std::string text = node.get<std::string>();
  if (text.find('\0') != std::string::npos) fail_at(pointer, "holds a NUL character");
  return text;
}

}  // namespace

struct Document::State {
  Node root;
};

namespace {

/// Refuses a name that comes twice in one object: the parser would keep the last, and another
/// program the first.
class UniqueNames {
 public:
  /// What the parser calls for every event; true = keep.
  bool operator()(int, Node::parse_event_t event, Node& parsed) {
    switch (event) {
      case Node::parse_event_t::object_start:
        open_.emplace_back();
        break;
      case Node::parse_event_t::object_end:
        open_.pop_back();
        break;
      case Node::parse_event_t::key: {
        const auto& name = parsed.get_ref<const std::string&>();
        if (!open_.back().insert(name).second) {
          throw_invalid(
              str_cat("request body has an error: the field \"", name, "\" is given twice"));
        }
        break;
      }
      default:
        break;
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> open_;
};

}  // namespace

size_t nesting_depth(std::string_view body, size_t limit) {
  size_t depth = 0;
  size_t deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < body.size() && deepest <= limit; ++i) {
    const char c = body[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

Document Document::parse(std::string_view body) {
  if (nesting_depth(body, kDepthMax) > kDepthMax) {
    throw_invalid(str_cat("request body has an error: nested deeper than ", kDepthMax, " levels"));
  }
  auto state = std::make_unique<State>();
  try {
    state->root = Node::parse(body.begin(), body.end(), UniqueNames());
  } catch (const Node::parse_error& error) {
    throw_invalid(str_cat("request body has an error: not JSON at byte ", error.byte));
  } catch (const Node::exception&) {
    throw_invalid("request body has an error: a number is out of range");
  }
  return Document(std::move(state));
}

Document::Document(std::unique_ptr<State> state) : state_(std::move(state)) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

Value Document::root() const { return Value(&state_->root, ""); }

void Value::fail(std::string_view why) const { fail_at(pointer_, why); }

std::string Value::text() const { return text_of(node_of(node_), pointer_); }

bool Value::boolean() const {
  if (!node_of(node_).is_boolean()) fail("expected a boolean");
  return node_of(node_).get<bool>();
}

int64_t Value::integer() const {
  const Node& node = node_of(node_);
  if (!node.is_number_integer()) fail("expected an integer");
  if (node.is_number_unsigned() && node.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    fail("the integer is out of range");
  }
  return node.get<int64_t>();
}

int64_t Value::integer(int64_t least, int64_t most) const {
  const int64_t value = integer();
  if (value < least || value > most) fail(str_cat("must be between ", least, " and ", most));
  return value;
}

std::map<std::string, std::string> Value::text_map() const {
  const Node& node = node_of(node_);
  if (!node.is_object()) fail("expected an object");
  std::map<std::string, std::string> out;
  for (const auto& [name, member] : node.items()) {
    if (name.find('\0') != std::string::npos) fail("a name holds a NUL character");
    out.emplace(name, text_of(member, member_pointer(pointer_, name)));
  }
  return out;
}

std::vector<Value> Value::items() const {
  const Node& node = node_of(node_);
  if (!node.is_array()) fail("expected an array");
  std::vector<Value> out;
  out.reserve(node.size());
  for (size_t i = 0; i < node.size(); ++i)
    out.push_back(Value(&node[i], str_cat(pointer_, "/", i)));
  return out;
}

std::vector<std::pair<std::string, Value>> Value::members() const {
  const Node& node = node_of(node_);
  if (!node.is_object()) fail("expected an object");
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& [name, member] : node.items()) {
    out.emplace_back(name, Value(&member, member_pointer(pointer_, name)));
  }
  return out;
}

std::vector<std::string> Value::texts() const {
  const Node& node = node_of(node_);
  if (!node.is_array()) fail("expected an array");
  std::vector<std::string> out;
  out.reserve(node.size());
  for (size_t i = 0; i < node.size(); ++i) {
    if (!node[i].is_string()) fail_at(str_cat(pointer_, "/", i), "expected a string");
    out.push_back(node[i].get<std::string>());
  }
  return out;
}

std::optional<Value> Value::find(std::string_view name) const {
  const Node& node = node_of(node_);
  if (!node.is_object()) fail("expected an object");
  const auto member = node.find(std::string(name));
  if (member == node.end() || member->is_null()) return std::nullopt;
  return Value(&*member, member_pointer(pointer_, name));
}

Value Value::at(std::string_view name) const {
  std::optional<Value> member = find(name);
  if (!member) fail_at(member_pointer(pointer_, name), "is missing");
  return *std::move(member);
}

std::optional<std::string> Value::find_text(std::string_view name) const {
  const std::optional<Value> member = find(name);
  return member ? std::optional(member->text()) : std::nullopt;
}

std::string Value::text_or_empty(std::string_view name) const {
  return find_text(name).value_or(std::string());
}

bool Value::flag(std::string_view name) const {
  const std::optional<Value> member = find(name);
  return member && member->boolean();
}

std::optional<std::map<std::string, std::string>> Value::find_map(std::string_view name) const {
  const std::optional<Value> member = find(name);
  return member ? std::optional(member->text_map()) : std::nullopt;
}

std::map<std::string, std::string> Value::map_or_empty(std::string_view name) const {
  return find_map(name).value_or(std::map<std::string, std::string>());
}

}  // namespace tarn::api::json

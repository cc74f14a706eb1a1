#include "server/api/json/document.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::api::json {
namespace {

using Node = nlohmann::json;

const Node& node_of(const void* node) { return *static_cast<const Node*>(node); }

[[noreturn]] void fail_at(std::string_view pointer, std::string_view why) {
  throw_invalid(str_cat("request body: ", pointer.empty() ? "/" : pointer, ": ", why));
}

/// Escapes a member name for a JSON pointer (RFC 6901: '~' and '/').
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
  if (text.size() > kTextBytesMax) {
    fail_at(pointer, str_cat("longer than ", kTextBytesMax, " bytes"));
  }
  return text;
}

const Node& array_of(const Node& node, const std::string& pointer, size_t items_max = kItemsMax) {
  if (!node.is_array()) fail_at(pointer, "expected an array");
  if (node.size() > items_max) fail_at(pointer, str_cat("more than ", items_max, " items"));
  return node;
}

}  // namespace

struct Document::State {
  Node root;
};

namespace {

/// A SAX pass that validates a body without storing it. It throws if the body is not JSON, has too
/// many values, or repeats a name in an object: parsers disagree about which of the two counts.
class Check : public nlohmann::json_sax<Node> {
 public:
  explicit Check(size_t values_max) : values_max_(values_max) {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool start_array(size_t) override { return count(); }
  bool end_array() override { return true; }

  bool start_object(size_t) override {
    names_.emplace_back();
    return count();
  }
  bool key(string_t& name) override {
    if (names_.size() == 1) field_ = member_pointer("", name);
    if (!names_.back().insert(name).second) {
      throw_invalid(str_cat("request body: the field \"", name, "\" is given twice"));
    }
    return true;
  }
  bool end_object() override {
    names_.pop_back();
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const Node::exception& error) override {
    if (dynamic_cast<const Node::parse_error*>(&error) == nullptr) {
      throw_invalid("request body: a number is out of range");
    }
    throw_invalid(str_cat("request body: not JSON at byte ", byte));
  }

 private:
  bool count() {
    if (++values_ > values_max_) fail_at(field_, str_cat("more than ", values_max_, " values"));
    return true;
  }

  const size_t values_max_;
  std::vector<std::set<std::string>> names_;  // of the open objects
  std::string field_;                         // of the outermost object, as a pointer
  size_t values_ = 0;
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

Document Document::parse(std::string_view body, size_t values_max) {
  if (nesting_depth(body, kDepthMax) > kDepthMax) {
    throw_invalid(str_cat("request body: nested deeper than ", kDepthMax, " levels"));
  }
  auto state = std::make_unique<State>();
  // Two passes: the parser's own callback rescans all earlier elements of an array at the end of
  // each, which took minutes for a body of five megabytes.
  Check check(values_max);
  Node::sax_parse(body.begin(), body.end(), &check);
  state->root = Node::parse(body.begin(), body.end());
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

double Value::number() const {
  const Node& node = node_of(node_);
  if (!node.is_number()) fail("expected a number");
  return node.get<double>();
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
  size_t bytes = 0;
  for (const auto& [name, member] : node.items()) {
    if (name.find('\0') != std::string::npos) fail("a name holds a NUL character");
    std::string text = text_of(member, member_pointer(pointer_, name));
    bytes += name.size() + text.size();
    if (bytes > kMapBytesMax) fail(str_cat("longer than ", kMapBytesMax, " bytes in all"));
    out.emplace(name, std::move(text));
  }
  return out;
}

bool Value::is_array() const { return node_of(node_).is_array(); }

std::string Value::scalar_text() const {
  const Node& node = node_of(node_);
  if (node.is_number() || node.is_boolean()) return node.dump();
  return text_of(node, pointer_);
}

std::vector<Value> Value::items() const {
  const Node& node = array_of(node_of(node_), pointer_);
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

std::vector<std::string> Value::texts(size_t items_max) const {
  const Node& node = array_of(node_of(node_), pointer_, items_max);
  std::vector<std::string> out;
  out.reserve(node.size());
  for (size_t i = 0; i < node.size(); ++i) {
    out.push_back(text_of(node[i], str_cat(pointer_, "/", i)));
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

std::optional<Value> Value::find_number(std::string_view name) const {
  const Node& node = node_of(node_);
  if (!node.is_object()) fail("expected an object");
  const auto member = node.find(std::string(name));
  if (member == node.end()) return std::nullopt;
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

#include "core/actions/action_file.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "core/actions/condition.h"
#include "core/actions/yaml_json.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/yaml_marks.h"

namespace tarn::actions {
namespace {

// Limits on the YAML of an action file, checked before a tree is made of it.

/// Validates events of the YAML parser and stores nothing.
class Checker final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { value(mark, anchor); }
  /// Never called: the parser rejects an alias without an anchor, and this class rejects anchors.
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    value(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnMapEnd() override { --depth_; }

 private:
  [[noreturn]] static void fail(const YAML::Mark& mark, std::string_view why) {
    throw_invalid(str_cat("line ", mark.line + 1, ": ", why));
  }

  void value(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      fail(mark, "anchors (&name) are not accepted, write the value out");
    }
    if (++values_ > kActionValuesMax) {
      fail(mark, str_cat("there are more than ", kActionValuesMax, " values"));
    }
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    value(mark, anchor);
    if (++depth_ > kActionNestingMax) {
      fail(mark, str_cat("is nested deeper than ", kActionNestingMax));
    }
  }

  size_t values_ = 0;
  size_t depth_ = 0;
};

/// Checks for one document without anchors and aliases, so that the parsed tree is no larger than
/// its text, with at most kActionValuesMax values nested at most kActionNestingMax deep. Throws
/// invalid_argument "line N: ..." and YAML::Exception.
void check_yaml(const std::string& text) {
  if (has_too_many_yaml_marks(text)) {
    throw_invalid(str_cat("has more than ", kYamlMarksMax, " brackets, quotes and separators"));
  }
  std::istringstream in(text);
  YAML::Parser parser(in);
  Checker checker;
  if (!parser.HandleNextDocument(checker) || parser.HandleNextDocument(checker)) {
    throw_invalid("one YAML document was expected");
  }
}

constexpr size_t kNameBytesMax = 256;

[[noreturn]] void fail(const YAML::Mark& mark, std::string_view why) {
  if (mark.is_null()) throw_invalid(std::string(why));
  throw_invalid(str_cat("line ", mark.line + 1, ": ", why));
}
[[noreturn]] void fail(const YAML::Node& node, std::string_view why) { fail(node.Mark(), why); }

bool is_action_name(std::string_view text) {
  const auto inside = [](char c) { return is_word(c) || c == '-' || c == '.' || c == ' '; };
  return text.size() >= 2 && text.size() <= kNameBytesMax && is_word(text[0]) &&
         std::all_of(text.begin(), text.end(), inside);
}

bool is_hook_id(std::string_view text) {
  const auto inside = [](char c) { return is_word(c) || c == '-'; };
  return text.size() >= 2 && text.size() <= kNameBytesMax && is_word(text[0]) &&
         !is_digit(text[0]) && std::all_of(text.begin(), text.end(), inside);
}

/// Not "quoted": with strings that would also name std::quoted.
std::string in_quotes(std::string_view text) { return str_cat("\"", text, "\""); }

/// A mapping whose keys must all be read with take(): the others are reported as unknown.
class Map {
 public:
  Map(const YAML::Node& node, std::string what) : node_(node), what_(std::move(what)) {
    if (!node.IsMap()) fail(node, str_cat(what_, ": a mapping was expected"));
    for (const auto& item : node) {
      if (!item.first.IsScalar()) fail(item.first, str_cat(what_, ": a key must be a text"));
      if (!items_.emplace(item.first.Scalar(), item.second).second) {
        fail(item.first, str_cat(what_, ": ", in_quotes(item.first.Scalar()), " is given twice"));
      }
    }
  }

  /// Undefined when absent.
  YAML::Node take(const std::string& key) {
    asked_.insert(key);
    const auto at = items_.find(key);
    return at == items_.end() ? YAML::Node(YAML::NodeType::Undefined) : at->second;
  }

  YAML::Node need(const std::string& key) {
    YAML::Node node = take(key);
    if (!node.IsDefined()) fail(node_, str_cat(what_, ": ", in_quotes(key), " is missing"));
    return node;
  }

  std::string text(const std::string& key) {
    const YAML::Node node = take(key);
    return node.IsDefined() ? text_of(node, key) : std::string();
  }

  std::string need_text(const std::string& key) {
    const YAML::Node node = need(key);
    std::string text = text_of(node, key);
    if (text.empty()) fail(node, str_cat(what_, ": ", in_quotes(key), " is empty"));
    return text;
  }

  /// A string that may contain variables.
  std::string text_of(const YAML::Node& node, std::string_view key) {
    if (!node.IsScalar()) fail(node, str_cat(what_, ": ", in_quotes(key), " must be a text"));
    check_variables(node);
    return node.Scalar();
  }

  static void check_variables(const YAML::Node& node) {
    try {
      variables_in(node.Scalar());
    } catch (const Error& error) {
      fail(node, error.message());
    }
  }

  bool flag(const std::string& key) {
    const YAML::Node node = take(key);
    if (!node.IsDefined()) return false;
    bool value = false;
    if (!YAML::convert<bool>::decode(node, value)) {
      fail(node, str_cat(what_, ": ", in_quotes(key), " must be true or false"));
    }
    return value;
  }

  const std::map<std::string, YAML::Node>& items() const { return items_; }
  const std::string& what() const { return what_; }

  void end() const {
    for (const auto& item : node_) {
      const std::string& key = item.first.Scalar();
      if (!asked_.contains(key)) {
        fail(item.first, str_cat(what_, ": ", in_quotes(key), " is not known here"));
      }
    }
  }

 private:
  const YAML::Node node_;
  const std::string what_;
  std::map<std::string, YAML::Node> items_;
  std::set<std::string> asked_;
};

/// Pairs of name and text; names may repeat. `what` is for messages.
class Pairs {
 public:
  explicit Pairs(std::string what) : what_(std::move(what)) {}

  void add(const YAML::Node& node, const std::string& name, std::string value) {
    if (pairs_.size() >= kPairsMax)
      fail(node, str_cat(what_, ": more than ", kPairsMax, " values"));
    bytes_ += name.size() + value.size();
    if (bytes_ > kPairBytesMax) {
      fail(node, str_cat(what_, ": more than ", kPairBytesMax, " bytes of names and values"));
    }
    pairs_.emplace_back(name, std::move(value));
  }
  std::vector<std::pair<std::string, std::string>> take() { return std::move(pairs_); }

 private:
  const std::string what_;
  std::vector<std::pair<std::string, std::string>> pairs_;
  size_t bytes_ = 0;
};

/// A mapping from names to a string or a list of strings.
std::vector<std::pair<std::string, std::string>> pairs_of(Map& of, const std::string& key) {
  const YAML::Node node = of.take(key);
  if (!node.IsDefined() || node.IsNull()) return {};
  Map map(node, str_cat(of.what(), ": ", key));
  Pairs out(map.what());
  for (const auto& [name, value] : map.items()) {
    if (value.IsSequence()) {
      for (const auto& item : value) out.add(item, name, map.text_of(item, name));
    } else {
      out.add(value, name, map.text_of(value, name));
    }
  }
  return out.take();
}

/// A mapping of arbitrary values as JSON.
std::string object_of(Map& of, const std::string& key) {
  const YAML::Node node = of.take(key);
  if (!node.IsDefined() || node.IsNull()) return "{}";
  if (!node.IsMap()) fail(node, str_cat(of.what(), ": ", in_quotes(key), " must be a mapping"));
  return yaml_to_json(node,
                      {.values_max = kArgumentsMax,
                       .nesting_max = kArgumentNestingMax,
                       .visit = [](const YAML::Node& scalar) { Map::check_variables(scalar); }});
}

WebhookHook webhook_of(Map& properties) {
  WebhookHook hook;
  hook.url = properties.need_text("url");
  hook.query_params = pairs_of(properties, "query_params");
  hook.headers = pairs_of(properties, "headers");
  hook.secret = properties.text("secret");
  return hook;
}

AirflowHook airflow_of(Map& properties) {
  AirflowHook hook;
  hook.url = properties.need_text("url");
  hook.dag_id = properties.need_text("dag_id");
  hook.username = properties.need_text("username");
  hook.password = properties.need_text("password");
  hook.dag_conf = object_of(properties, "dag_conf");
  hook.wait_for_dag = properties.flag("wait_for_dag");
  return hook;
}

LuaHook lua_of(const YAML::Node& node, Map& properties) {
  LuaHook hook;
  const YAML::Node script = properties.take("script");
  if (script.IsDefined()) {
    if (!script.IsScalar()) fail(script, "script: must be a text");
    hook.script = script.Scalar();  // scripts get variables through args only
  }
  hook.script_path = properties.text("script_path");
  if (hook.script.empty() == hook.script_path.empty()) {
    fail(node, str_cat(properties.what(), ": give either \"script\" or \"script_path\""));
  }
  if (!hook.script_path.empty() && !hook.script_path.starts_with(kActionFilesPrefix)) {
    // Otherwise anybody with write permission on objects could change the script.
    fail(node, str_cat(properties.what(), ": script_path must begin with ", kActionFilesPrefix,
                       ", where changing a file needs the permission fs:WriteHooks"));
  }
  hook.args = object_of(properties, "args");
  return hook;
}

std::chrono::milliseconds timeout_of(Map& properties) {
  const YAML::Node node = properties.take("timeout");
  if (!node.IsDefined()) return kHookTimeout;
  const auto timeout = node.IsScalar() ? parse_hook_duration(node.Scalar()) : std::nullopt;
  if (!timeout || timeout->count() == 0) {
    fail(node, "timeout: a time such as 30s or 1m30s was expected");
  }
  if (*timeout > kHookTimeoutMax) {
    fail(node, str_cat("timeout: at most ", kHookTimeoutMax.count() / 1000, " seconds"));
  }
  return *timeout;
}

Hook hook_of(const YAML::Node& node) {
  Map map(node, "hook");
  Hook hook;
  hook.id = map.need_text("id");
  if (!is_hook_id(hook.id)) {
    fail(map.take("id"),
         str_cat("hook id ", in_quotes(hook.id),
                 " must be 2 to 256 letters, digits, - and _, a letter or _ first"));
  }
  hook.description = map.text("description");
  if (const YAML::Node condition = map.take("if"); condition.IsDefined()) {
    // YAML parses an unquoted `!failure()` as a tag with empty text.
    if (!condition.IsScalar() || condition.Scalar().empty()) {
      fail(condition, "if: a condition was expected; one that begins with ! stands in quotes");
    }
    hook.condition = condition.Scalar();
    try {
      check_condition_text(hook.condition);
    } catch (const Error& error) {
      fail(condition, error.message());
    }
  }
  const YAML::Node type = map.need("type");
  const YAML::Node properties_node = map.need("properties");
  Map properties(properties_node, str_cat("hook ", in_quotes(hook.id), ": properties"));
  hook.timeout = timeout_of(properties);
  const std::string name = map.text_of(type, "type");
  if (name == "webhook") {
    hook.work = webhook_of(properties);
  } else if (name == "airflow") {
    hook.work = airflow_of(properties);
  } else if (name == "lua") {
    hook.work = lua_of(properties_node, properties);
  } else {
    fail(type, str_cat("hook ", in_quotes(hook.id), ": type ", in_quotes(name),
                       " is not known; there are webhook, airflow and lua"));
  }
  properties.end();
  map.end();
  return hook;
}

std::vector<Glob> globs_of(const YAML::Node& node) {
  std::vector<Glob> out;
  if (node.IsNull()) return out;
  if (!node.IsSequence()) fail(node, "branches: a list of patterns was expected");
  if (node.size() > kBranchGlobsMax) {
    fail(node, str_cat("branches: at most ", kBranchGlobsMax, " patterns"));
  }
  for (const auto& item : node) {
    if (!item.IsScalar()) fail(item, "branches: a pattern must be a text");
    const std::string problem = Glob::problem(item.Scalar());
    if (!problem.empty())
      fail(item, str_cat("branches: ", in_quotes(item.Scalar()), ": ", problem));
    out.emplace_back(item.Scalar());
  }
  return out;
}

void read_events(const YAML::Node& node, ActionFile& file) {
  Map events(node, "on");
  for (const auto& item : node) {
    const std::string& name = item.first.Scalar();
    const auto event = parse_hook_event(name);
    if (!event) fail(item.first, str_cat("on: ", in_quotes(name), " is no event"));
    std::vector<Glob> globs;
    if (!item.second.IsNull()) {
      Map filter(item.second, str_cat("on: ", name));
      const YAML::Node branches = filter.take("branches");
      if (branches.IsDefined()) {
        if (is_about_tag(*event)) fail(branches, str_cat("on: ", name, ": a tag has no branch"));
        globs = globs_of(branches);
      }
      filter.end();
    }
    file.events.emplace(*event, std::move(globs));
  }
  if (file.events.empty()) fail(node, "on: names no event");
}

void read_hooks(const YAML::Node& node, ActionFile& file) {
  if (!node.IsSequence() || node.size() == 0) fail(node, "hooks: a list of hooks was expected");
  if (node.size() > kHooksPerActionMax) {
    fail(node, str_cat("hooks: at most ", kHooksPerActionMax));
  }
  std::set<std::string> ids;
  for (const auto& item : node) {
    file.hooks.push_back(hook_of(item));
    if (!ids.insert(file.hooks.back().id).second) {
      fail(item, str_cat("hook id ", in_quotes(file.hooks.back().id), " is given twice"));
    }
  }
}

}  // namespace

std::string_view type_of(const Hook& hook) {
  constexpr std::string_view kTypes[] = {"webhook", "airflow", "lua"};
  return kTypes[hook.work.index()];
}

bool ActionFile::wants(HookEvent event, std::string_view branch) const {
  const auto at = events.find(event);
  if (at == events.end()) return false;
  return at->second.empty() ||
         std::any_of(at->second.begin(), at->second.end(),
                     [branch](const Glob& glob) { return glob.matches(branch); });
}

ActionFile parse_action_file(std::string_view text) {
  if (text.size() > kActionFileBytesMax) {
    throw_invalid(str_cat("is longer than ", kActionFileBytesMax, " bytes"));
  }
  try {
    const std::string copy(text);
    check_yaml(copy);
    Map map(YAML::Load(copy), "action");
    ActionFile file;
    const YAML::Node name = map.need("name");
    if (name.IsScalar()) file.name = name.Scalar();
    if (!is_action_name(file.name)) {
      fail(name, str_cat("name ", in_quotes(file.name),
                         " must be 2 to 256 letters, digits, spaces, - . and _, none of - . and "
                         "space first"));
    }
    file.description = map.text("description");
    read_events(map.need("on"), file);
    read_hooks(map.need("hooks"), file);
    map.end();
    return file;
  } catch (const YAML::Exception& error) {
    fail(error.mark, error.msg);
  }
}

std::optional<std::chrono::milliseconds> parse_hook_duration(std::string_view text) {
  constexpr int64_t kPartMax = 1'000'000'000;
  if (text.empty()) return std::nullopt;
  std::chrono::milliseconds sum{0};
  while (!text.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number > kPartMax) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    constexpr std::pair<std::string_view, int64_t> kUnits[] = {
        {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}};
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                    [text](const auto& u) { return text.starts_with(u.first); });
    if (unit == std::end(kUnits)) return std::nullopt;
    sum += std::chrono::milliseconds{number * unit->second};
    text.remove_prefix(unit->first.size());
  }
  return sum;
}

}  // namespace tarn::actions

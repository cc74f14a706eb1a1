// A file of `_lakefs_actions/`: its events and its hooks.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/glob.h"
#include "core/model/hook_event.h"

namespace tarn::actions {

constexpr size_t kActionFileBytesMax = 256 * 1024;
constexpr size_t kHooksPerActionMax = 100;
constexpr size_t kBranchGlobsMax = 100;
/// Values and keys of a whole file, and their deepest nesting.
constexpr size_t kActionValuesMax = 20'000;
constexpr size_t kActionNestingMax = 32;
/// Values in the `headers` or `query_params` of one hook, and their bytes. The name of a list
/// counts with each of its items, because it is kept with each.
constexpr size_t kPairsMax = 100;
constexpr size_t kPairBytesMax = 16 * 1024;
/// Values in the `args` or `dag_conf` of one hook, and their deepest nesting.
constexpr size_t kArgumentsMax = 10'000;
constexpr size_t kArgumentNestingMax = 16;
/// Only variables of the server whose names begin so can be used in hooks.
constexpr std::string_view kVariablePrefix = "LAKEFSACTION_";
/// Default timeout of a hook, and the maximum for its `timeout`.
constexpr std::chrono::milliseconds kHookTimeout{60'000};
constexpr std::chrono::milliseconds kHookTimeoutMax{600'000};

struct WebhookHook {
  std::string url;
  std::vector<std::pair<std::string, std::string>> query_params;  ///< names may repeat
  std::vector<std::pair<std::string, std::string>> headers;
  std::string secret;  ///< requests are signed with it; "" = not
};

struct AirflowHook {
  std::string url;
  std::string dag_id;
  std::string username;
  std::string password;
  std::string dag_conf = "{}";  ///< JSON object
  bool wait_for_dag = false;
};

struct LuaHook {
  std::string script;
  std::string script_path;  ///< an object of the same ref; exactly one of the two is set
  std::string args = "{}";  ///< JSON object
};

/// Texts may contain `{{ ENV.NAME }}`, which is substituted when the hook runs.
struct Hook {
  std::string id;
  std::string description;
  std::string condition;  ///< "" = success()
  std::chrono::milliseconds timeout = kHookTimeout;
  std::variant<WebhookHook, AirflowHook, LuaHook> work;
};
/// "webhook", "airflow" or "lua".
std::string_view type_of(const Hook& hook);

struct ActionFile {
  std::string name;
  std::string description;
  std::map<HookEvent, std::vector<Glob>> events;  ///< no globs = every branch
  std::vector<Hook> hooks;

  bool wants(HookEvent event, std::string_view branch) const;
};

/// Strict: unknown members are errors, and so are anchors and aliases. Throws invalid_argument
/// "line N: ...".
ActionFile parse_action_file(std::string_view text);

/// "500ms", "30s", "1m30s", "1h"; nullopt for anything else.
std::optional<std::chrono::milliseconds> parse_hook_duration(std::string_view text);

/// The names of the variables that a text refers to; throws invalid_argument for one that hooks may
/// not use or that is malformed.
std::vector<std::string> variables_in(std::string_view text);

}  // namespace tarn::actions

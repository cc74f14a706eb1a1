// regexp, strings, path, net/url.
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include "core/actions/lua/libraries.h"
#include "core/actions/lua/value.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

constexpr int64_t kRegexpMemoryBytes = 8 << 20;
constexpr std::string_view kSeparator = "/";

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexpMemoryBytes);
  return options;
}

/// A cache of compiled patterns. It is never cleared, because the process ends with the script.
const RE2& compiled(const std::string& pattern) {
  static std::map<std::string, std::unique_ptr<RE2>> known;
  std::unique_ptr<RE2>& regexp = known[pattern];
  if (!regexp) regexp = std::make_unique<RE2>(pattern, quiet());
  if (!regexp->ok()) throw_invalid(str_cat("regexp \"", pattern, "\": ", regexp->error()));
  return *regexp;
}

/// Consecutive matches, each with its groups; `count` < 0: all.
std::vector<std::vector<std::string>> matches(const RE2& regexp, const std::string& text,
                                              int64_t count) {
  std::vector<std::vector<std::string>> out;
  std::vector<re2::StringPiece> groups(static_cast<size_t>(regexp.NumberOfCapturingGroups()) + 1);
  size_t at = 0;
  while (at <= text.size() && (count < 0 || static_cast<int64_t>(out.size()) < count) &&
         regexp.Match(text, at, text.size(), RE2::UNANCHORED, groups.data(),
                      static_cast<int>(groups.size()))) {
    std::vector<std::string>& match = out.emplace_back();
    for (const re2::StringPiece& group : groups) {
      match.emplace_back(group.data() == nullptr ? "" : group.as_string());
    }
    const size_t end = static_cast<size_t>(groups[0].data() - text.data()) + groups[0].size();
    at = groups[0].empty() ? end + 1 : end;
  }
  return out;
}

/// The pattern is an upvalue. `re.find(s)` and `re:find(s)` both work.
struct Asked {
  const RE2& regexp;
  std::string text;
  int64_t count;
};
Asked asked(lua_State* state) {
  const int first = lua_istable(state, 1) ? 2 : 1;
  return {compiled(text_argument(state, lua_upvalueindex(1))), text_argument(state, first),
          integer_argument_or(state, first + 1, -1)};
}

int find(lua_State* state) {
  const Asked it = asked(state);
  const auto found = matches(it.regexp, it.text, 1);
  push(state, found.empty() ? std::string_view() : std::string_view(found[0][0]));
  return 1;
}

int find_submatch(lua_State* state) {
  const Asked it = asked(state);
  const auto found = matches(it.regexp, it.text, 1);
  push_value(state, found.empty() ? nlohmann::json::array() : nlohmann::json(found[0]));
  return 1;
}

int find_all(lua_State* state) {
  const Asked it = asked(state);
  nlohmann::json out = nlohmann::json::array();
  for (auto& match : matches(it.regexp, it.text, it.count)) out.push_back(std::move(match[0]));
  push_value(state, out);
  return 1;
}

int find_all_submatch(lua_State* state) {
  const Asked it = asked(state);
  push_value(state, nlohmann::json(matches(it.regexp, it.text, it.count)));
  return 1;
}

int compile(lua_State* state) {
  compiled(text_argument(state, 1));
  lua_createtable(state, 0, 4);
  for (const Named& named : {Named{"find", &guarded<find>},
                             {"find_all", &guarded<find_all>},
                             {"find_submatch", &guarded<find_submatch>},
                             {"find_all_submatch", &guarded<find_all_submatch>}}) {
    lua_pushvalue(state, 1);
    lua_pushcclosure(state, named.function, 1);
    lua_setfield(state, -2, named.name);
  }
  return 1;
}

int match(lua_State* state) {
  const RE2& regexp = compiled(text_argument(state, 1));
  lua_pushboolean(state, RE2::PartialMatch(text_argument(state, 2), regexp) ? 1 : 0);
  return 1;
}

int quote_meta(lua_State* state) {
  push(state, RE2::QuoteMeta(text_argument(state, 1)));
  return 1;
}

std::vector<std::string> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string> out;
  if (separator.empty()) throw_invalid("the separator is empty");
  for (;;) {
    const size_t at = text.find(separator);
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + separator.size());
  }
}

int split(lua_State* state) {
  push_value(state, nlohmann::json(parts_of(text_argument(state, 1), text_argument(state, 2))));
  return 1;
}

int trim(lua_State* state) {
  const std::string text = text_argument(state, 1);
  constexpr std::string_view kBlanks = " \t\n\r\v\f";
  const size_t begin = text.find_first_not_of(kBlanks);
  const size_t end = text.find_last_not_of(kBlanks);
  push(state, begin == std::string::npos ? std::string_view()
                                         : std::string_view(text).substr(begin, end - begin + 1));
  return 1;
}

int replace(lua_State* state) {
  const std::string text = text_argument(state, 1);
  const std::string from = text_argument(state, 2);
  const std::string to = text_argument(state, 3);
  int64_t left = integer_argument_or(state, 4, -1);
  if (from.empty()) throw_invalid("argument 2: is empty");
  std::string out;
  size_t at = 0;
  for (size_t found; left != 0 && (found = text.find(from, at)) != std::string::npos; --left) {
    out.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  push(state, out.append(text, at));
  return 1;
}

int has_prefix(lua_State* state) {
  lua_pushboolean(state, text_argument(state, 1).starts_with(text_argument(state, 2)) ? 1 : 0);
  return 1;
}

int has_suffix(lua_State* state) {
  lua_pushboolean(state, text_argument(state, 1).ends_with(text_argument(state, 2)) ? 1 : 0);
  return 1;
}

int contains(lua_State* state) {
  const bool found = text_argument(state, 1).find(text_argument(state, 2)) != std::string::npos;
  lua_pushboolean(state, found ? 1 : 0);
  return 1;
}

int parse_path(lua_State* state) {
  std::string path = text_argument(state, 1);
  const std::string separator = text_argument_or(state, 2, kSeparator);
  if (!separator.empty() && path.ends_with(separator)) path.resize(path.size() - separator.size());
  const size_t at = path.rfind(separator);
  const bool deeper = at != std::string::npos && !separator.empty();
  push_value(state,
             nlohmann::json{{"parent", deeper ? path.substr(0, at + separator.size()) : ""},
                            {"base_name", deeper ? path.substr(at + separator.size()) : path}});
  return 1;
}

/// Joins the parts with single separators; a leading and a trailing one are kept.
int join_path(lua_State* state) {
  const std::string separator = text_argument(state, 1);
  std::string out;
  for (int i = 2; i <= lua_gettop(state); ++i) {
    std::string part = text_argument(state, i);
    if (i > 2 && part.starts_with(separator)) part.erase(0, separator.size());
    out += part;
    if (i < lua_gettop(state) && !part.ends_with(separator)) out += separator;
  }
  push(state, out);
  return 1;
}

int is_hidden(lua_State* state) {
  const std::string path = text_argument(state, 1);
  const std::string prefix = text_argument_or(state, 3, "_");
  bool hidden = false;
  for (const std::string& part : parts_of(path, text_argument_or(state, 2, kSeparator))) {
    hidden |= part.starts_with(prefix);
  }
  lua_pushboolean(state, hidden ? 1 : 0);
  return 1;
}

int default_separator(lua_State* state) {
  push(state, kSeparator);
  return 1;
}

int parse_url(lua_State* state) {
  const std::string text = text_argument(state, 1);
  static const RE2 kUrl(
      "(?s)(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\\?([^#]*))?(?:#(.*))?");
  std::string scheme;
  std::string host;
  std::string path;
  std::string query;
  std::string fragment;
  RE2::FullMatch(text, kUrl, &scheme, &host, &path, &query, &fragment);
  const auto decoded_path = percent_decode(path);
  if (!decoded_path)
    throw_invalid(str_cat("url \"", text, "\": a % is not followed by two digits"));
  push_value(state, nlohmann::json{{"scheme", scheme},
                                   {"host", host.substr(host.find('@') + 1)},
                                   {"path", *decoded_path},
                                   {"rawPath", path},
                                   {"rawQuery", query},
                                   {"query", query},
                                   {"fragment", fragment}});
  return 1;
}

int query_escape(lua_State* state) {
  push(state, percent_encode(text_argument(state, 1)));
  return 1;
}

/// nil for text that is not valid percent-encoding.
template <std::optional<std::string> (*decode)(std::string_view)>
int unescape(lua_State* state) {
  const auto text = decode(text_argument(state, 1));
  if (text) {
    push(state, *text);
  } else {
    lua_pushnil(state);
  }
  return 1;
}

int build_url(lua_State* state) {
  const std::string scheme = text_argument(state, 1);
  const std::string host = text_argument(state, 2);
  const std::string path = percent_encode(text_argument_or(state, 3, ""), /*keep_slash=*/true);
  push(state, str_cat(scheme, "://", host, path.empty() || path[0] == '/' ? "" : "/", path));
  return 1;
}

}  // namespace

void push_regexp(lua_State* state) {
  push_library(state, {{"compile", &guarded<compile>},
                       {"match", &guarded<match>},
                       {"quote_meta", &guarded<quote_meta>}});
}

void push_strings(lua_State* state) {
  push_library(state, {{"split", &guarded<split>},
                       {"trim", &guarded<trim>},
                       {"replace", &guarded<replace>},
                       {"has_prefix", &guarded<has_prefix>},
                       {"has_suffix", &guarded<has_suffix>},
                       {"contains", &guarded<contains>}});
}

void push_path(lua_State* state) {
  push_library(state, {{"parse", &guarded<parse_path>},
                       {"join", &guarded<join_path>},
                       {"is_hidden", &guarded<is_hidden>},
                       {"default_separator", &guarded<default_separator>}});
}

void push_url(lua_State* state) {
  push_library(state, {{"parse", &guarded<parse_url>},
                       {"query_escape", &guarded<query_escape>},
                       {"query_unescape", &guarded<unescape<form_decode>>},
                       {"path_unescape", &guarded<unescape<percent_decode>>},
                       {"build_url", &guarded<build_url>}});
}

}  // namespace tarn::actions::lua

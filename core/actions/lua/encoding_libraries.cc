// encoding/json, encoding/yaml, encoding/base64, encoding/hex, encoding/z85enc.
#include <array>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "core/actions/lua/libraries.h"
#include "core/actions/lua/value.h"
#include "core/actions/yaml_json.h"
#include "core/base/encoding.h"
#include "core/base/error.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

constexpr size_t kYamlValuesMax = 1'000'000;
constexpr std::string_view kZ85 =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

template <std::string (*encode)(std::string_view)>
int encoded(lua_State* state) {
  push(state, encode(text_argument(state, 1)));
  return 1;
}

template <std::optional<std::string> (*decode)(std::string_view)>
int decoded(lua_State* state) {
  const auto bytes = decode(text_argument(state, 1));
  if (!bytes) throw_invalid("argument 1: is not in this encoding");
  push(state, *bytes);
  return 1;
}

int json_marshal(lua_State* state) {
  push(state, json_at(state, 1).dump(-1, ' ', false, Json::error_handler_t::replace));
  return 1;
}

/// Rejects deep nesting while parsing, so that the parser's stack is bounded.
int json_unmarshal(lua_State* state) {
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kNestingMax) throw_invalid("JSON is nested too deeply");
    return true;
  };
  push_value(state, Json::parse(text_argument(state, 1), shallow));
  return 1;
}

void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, item);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const Json& item : value) emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    // Quote text that a YAML reader would parse as another type.
    const std::string read = yaml_to_json(YAML::Node(text), {});
    const bool plain = Json::parse(read).is_string();
    if (!plain) out << YAML::DoubleQuoted;
    out << text;
  } else {
    out << value.dump();
  }
}

int yaml_marshal(lua_State* state) {
  YAML::Emitter out;
  emit(out, json_at(state, 1));
  push(state, std::string(out.c_str()) + "\n");
  return 1;
}

int yaml_unmarshal(lua_State* state) {
  const YAML::Node node = YAML::Load(text_argument(state, 1));
  push_value(state,
             Json::parse(yaml_to_json(
                 node, {.values_max = kYamlValuesMax, .nesting_max = kNestingMax, .visit = {}})));
  return 1;
}

/// ZeroMQ's RFC 32: encodes 4 bytes as 5 characters.
std::string z85_encode(std::string_view bytes) {
  if (bytes.size() % 4 != 0) throw_invalid("z85: the length must be a multiple of 4");
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 4) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
    for (uint32_t power : {52200625u, 614125u, 7225u, 85u, 1u}) {
      out.push_back(kZ85[value / power % 85]);
    }
  }
  return out;
}

std::optional<std::string> z85_decode(std::string_view text) {
  if (text.size() % 5 != 0) return std::nullopt;
  std::string out;
  for (size_t at = 0; at < text.size(); at += 5) {
    uint64_t value = 0;
    for (size_t i = 0; i < 5; ++i) {
      const size_t digit = kZ85.find(text[at + i]);
      if (digit == std::string_view::npos) return std::nullopt;
      value = value * 85 + digit;
    }
    if (value > UINT32_MAX) return std::nullopt;
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  }
  return out;
}

}  // namespace

void push_json(lua_State* state) {
  push_library(state,
               {{"marshal", &guarded<json_marshal>}, {"unmarshal", &guarded<json_unmarshal>}});
}

void push_yaml(lua_State* state) {
  push_library(state,
               {{"marshal", &guarded<yaml_marshal>}, {"unmarshal", &guarded<yaml_unmarshal>}});
}

void push_base64(lua_State* state) {
  push_library(state, {{"encode", &guarded<encoded<to_base64>>},
                       {"decode", &guarded<decoded<from_base64>>},
                       {"url_encode", &guarded<encoded<to_base64url>>},
                       {"url_decode", &guarded<decoded<from_base64url>>}});
}

void push_hex(lua_State* state) {
  push_library(state,
               {{"encode", &guarded<encoded<to_hex>>}, {"decode", &guarded<decoded<from_hex>>}});
}

void push_z85(lua_State* state) {
  push_library(state, {{"encode", &guarded<encoded<z85_encode>>},
                       {"decode", &guarded<decoded<z85_decode>>}});
}

}  // namespace tarn::actions::lua

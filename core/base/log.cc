#include "core/base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "core/base/text.h"
#include "core/base/time.h"

namespace tarn::log {
namespace {

struct State {
  std::shared_ptr<spdlog::logger> logger = [] {
    auto made =
        std::make_shared<spdlog::logger>("tarn", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::debug);
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  std::atomic<Level> least{Level::kInfo};
  std::atomic<Format> format{Format::kText};
};

State& state() {
  static State instance;
  return instance;
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarn:
      return "warn";
    case Level::kError:
      return "error";
  }
  return "error";
}

/// JSON's escapes, also in the text format, so that a value never breaks a line.
void append_escaped(std::string& out, std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  size_t plain = 0;  // where the characters begin that need no escape
  for (size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c != '"' && c != '\\' && !is_control(c)) continue;
    out.append(value.substr(plain, i - plain));
    plain = i + 1;
    out.push_back('\\');
    if (is_control(c)) {
      out += "u00";
      out.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out.push_back(kHex[static_cast<unsigned char>(c) & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.append(value.substr(plain));
}

bool needs_quotes(std::string_view value) {
  return value.empty() || std::any_of(value.begin(), value.end(), [](char c) {
           return c == ' ' || c == '"' || c == '=' || c == '\\' || c == '\0' || c == '\t' ||
                  c == '\n' || c == '\r';
         });
}

std::string text_line(Level level, std::string_view event, std::initializer_list<Field> fields) {
  std::string out = to_rfc3339(SystemClock().now());
  out += ' ';
  out += name_of(level);
  out += ' ';
  out += event;
  for (const Field& field : fields) {
    out += ' ';
    out += field.key;
    out += '=';
    const bool quotes = !field.is_number && needs_quotes(field.value);
    if (quotes) out += '"';
    append_escaped(out, field.value);
    if (quotes) out += '"';
  }
  return out;
}

std::string json_line(Level level, std::string_view event, std::initializer_list<Field> fields) {
  std::string out = "{\"time\":\"" + to_rfc3339(SystemClock().now()) + "\",\"level\":\"";
  out += name_of(level);
  out += "\",\"event\":\"";
  append_escaped(out, event);
  out += '"';
  for (const Field& field : fields) {
    out += ",\"";
    out += field.key;
    out += field.is_number ? "\":" : "\":\"";
    append_escaped(out, field.value);
    if (!field.is_number) out += '"';
  }
  out += '}';
  return out;
}

}  // namespace

Field::Field(std::string_view k, double v) : key(k), is_number(true) {
  std::array<char, 400> digits;  // enough for the largest double
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), v, std::chars_format::fixed, 3)
          .ptr;
  value.assign(digits.data(), end);
}

void configure(Level least, Format format) {
  state().least = least;
  state().format = format;
}

bool enabled(Level level) { return level >= state().least; }

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (!enabled(level)) return;
  const std::string line = state().format == Format::kJson ? json_line(level, event, fields)
                                                           : text_line(level, event, fields);
  state().logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace tarn::log

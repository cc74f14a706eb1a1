// Parses a fuzzer's bytes as a request head: method, target and "Name: value", one per line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/http/message.h"

inline std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

inline tarn::http::Request request_of(std::string_view text) {
  tarn::http::Request request;
  request.method = take_line(text);
  request.target = take_line(text);
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const size_t colon = std::min(line.find(':'), line.size());
    request.headers.add(std::string(line.substr(0, colon)),
                        std::string(line.substr(std::min(colon + 1, line.size()))));
  }
  request.body = tarn::http::empty_body();
  return request;
}

// Fixture for tests of codecs: parsing a text, and minimal values.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/model/commit.h"
#include "core/model/entry.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

constexpr std::string_view kIdOfOnes =
    "0101010101010101010101010101010101010101010101010101010101010101";

inline CommitId an_id() {
  CommitId id;
  id.bytes.fill(1);
  return id;
}

inline Entry an_entry() {
  Entry entry;
  entry.size_bytes = 5;
  entry.mtime = from_millis(1'700'000'000'999);
  entry.etag = "5d41402abc4b2a76b9719d911017c592";
  entry.content_type = "text/plain";
  return entry;
}

template <typename T>
T parsed(T (*parse)(const Value&), std::string_view body) {
  return parse(Document::parse(body).root());
}

/// The error of parsing, or "".
template <typename T>
std::string failure(T (*parse)(const Value&), std::string_view body) {
  try {
    static_cast<void>(parsed(parse, body));
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

}  // namespace tarn::api::json

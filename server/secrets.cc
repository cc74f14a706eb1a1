#include "server/secrets.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/problems.h"

namespace tarn::server {
namespace {

struct Part {
  size_t begin;
  size_t end;
};

/// The password in scheme://user:password@host, up to the last '@' before the path: one that was
/// not percent-encoded is hidden as a whole.
void add_url_password(std::string_view text, std::vector<Part>& out) {
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return;
  const size_t begin = scheme + 3;
  const size_t at = text.rfind('@');
  if (at == std::string_view::npos || at < begin) return;
  const size_t colon = text.substr(begin, at - begin).find(':');
  if (colon != std::string_view::npos) out.push_back({begin + colon + 1, at});
}

bool starts_word(std::string_view text, size_t at) {
  return at == 0 || std::string_view(" \t\n?&").find(text[at - 1]) != std::string_view::npos;
}

/// Where the value at `begin` ends: after the closing quote, or before a blank or '&'.
size_t value_end(std::string_view text, size_t begin) {
  if (begin < text.size() && text[begin] == '\'') {
    size_t at = begin + 1;
    while (at < text.size() && text[at] != '\'') at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
  }
  return std::min(text.find_first_of(" \t\n&", begin), text.size());
}

void add_named_passwords(std::string_view text, std::vector<Part>& out) {
  for (const std::string_view name : {"password", "sslpassword"}) {
    for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      if (!starts_word(text, at)) continue;
      size_t begin = text.find_first_not_of(" \t", at + name.size());
      if (begin == std::string_view::npos || text[begin] != '=') continue;
      begin = std::min(text.find_first_not_of(" \t", begin + 1), text.size());
      out.push_back({begin, value_end(text, begin)});
    }
  }
}

/// In order, not overlapping.
std::vector<Part> passwords_in(std::string_view text) {
  std::vector<Part> found;
  add_url_password(text, found);
  add_named_passwords(text, found);
  std::sort(found.begin(), found.end(),
            [](const Part& a, const Part& b) { return a.begin < b.begin; });
  std::vector<Part> out;
  for (const Part& part : found) {
    if (part.begin >= part.end) continue;
    if (!out.empty() && part.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, part.end);
    } else {
      out.push_back(part);
    }
  }
  return out;
}

}  // namespace

std::string without_passwords(std::string_view text) {
  std::string out;
  size_t shown = 0;
  for (const Part& part : passwords_in(text)) {
    out += str_cat(text.substr(shown, part.begin - shown), "***");
    shown = part.end;
  }
  return out + std::string(text.substr(shown));
}

bool hide_passwords(std::span<char* const> arguments) {
  bool any = false;
  for (char* const argument : arguments) {
    for (const Part& part : passwords_in(argument)) {
      std::fill(argument + part.begin, argument + part.end, 'x');
      any = true;
    }
  }
  return any;
}

std::string read_secret_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kSecretFileBytesMax + 1, '\0');
  if (!in || (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof())) {
    throw Error(ErrorCode::kNotFound, str_cat("the file ", path, " cannot be read"));
  }
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kSecretFileBytesMax) {
    throw_invalid(str_cat("the file ", path, " is longer than ", kSecretFileBytesMax, " bytes"));
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty()) throw_invalid(str_cat("the file ", path, " is empty"));
  return text;
}

void read_secret_files(Config& config) {
  Problems problems;
  const auto read = [&](const std::string& key, std::string& value, const std::string& file) {
    if (file.empty()) return;
    try {
      if (!value.empty()) throw_invalid(str_cat("has a value, and ", key, "_file too: remove one"));
      value = read_secret_file(file);
    } catch (const Error& error) {
      problems.add(str_cat(key, value.empty() ? "_file: " : ": ", error.message()));
    }
  };
  read("database", config.database, config.database_file);
  read("store.s3.secret_access_key", config.store_s3.secret_access_key,
       config.store_s3.secret_access_key_file);
  for (S3StoreConfig& store : config.store_s3_stores) {
    read(str_cat("store.s3_stores \"", store.name, "\".secret_access_key"), store.secret_access_key,
         store.secret_access_key_file);
  }
  problems.throw_if_any();
}

std::string secret_variable(const std::string& name, const Environment& variable) {
  if (const auto value = variable(name); value && !value->empty()) return *value;
  const auto file = variable(name + "_FILE");
  if (!file || file->empty()) return "";
  try {
    return read_secret_file(*file);
  } catch (const Error& error) {
    throw_invalid(str_cat("environment variable ", name, "_FILE: ", error.message()));
  }
}

}  // namespace tarn::server

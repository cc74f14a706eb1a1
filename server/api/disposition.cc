#include "server/api/disposition.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::api {

std::string content_disposition(std::string_view kind, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.empty()) return std::string(kind);
  std::string ascii(name);
  for (char& c : ascii) {
    const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '%';
    if (!plain) c = '_';
  }
  std::string out = str_cat(kind, "; filename=\"", ascii, '"');
  if (ascii != name && is_utf8(name)) out += str_cat("; filename*=UTF-8''", percent_encode(name));
  return out;
}

}  // namespace tarn::api

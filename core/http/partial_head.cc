#include "core/http/partial_head.h"

namespace tarn::http {
namespace {

/// The text up to the separator, which is taken from `rest` too; all of it when there is none.
std::string_view take_until(std::string_view& rest, std::string_view separator) {
  const size_t at = rest.find(separator);
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + separator.size());
  return taken;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

Request read_partial_head(std::string_view bytes) {
  while (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  Request request;
  std::string_view first = take_until(bytes, "\r\n");
  request.method = take_until(first, " ");
  request.target = take_until(first, " ");
  while (bytes.find("\r\n") != std::string_view::npos) {
    std::string_view line = take_until(bytes, "\r\n");
    if (line.empty()) break;
    const std::string_view name = take_until(line, ":");
    request.headers.add(std::string(name), std::string(without_blanks(line)));
  }
  request.body = empty_body();
  return request;
}

}  // namespace tarn::http

#include "core/http/message.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <unistd.h>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::http {
namespace {

constexpr size_t kFirstReadBytes = 4 * 1024;  // most bodies that are read whole are small JSON

class StringBody final : public BodySource {
 public:
  explicit StringBody(std::string bytes) : bytes_(std::move(bytes)) {}

  size_t read(std::span<char> out) override {
    const size_t count = std::min(out.size(), bytes_.size() - given_);
    if (count > 0) std::memcpy(out.data(), bytes_.data() + given_, count);
    given_ += count;
    return count;
  }

 private:
  std::string bytes_;
  size_t given_ = 0;
};

std::string decode(std::string_view raw) {
  std::optional<std::string> text = form_decode(raw);
  if (!text) throw_invalid(str_cat("decoding query parameter \"", raw, "\": bad percent-encoding"));
  return std::move(*text);
}

// In ascending order. Source: the IANA registry of HTTP status codes.
constexpr std::pair<int, std::string_view> kPhrases[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

}  // namespace

void Response::hold_memory(std::string_view method) {
  memory = method == "GET" ? MemoryHold(body.size()) : MemoryHold::unlimited(body.size());
}

void Headers::set(std::string_view name, std::string value) {
  remove(name);
  add(std::string(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& f) { return equal_ignoring_case(f.first, name); });
}

const std::string* Headers::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (equal_ignoring_case(field.first, name)) return &field.second;
  }
  return nullptr;
}

std::string_view Headers::get(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

size_t Headers::count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(fields_.begin(), fields_.end(), [&](const Field& f) {
    return equal_ignoring_case(f.first, name);
  }));
}

std::unique_ptr<BodySource> empty_body() { return string_body({}); }

std::unique_ptr<BodySource> string_body(std::string bytes) {
  return std::make_unique<StringBody>(std::move(bytes));
}

std::string read_all(BodySource& body, size_t limit_bytes) {
  std::string all;
  for (;;) {
    const size_t had = all.size();
    // Reads one byte past the limit, to distinguish a body of exactly the limit from a longer one.
    all.resize(had + std::min(std::max(kFirstReadBytes, had), limit_bytes - had) + 1);
    const size_t count = body.read(std::span(all).subspan(had));
    all.resize(had + count);
    if (count == 0) return all;
    if (all.size() > limit_bytes) {
      throw Error(ErrorCode::kResourceExhausted, reason::kBodyTooLarge,
                  str_cat("reading a body: longer than ", limit_bytes, " bytes"));
    }
  }
}

std::string read_document(BodySource& body, size_t limit_bytes) {
  body.end_by(std::chrono::steady_clock::now() + kDocumentTimeMax);
  return read_all(body, limit_bytes);
}

std::string_view Request::raw_path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view Request::raw_query() const {
  const size_t mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

FileSlice::~FileSlice() {
  if (fd >= 0) ::close(fd);
}

FileSlice::FileSlice(FileSlice&& other) noexcept
    : fd(std::exchange(other.fd, -1)), offset(other.offset), length(other.length) {}

FileSlice& FileSlice::operator=(FileSlice&& other) noexcept {
  std::swap(fd, other.fd);
  std::swap(offset, other.offset);
  std::swap(length, other.length);
  return *this;
}

Query Query::parse(std::string_view raw) {
  Query query;
  while (!raw.empty()) {
    const size_t end = raw.find('&');
    const std::string_view pair = raw.substr(0, end);
    raw = end == std::string_view::npos ? std::string_view() : raw.substr(end + 1);
    if (pair.empty()) continue;
    // Only the first '=' separates: continuation tokens end in '='.
    const size_t equals = pair.find('=');
    query.pairs_.emplace_back(
        decode(pair.substr(0, equals)),
        equals == std::string_view::npos ? std::string() : decode(pair.substr(equals + 1)));
  }
  return query;
}

const std::string* Query::find(std::string_view name) const {
  for (const auto& [key, value] : pairs_) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::vector<std::string> Query::values(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [key, value] : pairs_) {
    if (key == name) found.push_back(value);
  }
  return found;
}

std::string_view reason_phrase(int status) {
  const auto* found = std::lower_bound(std::begin(kPhrases), std::end(kPhrases), status,
                                       [](const auto& entry, int s) { return entry.first < s; });
  return found != std::end(kPhrases) && found->first == status ? found->second : "Unknown";
}

}  // namespace tarn::http

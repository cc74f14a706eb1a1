#include "core/http/message.h"

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::http {
namespace {

constexpr size_t kFirstReadBytes = 4 * 1024;  // most bodies read whole are small JSON

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

}  // namespace

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
    // One byte past the limit is asked for: it tells a body of exactly the limit from a longer one.
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

}  // namespace tarn::http

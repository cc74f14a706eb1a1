#include "core/tree/entry_fields.h"

#include <optional>
#include <utility>

#include "core/base/str_cat.h"
#include "core/base/wire.h"

namespace tarn::tree {
namespace {

size_t url_bytes(const EntryFields& fields) {
  return fields.external ? fields.address_head.size() + fields.address_tail.size() : 0;
}

/// The extras that say which bytes the object has.
struct BytesMarks {
  std::string_view source_version;
  std::string_view digest;
};

using ReadExtra = std::pair<uint64_t, std::string_view>;

ReadExtra read_extra(WireReader& in) {
  const uint64_t tag = in.varint();
  return {tag, in.bytes()};
}

bool is_tag(uint64_t number, ExtraTag tag) { return number == static_cast<uint64_t>(tag); }

BytesMarks marks_of(std::string_view extras) {
  BytesMarks out;
  WireReader in(extras, "entry extras");
  while (!in.done()) {
    const auto [tag, value] = read_extra(in);
    if (is_tag(tag, ExtraTag::kSourceVersion)) out.source_version = value;
    if (is_tag(tag, ExtraTag::kContentDigest)) out.digest = value;
  }
  return out;
}

/// The next extra that is an attribute of the object.
std::optional<ReadExtra> next_attribute(WireReader& in) {
  while (!in.done()) {
    const ReadExtra extra = read_extra(in);
    const bool mark = is_tag(extra.first, ExtraTag::kSourceVersion) ||
                      is_tag(extra.first, ExtraTag::kContentDigest);
    if (!mark) return extra;
  }
  return std::nullopt;
}

bool same_attributes(std::string_view a, std::string_view b) {
  if (a == b) return true;
  WireReader left(a, "entry extras");
  WireReader right(b, "entry extras");
  for (;;) {
    const auto one = next_attribute(left);
    if (one != next_attribute(right)) return false;
    if (!one) return true;
  }
}

bool same_address(const EntryFields& a, const EntryFields& b) {
  return a.external == b.external && a.address_head == b.address_head &&
         a.address_tail == b.address_tail;
}

bool compare(bool (*same)(const EntryFields&, const EntryFields&), const Entry& a, const Entry& b) {
  EntryBytes left;
  EntryBytes right;
  left.assign(a);
  right.assign(b);
  return same(left.fields(), right.fields());
}

}  // namespace

bool same_bytes(const EntryFields& a, const EntryFields& b) {
  if (a.size_bytes != b.size_bytes) return false;
  const BytesMarks left = marks_of(a.extras);
  const BytesMarks right = marks_of(b.extras);
  if (a.external || b.external) {
    return same_address(a, b) && a.etag == b.etag && left.source_version == right.source_version;
  }
  if (a.size_bytes == 0) return true;
  // Without a source version, only servers have written there, once.
  if (same_address(a, b) && (left.source_version == right.source_version ||
                             left.source_version.empty() || right.source_version.empty())) {
    return true;
  }
  return !left.digest.empty() && left.digest == right.digest;
}

bool same_content(const EntryFields& a, const EntryFields& b) {
  return a.size_bytes == b.size_bytes && a.etag == b.etag && a.content_type == b.content_type &&
         same_attributes(a.extras, b.extras) && same_bytes(a, b);
}

bool same_bytes(const Entry& a, const Entry& b) { return compare(same_bytes, a, b); }
bool same_content(const Entry& a, const Entry& b) { return compare(same_content, a, b); }

Entry to_entry(const EntryFields& fields) {
  Entry entry;
  entry.size_bytes = fields.size_bytes;
  entry.mtime = from_millis(fields.mtime_ms);
  entry.etag = decode_etag(fields.etag);
  if (fields.external) {
    entry.address = ExternalAddress{str_cat(fields.address_head, fields.address_tail)};
  } else {
    entry.address = decode_address(fields.address_tail);
  }
  entry.content_type = std::string(fields.content_type);
  entry.extras = Extras::parse(fields.extras);
  return entry;
}

size_t extra_bytes(const EntryFields& fields) {
  return fields.extras.size() + fields.content_type.size() + url_bytes(fields);
}

void EntryBytes::assign(const Entry& entry) {
  etag_.clear();
  put_etag(etag_, entry.etag);
  fields_ = EntryFields{};
  fields_.size_bytes = entry.size_bytes;
  fields_.mtime_ms = to_millis(entry.mtime);
  fields_.etag = etag_;
  fields_.content_type = entry.content_type;
  fields_.extras = entry.extras.bytes();
  if (const auto* external = std::get_if<ExternalAddress>(&entry.address)) {
    const std::string_view url = external->url;
    const size_t cut = url.rfind('/') + 1;  // npos + 1 = 0: without a slash it is all tail
    fields_.external = true;
    fields_.address_head = url.substr(0, cut);
    fields_.address_tail = url.substr(cut);
  } else {
    address_ = encode_address(entry.address);
    fields_.address_tail = address_;
  }
}

}  // namespace tarn::tree

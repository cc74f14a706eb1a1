#include "core/tree/entry_fields.h"

#include "core/base/str_cat.h"
#include "core/base/wire.h"

namespace tarn::tree {
namespace {

size_t url_bytes(const EntryFields& fields) {
  return fields.external ? fields.address_head.size() + fields.address_tail.size() : 0;
}

}  // namespace

bool same_content(const EntryFields& a, const EntryFields& b) {
  if (a.size_bytes != b.size_bytes || a.external != b.external || a.etag != b.etag ||
      a.content_type != b.content_type || a.extras != b.extras) {
    return false;
  }
  return !a.external || (a.address_head == b.address_head && a.address_tail == b.address_tail);
}

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
  entry.extras = decode_extras(fields.extras);
  return entry;
}

size_t extra_bytes(const EntryFields& fields) {
  return fields.extras.size() + fields.content_type.size() + url_bytes(fields);
}

void EntryBytes::assign(const Entry& entry) {
  etag_.clear();
  put_etag(etag_, entry.etag);
  extras_.clear();
  for (const Extra& extra : entry.extras) {
    put_varint(extras_, extra.tag);
    put_bytes(extras_, extra.value);
  }
  fields_ = EntryFields{};
  fields_.size_bytes = entry.size_bytes;
  fields_.mtime_ms = to_millis(entry.mtime);
  fields_.etag = etag_;
  fields_.content_type = entry.content_type;
  fields_.extras = extras_;
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

// An entry as the byte forms that leaves store, so that copying an entry from leaf to leaf decodes
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace tarn::tree {

/// Views into a leaf or into an EntryBytes. Every form is canonical: equal bytes if and only if
/// equal values.
struct EntryFields {
  uint64_t size_bytes = 0;
  int64_t mtime_ms = 0;
  std::string_view etag;  ///< the form of put_etag
  bool external = false;  ///< the address is a URL, cut after its last '/' into head and tail
  std::string_view address_head;  ///< empty unless external
  std::string_view address_tail;  ///< unless external, the whole form of encode_address
  std::string_view content_type;
  std::string_view extras;  ///< varint tag, varint length, bytes; ascending by tag
};

/// Whether the objects of two entries surely have the same bytes: the rule of every comparison of
/// contents (docs/format/entry.md, "Sameness"). No etag decides: clients and stores choose etags,
/// and two files may have one MD5.
bool same_bytes(const EntryFields& a, const EntryFields& b);
/// Whether two entries are no difference to diff and merge: the same bytes, etag, content type and
/// attributes. Time does not count.
bool same_content(const EntryFields& a, const EntryFields& b);
bool same_bytes(const Entry& a, const Entry& b);
bool same_content(const Entry& a, const Entry& b);
Entry to_entry(const EntryFields& fields);
/// Bytes beyond the fixed record, which the chunker weighs.
size_t extra_bytes(const EntryFields& fields);

/// The fields of an Entry, owned. Reusable: assign() again. One thread at a time.
class EntryBytes {
 public:
  /// Throws invalid_argument when the etag is longer than kEtagBytesMax.
  void assign(const Entry& entry);
  /// Valid until the next assign(); views into this object and into the Entry assigned last.
  const EntryFields& fields() const { return fields_; }

 private:
  std::string etag_;
  std::string address_;
  EntryFields fields_;
};

}  // namespace tarn::tree

// Elements that several documents share: Owner, Checksum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/entry.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

struct Owner {
  std::string id;
  std::string display_name;
};

inline void write_owner(Writer& out, std::string_view element, const Owner& owner) {
  out.open(element);
  out.element("ID", owner.id);
  out.element("DisplayName", owner.display_name);
  out.close(element);
}

/// ChecksumCRC32 and so on, in the order given; then ChecksumType when there is any and
/// `with_type`.
void write_checksums(Writer& out, const std::vector<Checksum>& checksums, bool with_type);

}  // namespace tarn::s3::xml

// The Checksum elements that several documents share.
#pragma once

#include <vector>

#include "core/model/entry.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

/// ChecksumCRC32 and so on, in the order given; then ChecksumType when there is any and
/// `with_type`.
void write_checksums(Writer& out, const std::vector<Checksum>& checksums, bool with_type);

}  // namespace tarn::s3::xml

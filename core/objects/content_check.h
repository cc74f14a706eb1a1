// Comparison of the bytes of an object with the digest that its entry records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/model/entry.h"

namespace tarn::versioning {

enum class DigestChoice {
  kFastest,    ///< a CRC before a cryptographic digest
  kStrongest,  ///< the MD5 of the etag before a CRC
};

/// A running digest of a whole object. One thread at a time.
class ContentCheck {
 public:
  /// nullopt: the entry records no digest of its bytes that a server computed, as after uploads in
  /// parts and for imported and linked objects, whose etags others gave.
  static std::optional<ContentCheck> of(const Entry& entry, DigestChoice choice);

  void update(std::string_view bytes);
  /// Whether the bytes so far, all of the object, have the recorded digest. Call once.
  bool matches();
  /// "md5 <hex>", as recorded; and of the bytes, after matches().
  std::string expected() const;
  std::string found() const;

 private:
  ContentCheck(std::string algorithm, std::string recorded);

  std::string algorithm_;
  std::string recorded_;  ///< raw bytes
  std::string computed_;
  std::variant<Digest, Crc> state_;
};

}  // namespace tarn::versioning

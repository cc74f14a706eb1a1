// Comparison of the bytes of an object with the digest that its entry records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/blob/blob_store.h"
#include "core/model/entry.h"

namespace tarn::objects {

enum class DigestChoice {
  kFastest,    ///< a CRC before a cryptographic digest
  kStrongest,  ///< SHA-256 and SHA-1, then the MD5 of the etag, then a CRC
};

class ContentCheck final : public blob::BytesCheck {
 public:
  /// nullopt: the entry records no digest of its bytes that a server computed, as after uploads in
  /// parts without a checksum of the whole, and for imported and linked objects, whose etags others
  /// gave.
  static std::optional<ContentCheck> of(const Entry& entry, DigestChoice choice);

  void update(std::string_view bytes) override;
  bool matches() override;
  std::string expected() const override;
  std::string found() const override;

 private:
  ContentCheck(std::string algorithm, std::string recorded);

  std::string algorithm_;
  std::string recorded_;  ///< raw bytes
  std::string computed_;
  std::variant<Digest, Crc> state_;
};

}  // namespace tarn::objects

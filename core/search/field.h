// Fields: the properties of an object that conditions and orders use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace tarn::search {

struct Field {
  enum class Kind : uint8_t { kPath, kSize, kModified, kType, kMetadata, kTag };
  Kind kind = Kind::kPath;
  std::string key;  ///< of user metadata or of an object tag
  bool operator==(const Field&) const = default;
};

/// "meta." and "tag." say whose key follows; other words are the key of user metadata, unless they
/// are "path", "size", "modified" or "type". nullopt: no key is left.
std::optional<Field> parse_field(std::string_view word);

/// The type that is shown of an object.
std::string_view shown_type(const Entry& entry);
/// The type, or of "image/*" each type of the class.
bool matches_type(std::string_view wanted, const Entry& entry);
/// "image" of "image/*"; nullopt for a type in full.
std::optional<std::string_view> class_of_wildcard(std::string_view type);

/// One object that is compared; its metadata and tags are decoded once, when first requested. The
/// path and the entry must outlive it. One thread at a time.
class Subject {
 public:
  Subject(std::string_view path, const Entry& entry) : path_(path), entry_(entry) {}

  std::string_view path() const { return path_; }
  const Entry& entry() const { return entry_; }
  /// The value of a field of kind kMetadata or kTag; nullptr = the object has no such key.
  const std::string* value(const Field& field) const;
  /// The same as value, as a number; nullopt if it is not a number, or "nan".
  std::optional<double> number(const Field& field) const;

 private:
  std::string_view path_;
  const Entry& entry_;
  mutable std::optional<Metadata> metadata_;
  mutable std::optional<Metadata> tags_;
};

}  // namespace tarn::search

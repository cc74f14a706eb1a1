#include "core/tree/changed_paths.h"

#include <algorithm>

#include <xxhash.h>

#include "core/tree/diff.h"

namespace tarn::tree {
namespace {

constexpr char kFormatAnything = 0;
constexpr char kFormatFingerprints = 1;

uint32_t fingerprint(std::string_view path) {
  return static_cast<uint32_t>(XXH3_64bits(path.data(), path.size()));
}

}  // namespace

std::optional<ChangedPaths> changed_paths(NodeSource& nodes, const TreeRoot& before,
                                          const TreeRoot& after) {
  ChangedPaths out;
  if (before == after) return out;
  Diff diff(nodes, before, after);
  std::string last;  // keys come in order: prefixes that it shares are there already
  for (size_t keys = 0; const auto difference = diff.next(); ++keys) {
    if (keys == kChangedKeysMax) return std::nullopt;
    const std::string& key = difference->key;
    const size_t shared = static_cast<size_t>(
        std::mismatch(key.begin(), key.end(), last.begin(), last.end()).first - key.begin());
    for (size_t slash = key.find('/', shared); slash != std::string::npos;
         slash = key.find('/', slash + 1)) {
      out.push_back(fingerprint(std::string_view(key).substr(0, slash + 1)));
      if (out.size() > kChangedPathsMax) return std::nullopt;
    }
    out.push_back(fingerprint(key));
    if (out.size() > kChangedPathsMax) return std::nullopt;
    last = key;
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string encode_changed_paths(const std::optional<ChangedPaths>& paths) {
  std::string out(1, paths ? kFormatFingerprints : kFormatAnything);
  if (!paths) return out;
  out.reserve(1 + paths->size() * sizeof(uint32_t));
  for (const uint32_t path : *paths) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(path >> shift));
  }
  return out;
}

std::optional<ChangedPaths> decode_changed_paths(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != kFormatFingerprints || bytes.size() % sizeof(uint32_t) != 1) {
    return std::nullopt;
  }
  ChangedPaths out;
  out.reserve(bytes.size() / sizeof(uint32_t));
  for (size_t at = 1; at < bytes.size(); at += sizeof(uint32_t)) {
    uint32_t path = 0;
    for (size_t i = 0; i < sizeof(uint32_t); ++i) {
      path = path << 8 | static_cast<uint8_t>(bytes[at + i]);
    }
    out.push_back(path);
  }
  return out;
}

PathQuery::PathQuery(const std::vector<std::string>& keys,
                     const std::vector<std::string>& prefixes) {
  for (const std::string& key : keys) wanted_.push_back(fingerprint(key));
  for (const std::string& prefix : prefixes) {
    // A key below the prefix is below its last '/' too.
    const size_t slash = prefix.rfind('/');
    if (slash == std::string::npos) {
      any_ = true;
    } else {
      wanted_.push_back(fingerprint(std::string_view(prefix).substr(0, slash + 1)));
    }
  }
}

bool PathQuery::may_match(std::span<const uint32_t> changed) const {
  if (any_ && !changed.empty()) return true;
  return std::any_of(wanted_.begin(), wanted_.end(), [&](uint32_t path) {
    return std::binary_search(changed.begin(), changed.end(), path);
  });
}

}  // namespace tarn::tree

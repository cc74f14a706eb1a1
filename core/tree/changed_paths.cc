#include "core/tree/changed_paths.h"

#include <algorithm>
#include <utility>

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

bool ChangedPathsBuilder::add_path(std::string_view path) {
  too_many_ |= paths_.size() == kChangedPathsMax;
  if (!too_many_) paths_.push_back(fingerprint(path));
  return !too_many_;
}

bool ChangedPathsBuilder::add(std::string_view key) {
  too_many_ |= ++keys_ > kChangedKeysMax;
  if (too_many_) return false;
  // Folders that it shares with the key before are there already.
  const size_t shared = static_cast<size_t>(
      std::mismatch(key.begin(), key.end(), last_.begin(), last_.end()).first - key.begin());
  for (size_t slash = key.find('/', shared); slash != std::string_view::npos;
       slash = key.find('/', slash + 1)) {
    if (!add_path(key.substr(0, slash + 1))) return false;
  }
  last_ = key;
  return add_path(key);
}

std::optional<ChangedPaths> ChangedPathsBuilder::build() {
  std::optional<ChangedPaths> out;
  if (!too_many_) {
    std::sort(paths_.begin(), paths_.end());
    paths_.erase(std::unique(paths_.begin(), paths_.end()), paths_.end());
    out = std::move(paths_);
  }
  *this = {};
  return out;
}

std::optional<ChangedPaths> changed_paths(NodeSource& nodes, const TreeRoot& before,
                                          const TreeRoot& after) {
  ChangedPathsBuilder out;
  if (before == after) return out.build();
  Diff diff(nodes, before, after);
  while (const auto difference = diff.next()) {
    if (!out.add(difference->key)) break;
  }
  return out.build();
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

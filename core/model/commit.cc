#include "core/model/commit.h"

#include <cstring>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr std::string_view kCommitDomain = "tarn commit 1";

template <typename Id>
Id id_from_bytes(std::string_view bytes, const char* what) {
  Id id;
  if (bytes.size() != id.bytes.size()) {
    throw Error(ErrorCode::kDataLoss, std::string(what) + ": has the wrong length");
  }
  std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
  return id;
}

template <typename Id>
std::string_view bytes_view(const Id& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

}  // namespace

std::string to_text(const CommitId& id) { return to_hex(bytes_view(id)); }
std::string_view view_of(const CommitId& id) { return bytes_view(id); }
std::string_view view_of(const Hash128& hash) { return bytes_view(hash); }
CommitId commit_id_from_bytes(std::string_view bytes) {
  return id_from_bytes<CommitId>(bytes, "commit id");
}
Hash128 hash128_from_bytes(std::string_view bytes) {
  return id_from_bytes<Hash128>(bytes, "node hash");
}

std::optional<CommitId> parse_commit_id(std::string_view text) {
  if (text.size() != 64 || !is_lower_hex(text)) return std::nullopt;
  return commit_id_from_bytes(*from_hex(text));
}

size_t bytes_of(const Commit& commit) {
  size_t bytes = sizeof commit + commit.committer.size() + commit.message.size() +
                 commit.parents.size() * sizeof(CommitId);
  for (const auto& [key, value] : commit.metadata) {
    bytes += 2 * sizeof key + key.size() + value.size();
  }
  return bytes;
}

CommitId compute_commit_id(const Commit& commit) {
  std::string bytes;
  put_bytes(bytes, kCommitDomain);
  put_bytes(bytes, view_of(commit.root.hash));
  put_varint(bytes, commit.parents.size());
  for (const CommitId& parent : commit.parents) put_bytes(bytes, view_of(parent));
  put_bytes(bytes, commit.committer);
  put_bytes(bytes, commit.message);
  put_varint(bytes, commit.metadata.size());
  for (const auto& [key, value] : commit.metadata) {
    put_bytes(bytes, key);
    put_bytes(bytes, value);
  }
  std::string time;
  put_u64be(time, static_cast<uint64_t>(to_millis(commit.created)));
  put_bytes(bytes, time);
  return commit_id_from_bytes(sha256(bytes));
}

}  // namespace tarn

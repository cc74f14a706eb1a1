#include "core/meta/part_lists.h"

#include <algorithm>
#include <cstring>

#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/meta/references.h"

namespace tarn::meta {
namespace {

constexpr uint8_t kFormat = 1;
constexpr uint8_t kFormatWithOwners = 2;   // as 1, plus each part's owner id, 0 = the list's own
constexpr uint8_t kFormatWithDigests = 3;  // as 2, plus each part's SHA-256
constexpr size_t kMd5Bytes = 16;
constexpr size_t kCachedListsMax = 256;  // at most 10,000 parts each

constexpr db::Query kInsert{"part_lists_insert_row", R"sql(
  INSERT INTO part_lists (repo_id, body) VALUES ($1, $2) RETURNING part_list_id)sql"};
constexpr db::Query kSelect{"part_lists_select_body",
                            "SELECT body FROM part_lists WHERE part_list_id = $1"};

}  // namespace

std::string encode_parts(const PartList& parts) {
  const bool owned = std::any_of(parts.begin(), parts.end(),
                                 [](const StoredPart& part) { return part.owner.has_value(); });
  const bool digested = std::any_of(parts.begin(), parts.end(),
                                    [](const StoredPart& part) { return !part.sha256.empty(); });
  std::string out(1, static_cast<char>(digested ? kFormatWithDigests
                                       : owned  ? kFormatWithOwners
                                                : kFormat));
  put_varint(out, parts.size());
  for (const StoredPart& part : parts) {
    TARN_CHECK(part.md5.size() == kMd5Bytes);
    put_varint(out, part.size_bytes);
    out.append(part.md5);
    out.append(reinterpret_cast<const char*>(part.address.id.data()), part.address.id.size());
    put_u64be(out, static_cast<uint64_t>(to_millis(part.modified)));
    Entry holder;  // checksums share the byte form of entries
    holder.set_checksums(part.checksums);
    put_bytes(out, holder.extras.get(ExtraTag::kChecksums));
    if (owned || digested) put_varint(out, part.owner ? static_cast<uint64_t>(*part.owner) : 0);
    if (digested) put_bytes(out, part.sha256);
  }
  return out;
}

PartList decode_parts(std::string_view bytes) {
  WireReader in(bytes, "part list");
  const uint8_t format = in.u8();
  if (format < kFormat || format > kFormatWithDigests) in.fail("has an unknown format");
  PartList parts;
  const uint64_t count = in.varint();
  for (uint64_t i = 0; i < count; ++i) {
    StoredPart part;
    part.size_bytes = in.varint();
    part.md5 = std::string(in.take(kMd5Bytes));
    const std::string_view id = in.take(part.address.id.size());
    std::memcpy(part.address.id.data(), id.data(), id.size());
    part.modified = from_millis(static_cast<int64_t>(in.u64be()));
    Entry holder;
    holder.extras.set(ExtraTag::kChecksums, in.bytes());
    part.checksums = holder.checksums();
    const uint64_t owner = format >= kFormatWithOwners ? in.varint() : 0;
    if (owner != 0) part.owner = static_cast<RepositoryId>(owner);
    if (format == kFormatWithDigests) part.sha256 = std::string(in.bytes());
    parts.push_back(std::move(part));
  }
  in.expect_end();
  return parts;
}

int64_t PartLists::insert(RepositoryId repository, const PartList& parts) {
  References references(writer_.fresh_since());
  for (const StoredPart& part : parts) references.add(part);
  const std::string bytes = encode_parts(parts);
  if (references.empty()) {
    return pool_
        .run(kInsert, {static_cast<int32_t>(repository), db::Bytes{bytes}}, db::Pool::Retry::kWrite)
        .integer(0, 0);
  }
  return pool_.transaction([&](db::Connection& connection) {
    const int64_t id =
        connection.run(kInsert, {static_cast<int32_t>(repository), db::Bytes{bytes}}).integer(0, 0);
    references.rescue(connection, repository);
    return id;
  });
}

void PartLists::forget_all() {
  MutexLock lock(mutex_);
  cache_.clear();
}

std::shared_ptr<const PartList> PartLists::get(int64_t id) {
  {
    MutexLock lock(mutex_);
    const auto at = cache_.find(id);
    if (at != cache_.end()) return at->second;
  }
  const db::Rows rows = pool_.run(kSelect, {id}, db::Pool::Retry::kRead);
  if (rows.empty())
    throw Error(ErrorCode::kDataLoss, str_cat("part list ", id, ": is referred to but missing"));
  auto list = std::make_shared<const PartList>(decode_parts(rows.bytes(0, 0)));
  MutexLock lock(mutex_);
  if (cache_.size() >= kCachedListsMax) cache_.clear();
  cache_[id] = list;
  return list;
}

}  // namespace tarn::meta

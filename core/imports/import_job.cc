#include "core/imports/import_job.h"

#include <algorithm>

#include "core/base/wire.h"

namespace tarn::imports {
namespace {

constexpr uint8_t kJobFormat = 1;
constexpr uint8_t kFlagForce = 1;
constexpr uint8_t kFlagIfChanged = 2;

void put_metadata(std::string& out, const Metadata& metadata) {
  put_varint(out, metadata.size());
  for (const auto& [key, value] : metadata) {
    put_bytes(out, key);
    put_bytes(out, value);
  }
}

Metadata read_metadata(WireReader& in) {
  Metadata out;
  for (uint64_t left = in.varint(); left > 0; --left) {
    std::string key(in.bytes());
    out[std::move(key)] = std::string(in.bytes());
  }
  return out;
}

}  // namespace

std::string encode_import_request(const ImportRequest& request) {
  std::string out(1, static_cast<char>(kJobFormat));
  put_varint(out, request.paths.size());
  for (const ImportPath& path : request.paths) {
    out.push_back(static_cast<char>(path.kind));
    put_bytes(out, path.url);
    put_bytes(out, path.destination);
  }
  put_bytes(out, request.commit.committer);
  put_bytes(out, request.commit.message);
  put_metadata(out, request.commit.metadata);
  out.push_back(request.commit.date ? 1 : 0);
  if (request.commit.date) put_u64be(out, static_cast<uint64_t>(to_millis(*request.commit.date)));
  out.push_back(static_cast<char>((request.force ? kFlagForce : 0) |
                                  (request.if_changed ? kFlagIfChanged : 0)));
  return out;
}

ImportRequest decode_import_request(std::string_view bytes) {
  WireReader in(bytes, "import request");
  if (in.u8() != kJobFormat) in.fail("has an unknown format");
  ImportRequest request;
  for (uint64_t left = in.varint(); left > 0; --left) {
    ImportPath path;
    path.kind = static_cast<ImportPath::Kind>(in.u8());
    path.url = std::string(in.bytes());
    path.destination = std::string(in.bytes());
    request.paths.push_back(std::move(path));
  }
  request.commit.committer = std::string(in.bytes());
  request.commit.message = std::string(in.bytes());
  request.commit.metadata = read_metadata(in);
  if (in.u8() != 0) request.commit.date = from_millis(static_cast<int64_t>(in.u64be()));
  const uint8_t flags = in.u8();
  request.force = (flags & kFlagForce) != 0;
  request.if_changed = (flags & kFlagIfChanged) != 0;
  in.expect_end();
  return request;
}

std::string encode_import_checkpoint(const ImportCheckpoint& checkpoint) {
  std::string out(1, static_cast<char>(kJobFormat));
  put_varint(out, checkpoint.path);
  put_varint(out, checkpoint.objects);
  put_bytes(out, checkpoint.after);
  put_varint(out, static_cast<uint64_t>(checkpoint.root.nid));
  put_bytes(out, view_of(checkpoint.root.hash));
  return out;
}

ImportCheckpoint decode_import_checkpoint(std::string_view bytes) {
  ImportCheckpoint out;
  if (bytes.empty()) return out;
  WireReader in(bytes, "import checkpoint");
  if (in.u8() != kJobFormat) in.fail("has an unknown format");
  out.path = in.varint();
  out.objects = in.varint();
  out.after = std::string(in.bytes());
  out.root.nid = static_cast<Nid>(in.varint());
  out.root.hash = hash128_from_bytes(in.bytes());
  in.expect_end();
  return out;
}

std::string destination_prefix(const ImportPath& path) {
  if (path.destination.empty() || path.destination.ends_with('/')) return path.destination;
  return path.destination + "/";
}

tree::RangeDelete destination_range(const ImportPath& path) {
  if (path.kind == ImportPath::Kind::kObject) return {path.destination, path.destination + '\0'};
  const std::string prefix = destination_prefix(path);
  return {prefix, prefix_end(prefix)};
}

std::vector<tree::RangeDelete> joined(std::vector<tree::RangeDelete> ranges) {
  std::sort(
      ranges.begin(), ranges.end(),
      [](const tree::RangeDelete& a, const tree::RangeDelete& b) { return a.begin < b.begin; });
  std::vector<tree::RangeDelete> out;
  for (tree::RangeDelete& range : ranges) {
    if (out.empty() || (!out.back().end.empty() && out.back().end < range.begin)) {
      out.push_back(std::move(range));
    } else if (!out.back().end.empty()) {
      out.back().end = range.end.empty() ? std::string() : std::max(out.back().end, range.end);
    }
  }
  return out;
}

}  // namespace tarn::imports

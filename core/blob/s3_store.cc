#include "core/blob/s3_store.h"

#include <charconv>
#include <utility>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/blob/checks.h"
#include "core/blob/s3_answers.h"
#include "core/blob/s3_reader.h"
#include "core/blob/s3_writer.h"

namespace tarn::blob {
namespace {

BlobStat stat_from_headers(std::string_view key, const http::Headers& headers) {
  BlobStat stat{
      .key = std::string(key), .etag = unquoted_etag(headers.get("ETag")), .version_id = ""};
  const std::string_view length = headers.get("Content-Length");
  const auto [end, error] =
      std::from_chars(length.data(), length.data() + length.size(), stat.size_bytes);
  if (length.empty() || error != std::errc() || end != length.data() + length.size()) {
    throw Error(ErrorCode::kUnavailable,
                str_cat("looking at object ", shown(key), ": the store told no size"));
  }
  if (const auto time = parse_http_date(headers.get("Last-Modified")))
    stat.mtime_ns = to_millis(*time) * 1'000'000;
  const std::string_view version = headers.get("x-amz-version-id");
  if (version != "null") stat.version_id = version;  // "null": of a bucket without versions
  return stat;
}

}  // namespace

std::unique_ptr<BlobWriter> S3Store::create(std::string_view key,
                                            std::optional<uint64_t> size_hint) {
  return std::make_unique<S3Writer>(bucket_, bucket_.whole_key(key), size_hint);
}

std::optional<BlobStat> S3Store::stat(std::string_view key) {
  const S3Request request{.operation = "head", .method = "HEAD", .key = bucket_.whole_key(key)};
  const S3Answer answer = bucket_.send(request);
  if (answer.status == 404) {
    bucket_.check_bucket_exists();
    return std::nullopt;
  }
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  return stat_from_headers(key, answer.headers);
}

std::unique_ptr<BlobReader> S3Store::open(std::string_view key, ByteRange range,
                                          std::string_view if_etag) {
  std::string whole = bucket_.whole_key(key);
  // An overflowing range is no header; an empty one cannot be asked for.
  if (range.length > 0 && range.offset <= ~uint64_t{0} - range.length) {
    try {
      return S3Reader::open(bucket_, std::move(whole), range, if_etag);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument || if_etag.empty()) throw;
      // Past the end: of the recorded object, or of what took its place?
    }
  }
  const auto now = stat(key);
  if (!now) return nullptr;
  if (!if_etag.empty() && now->etag != if_etag) throw_source_changed(key, "its etag differs");
  check_range(key, range, now->size_bytes);
  return std::make_unique<EmptyReader>();
}

ListPage S3Store::list(std::string_view prefix, std::string_view after, uint32_t limit) {
  check_list_limit(limit);
  const std::string& own = bucket_.options().prefix;
  S3Request request{.operation = "list",
                    .query = {{"encoding-type", "url"},
                              {"list-type", "2"},
                              {"max-keys", std::to_string(limit)},
                              {"prefix", str_cat(own, prefix)}}};
  if (!after.empty()) request.query.emplace_back("start-after", str_cat(own, after));
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  ListPage page = parse_list_objects(answer.body);
  std::string_view last = after;
  for (BlobStat& item : page.items) {
    item.key.erase(0, own.size());
    // Imports and collection build on the order; some servers list directories their own way.
    if (item.key <= last && !last.empty()) {
      throw Error(ErrorCode::kUnimplemented,
                  str_cat("listing bucket \"", bucket_.options().bucket, "\": the server sent ",
                          shown(item.key), " after ", shown(last), ", not in byte order"));
    }
    last = item.key;
  }
  return page;
}

void S3Store::remove(std::string_view key) {
  const S3Request request{.operation = "delete", .method = "DELETE", .key = bucket_.whole_key(key)};
  const S3Answer answer = bucket_.send(request);
  const bool absent = answer.status == 404 && parse_failure(answer.body).code != "NoSuchBucket";
  if (!answer.ok() && !absent) bucket_.throw_answer(request, answer);
}

uint64_t S3Store::remove_unfinished(std::string_view prefix, Instant begun_before) {
  uint64_t removed = 0;
  S3UploadPage page;
  do {
    S3Request listing{
        .operation = "list_uploads",
        .query = {{"encoding-type", "url"}, {"prefix", str_cat(bucket_.options().prefix, prefix)}}};
    if (!page.next_key.empty()) {
      listing.query.insert(listing.query.begin() + 1, {"key-marker", page.next_key});
      listing.query.emplace_back("upload-id-marker", page.next_id);
    }
    listing.query.emplace_back("uploads", "");
    const S3Answer answer = bucket_.send(listing);
    if (!answer.ok()) bucket_.throw_answer(listing, answer);
    page = parse_list_uploads(answer.body);
    for (const S3Upload& upload : page.items) {
      if (upload.begun >= begun_before) continue;
      const S3Request abort{.operation = "abort_upload",
                            .method = "DELETE",
                            .key = upload.key,
                            .query = {{"uploadId", upload.id}}};
      const S3Answer aborted = bucket_.send(abort);
      if (!aborted.ok() && aborted.status != 404) bucket_.throw_answer(abort, aborted);
      ++removed;
    }
  } while (page.has_more && !page.next_key.empty());
  return removed;
}

}  // namespace tarn::blob

// aws.s3_client: objects of an S3-compatible server. Paths name the bucket ("path style").
#include <algorithm>
#include <charconv>
#include <vector>

#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include "core/actions/lua/aws_request.h"
#include "core/actions/lua/libraries.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"
#include "core/blob/s3_answers.h"
#include "core/xml/escape.h"
#include "core/xml/reader.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

constexpr size_t kKeyBytesMax = 1024;  // S3's limit
/// Maximum number of pages (of up to 1000 objects) that one call of delete_recursive deletes.
constexpr int kDeletedPagesMax = 1'000;

void check_bucket(const std::string& bucket) {
  static const RE2 kBucket("[A-Za-z0-9][A-Za-z0-9._-]{0,254}");
  if (!RE2::FullMatch(bucket, kBucket)) {
    throw_invalid("argument 1: a bucket's name has letters, digits, dots, dashes and underscores");
  }
}

/// Rejects an empty key, with which the request would be about the bucket: DELETE would remove it.
void check_key(const std::string& key) {
  if (key.empty()) throw_invalid("argument 2: the key is empty");
  if (key.size() > kKeyBytesMax) {
    throw_invalid(str_cat("argument 2: the key is longer than ", kKeyBytesMax, " bytes"));
  }
  for (size_t at = 0; at <= key.size();) {
    const size_t end = std::min(key.find('/', at), key.size());
    const std::string_view segment = std::string_view(key).substr(at, end - at);
    if (segment == "." || segment == "..") {
      throw_invalid("argument 2: the key has . or .. between slashes, which servers resolve");
    }
    at = end + 1;
  }
}

struct ObjectName {
  std::string bucket;
  std::string key;
  std::string path() const {
    return str_cat("/", bucket, "/", percent_encode(key, /*keep_slash=*/true));
  }
  /// The request's description in messages.
  std::string shown(std::string_view method) const {
    return str_cat("S3: ", method, " s3://", bucket, "/", key);
  }
};

ObjectName object_at(lua_State* state) {
  ObjectName named{text_argument(state, 1), text_argument(state, 2)};
  check_bucket(named.bucket);
  check_key(named.key);
  return named;
}

void require_success(const AwsClient& client, const std::string& what, const AwsAnswer& answer) {
  if (answer.ok()) return;
  const blob::S3Failure failure = blob::parse_failure(answer.body);
  throw_failure(client, what, answer.status, failure.code, failure.message);
}

/// Returns body and true; "" and false if the object does not exist.
int s3_get_object(lua_State* state) {
  const AwsClient client = client_of(state, "s3");
  const ObjectName named = object_at(state);
  const AwsAnswer answer = send(state, client, {.path = named.path()});
  const std::string code = answer.status == 404 ? blob::parse_failure(answer.body).code : "";
  const bool missing = code == "NoSuchKey" || code == "NoSuchBucket";
  if (!missing) require_success(client, named.shown("GET"), answer);
  push(state, missing ? std::string_view() : std::string_view(answer.body));
  lua_pushboolean(state, missing ? 0 : 1);
  return 2;
}

int put_object(lua_State* state) {
  const AwsClient client = client_of(state, "s3");
  const ObjectName named = object_at(state);
  AwsRequest request{.method = "PUT", .path = named.path(), .body = text_argument(state, 3)};
  request.headers.add("content-type", "application/octet-stream");
  require_success(client, named.shown("PUT"), send(state, client, request));
  return 0;
}

void delete_one(lua_State* state, const AwsClient& client, const ObjectName& named) {
  require_success(client, named.shown("DELETE"),
                  send(state, client, {.method = "DELETE", .path = named.path()}));
}

int delete_object(lua_State* state) {
  const AwsClient client = client_of(state, "s3");
  delete_one(state, client, object_at(state));
  return 0;
}

struct Listed {
  std::string key;
  std::string etag;
  uint64_t size = 0;
  std::string last_modified;
  bool prefix = false;
};
struct Listing {
  std::vector<Listed> items;
  bool truncated = false;
  std::string next;
};

std::string decoded(std::string text, bool url_encoded) {
  if (!url_encoded) return text;
  auto plain = form_decode(text);
  if (!plain) throw_invalid("S3: a listed key is not percent-encoded");
  return *std::move(plain);
}

[[noreturn]] void fail_request(std::string_view why) {
  throw Error(ErrorCode::kUnavailable, str_cat("S3: reading the XML answer: ", why));
}

/// Reads Contents or CommonPrefixes.
Listed read_listed(XmlReader& in, bool prefix) {
  Listed item;
  item.prefix = prefix;
  while (const auto name = in.next_child()) {
    if (*name == "Key" || *name == "Prefix") {
      item.key = in.text();
    } else if (*name == "ETag") {
      item.etag = in.text();
    } else if (*name == "Size") {
      const std::string text = in.text();
      std::from_chars(text.data(), text.data() + text.size(), item.size);
    } else if (*name == "LastModified") {
      const std::string text = in.text();
      const auto time = parse_rfc3339(text);
      // Whole seconds, as in lakeFS.
      item.last_modified = time ? to_rfc3339(*time).substr(0, 19) + "Z" : text;
    } else {
      in.skip();
    }
  }
  return item;
}

/// Sorted by key. Throws unavailable if the document is not a listing.
Listing parse_listing(const std::string& xml) {
  Listing listing;
  bool url_encoded = false;
  XmlReader in(xml, &fail_request);
  in.enter_root("ListBucketResult");
  while (const auto name = in.next_child()) {
    if (*name == "Contents" || *name == "CommonPrefixes") {
      listing.items.push_back(read_listed(in, *name == "CommonPrefixes"));
    } else if (*name == "IsTruncated") {
      listing.truncated = in.text() == "true";
    } else if (*name == "NextContinuationToken") {
      listing.next = in.text();
    } else if (*name == "EncodingType") {
      url_encoded = in.text() == "url";
    } else {
      in.skip();
    }
  }
  in.finish();
  for (Listed& one : listing.items) one.key = decoded(std::move(one.key), url_encoded);
  std::sort(listing.items.begin(), listing.items.end(),
            [](const Listed& a, const Listed& b) { return a.key < b.key; });
  return listing;
}

struct ListRequest {
  std::string bucket;
  std::string prefix;
  std::string token;
  std::string delimiter;
};

Listing list_page(lua_State* state, const AwsClient& client, const ListRequest& asked) {
  std::string query = "list-type=2&encoding-type=url";
  for (const auto& [name, value] : {std::pair("continuation-token", &asked.token),
                                    {"delimiter", &asked.delimiter},
                                    {"prefix", &asked.prefix}}) {
    if (!value->empty()) query += str_cat("&", name, "=", percent_encode(*value));
  }
  const AwsAnswer answer =
      send(state, client, {.path = str_cat("/", asked.bucket), .query = std::move(query)});
  require_success(client, str_cat("S3: listing s3://", asked.bucket, "/", asked.prefix), answer);
  return parse_listing(answer.body);
}

/// list_objects(bucket [, prefix, continuation_token, delimiter]): one page.
int s3_list_objects(lua_State* state) {
  const AwsClient client = client_of(state, "s3");
  const ListRequest asked{text_argument(state, 1), text_argument_or(state, 2, ""),
                          text_argument_or(state, 3, ""), text_argument_or(state, 4, "/")};
  check_bucket(asked.bucket);
  const Listing listing = list_page(state, client, asked);
  Json results = Json::array();
  for (const Listed& item : listing.items) {
    if (item.prefix) {
      results.push_back({{"key", item.key}, {"type", "prefix"}});
    } else {
      results.push_back({{"key", item.key},
                         {"type", "object"},
                         {"etag", item.etag},
                         {"size", item.size},
                         {"last_modified", item.last_modified}});
    }
  }
  push_value(state, Json{{"is_truncated", listing.truncated},
                         {"next_continuation_token", listing.next},
                         {"results", std::move(results)}});
  return 1;
}

/// Whether the text can be represented in XML.
bool is_xml_text(std::string_view text) {
  return is_utf8(text) &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' '; });
}

/// Throws an error about the first object that the server failed to delete.
void check_deleted(const AwsClient& client, const std::string& bucket, const std::string& xml) {
  XmlReader in(xml, &fail_request);
  in.enter_root("DeleteResult");
  while (const auto child = in.next_child()) {
    if (*child != "Error") {
      in.skip();
      continue;
    }
    std::string key;
    std::string code;
    std::string message;
    while (const auto name = in.next_child()) {
      if (*name == "Key") {
        key = in.text();
      } else if (*name == "Code") {
        code = in.text();
      } else if (*name == "Message") {
        message = in.text();
      } else {
        in.skip();
      }
    }
    throw_failure(client, ObjectName{bucket, key}.shown("DELETE"), 200, code, message);
  }
  in.finish();
}

void delete_all(lua_State* state, const AwsClient& client, const std::string& bucket,
                const std::vector<Listed>& items) {
  std::string named;
  for (const Listed& item : items) {
    if (is_xml_text(item.key)) {
      named += str_cat("<Object><Key>", xml_escaped(item.key), "</Key></Object>");
    } else {
      delete_one(state, client, {bucket, item.key});
    }
  }
  if (named.empty()) return;
  AwsRequest request{.method = "POST", .path = str_cat("/", bucket), .query = "delete="};
  request.body = str_cat("<Delete><Quiet>true</Quiet>", named, "</Delete>");
  request.headers.add("content-md5", to_base64(md5(request.body)));
  request.headers.add("content-type", "application/xml");
  const AwsAnswer answer = send(state, client, request);
  require_success(client, str_cat("S3: deleting in s3://", bucket), answer);
  check_deleted(client, bucket, answer.body);
}

/// Stops when pages do not advance, so that a broken server cannot cause an endless loop.
int delete_recursive(lua_State* state) {
  const AwsClient client = client_of(state, "s3");
  ListRequest asked{text_argument(state, 1), text_argument(state, 2), "", ""};
  check_bucket(asked.bucket);
  std::string last;
  for (int pages = 0;; ++pages) {
    const Listing listing = list_page(state, client, asked);
    for (const Listed& item : listing.items) {
      if (!item.key.starts_with(asked.prefix)) {
        throw_invalid(str_cat("S3: listing s3://", asked.bucket, "/", asked.prefix,
                              ": the server lists other keys too"));
      }
    }
    if (!listing.items.empty() && listing.items.front().key <= last) {
      throw_invalid(str_cat("S3: listing s3://", asked.bucket, "/", asked.prefix,
                            ": the server's pages do not go on"));
    }
    delete_all(state, client, asked.bucket, listing.items);
    if (!listing.truncated) return 0;
    if (listing.items.empty() || listing.next.empty() || pages + 1 >= kDeletedPagesMax) {
      throw_invalid(str_cat("S3: listing s3://", asked.bucket, "/", asked.prefix,
                            ": there is no end after ", pages + 1, " pages"));
    }
    last = listing.items.back().key;
    asked.token = listing.next;
  }
}

}  // namespace

int new_s3_client(lua_State* state) {
  push_aws_client(state, "s3",
                  {{"get_object", &guarded<s3_get_object>},
                   {"put_object", &guarded<put_object>},
                   {"list_objects", &guarded<s3_list_objects>},
                   {"delete_object", &guarded<delete_object>},
                   {"delete_recursive", &guarded<delete_recursive>}});
  return 1;
}

}  // namespace tarn::actions::lua

#include "s3gateway/wire/amz_headers.h"

#include <algorithm>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

constexpr auto kObeyed = HeaderUse::kObeyed;
constexpr auto kAccepted = HeaderUse::kAccepted;
constexpr auto kRefused = HeaderUse::kRefused;

constexpr std::string_view kCreations = " PutObject CopyObject CreateMultipartUpload PostObject ";
constexpr std::string_view kCopies = " CopyObject UploadPartCopy ";
constexpr std::string_view kReads = " GetObject HeadObject ";
constexpr std::string_view kListings = " ListObjects ListObjectsV2 ListObjectVersions ";
constexpr std::string_view kSameAccess = " private bucket-owner-read bucket-owner-full-control ";

constexpr AmzHeader kHeaders[] = {
    {"x-amz-date", kObeyed, "", "signature"},
    {"x-amz-content-sha256", kObeyed, "", "signature"},
    {"x-amz-security-token", kObeyed, "", "temporary credentials are 400 `InvalidToken`"},
    {"x-amz-algorithm", kObeyed, " PostObject ", "signature"},
    {"x-amz-credential", kObeyed, " PostObject ", "signature"},
    {"x-amz-signature", kObeyed, " PostObject ", "signature"},
    {"x-amz-decoded-content-length", kObeyed, "", "framing"},
    {"x-amz-trailer", kObeyed, "", "framing"},
    {"x-amz-user-agent", kAccepted, "", "a note"},
    {"x-amz-te", kAccepted, "", "a note"},
    {"x-amz-api-version", kAccepted, "", "a note"},
    {"x-amz-cf-id", kAccepted, "", "a note of CloudFront"},

    {"x-amz-expected-bucket-owner", kObeyed, "", "one owner has all buckets"},
    {"x-amz-source-expected-bucket-owner", kObeyed, kCopies, "as above"},
    {"x-amz-request-payer", kAccepted, "", "nobody pays for requests"},
    {"x-amz-mfa", kAccepted, "", "no deletion asks for a second factor"},
    {"x-amz-bypass-governance-retention", kAccepted, "", "nothing is retained"},

    {"x-amz-meta-*", kObeyed, kCreations, "user metadata"},
    {"x-amz-storage-class", kObeyed, kCreations, "kept and shown"},
    {"x-amz-tagging", kObeyed, kCreations, "tags"},
    {"x-amz-copy-source", kObeyed, kCopies, "what is copied"},
    {"x-amz-copy-source-range", kObeyed, " UploadPartCopy ", "what of it is copied"},
    {"x-amz-copy-source-if-*", kObeyed, kCopies, "conditions on the source"},
    {"x-amz-metadata-directive", kObeyed, " CopyObject ", "`COPY` or `REPLACE`"},
    {"x-amz-tagging-directive", kObeyed, " CopyObject ", "`COPY` or `REPLACE`"},
    {"x-amz-if-match-size", kObeyed, " DeleteObject ", "condition"},
    {"x-amz-if-match-last-modified-time", kObeyed, " DeleteObject ", "condition"},
    {"x-amz-if-match-initiated-time", kObeyed, " AbortMultipartUpload ", "condition"},

    {"x-amz-checksum-algorithm", kObeyed, " CopyObject CreateMultipartUpload ",
     "the checksum that the object gets"},
    {"x-amz-checksum-algorithm", kAccepted, "", "a note"},
    {"x-amz-checksum-type", kObeyed, " CreateMultipartUpload CompleteMultipartUpload ",
     "of the whole object's checksum"},
    {"x-amz-checksum-type", kAccepted, "", "a note"},
    {"x-amz-checksum-mode", kObeyed, kReads, "whether checksums are shown"},
    {"x-amz-checksum-mode", kAccepted, "", "a note"},
    {"x-amz-checksum-crc32", kObeyed, "", "verified; of an upload also kept"},
    {"x-amz-checksum-crc32c", kObeyed, "", "as above"},
    {"x-amz-checksum-crc64nvme", kObeyed, "", "as above"},
    {"x-amz-checksum-sha1", kObeyed, "", "as above"},
    {"x-amz-checksum-sha256", kObeyed, "", "as above"},
    {"x-amz-sdk-checksum-algorithm", kObeyed, "",
     "promises one of the headers above, or a trailer"},
    {"x-amz-mp-object-size", kObeyed, " CompleteMultipartUpload ", "verified"},
    {"x-amz-object-attributes", kObeyed, " GetObjectAttributes ", "what is shown"},
    {"x-amz-max-parts", kObeyed, " GetObjectAttributes ", "page"},
    {"x-amz-part-number-marker", kObeyed, " GetObjectAttributes ", "page"},
    {"x-amz-optional-object-attributes", kAccepted, kListings, "nothing was ever restored"},

    {"x-amz-acl", kObeyed, " PutBucketAcl ",
     "`public-read` where the bucket can be public, and those that change nothing; others are 501"},
    {"x-amz-acl", kObeyed, " PutObjectAcl ", "those that change nothing; others are 501"},
    {"x-amz-transition-default-minimum-object-size", kAccepted, " PutBucketLifecycleConfiguration ",
     "nothing is moved to another storage class"},

    {"x-amz-acl", kObeyed, " CreateBucket ",
     "`public-read` where buckets can be public, and those that change nothing; others are 501"},
    {"x-amz-acl", kObeyed, kCreations, "those that change nothing; others are 501"},
    {"x-amz-acl", kRefused, "", "access control lists", kSameAccess},
    {"x-amz-object-ownership", kRefused, "", "other owners of objects",
     " BucketOwnerEnforced BucketOwnerPreferred ObjectWriter "},
    {"x-amz-grant-*", kRefused, "", "access control lists"},
    {"x-amz-checksum-*", kRefused, "", "checksums of this algorithm"},
    {"x-amz-server-side-encryption*", kRefused, "", "server-side encryption"},
    {"x-amz-copy-source-server-side-encryption*", kRefused, "", "server-side encryption"},
    {"x-amz-object-lock-*", kRefused, "", "object lock"},
    {"x-amz-bucket-object-lock-*", kRefused, "", "object lock", " false False "},
    {"x-amz-object-annotation-directive", kRefused, "", "annotations of objects", " COPY "},
    {"x-amz-bucket-namespace", kRefused, "", "namespaces of buckets", " global "},
    {"x-amz-write-offset-bytes", kRefused, "", "appending to objects"},
    {"x-amz-website-redirect-location", kRefused, "", "website redirects"},
    {"x-amz-s3session-token", kRefused, "", "sessions of directory buckets"},
    {"x-amz-create-session-mode", kRefused, "", "sessions of directory buckets"},
};

constexpr std::string_view kHeaderPrefix = "x-amz-";

bool fits(const AmzHeader& row, std::string_view name) {
  if (!row.name.ends_with('*')) return equal_ignoring_case(row.name, name);
  return starts_with_ignoring_case(name, row.name.substr(0, row.name.size() - 1));
}

bool lists(std::string_view words, std::string_view word) {
  return !word.empty() && word.find(' ') == std::string_view::npos &&
         words.find(str_cat(' ', word, ' ')) != std::string_view::npos;
}

bool is_known(std::string_view name) {
  return std::any_of(std::begin(kHeaders), std::end(kHeaders),
                     [&](const AmzHeader& row) { return fits(row, name); });
}

[[noreturn]] void refuse_header(const std::string& name, std::string_view what) {
  throw Refusal(failure::kNotImplemented,
                str_cat("A header you provided implies functionality that is not implemented: ",
                        name, " (", what, "). Leave it out."),
                {{"Header", name}});
}

}  // namespace

std::span<const AmzHeader> amz_headers() { return kHeaders; }

const AmzHeader* find_amz_header(std::string_view name, std::string_view operation) {
  for (const AmzHeader& row : kHeaders) {
    if (fits(row, name) && (row.operations.empty() || lists(row.operations, operation))) {
      return &row;
    }
  }
  return nullptr;
}

void check_amz_headers(const http::Headers& headers, std::string_view operation, bool reads) {
  for (const auto& [name, value] : headers.all()) {
    if (!starts_with_ignoring_case(name, kHeaderPrefix)) continue;
    const AmzHeader* row = find_amz_header(name, operation);
    if (row && row->use == kRefused && !lists(row->harmless, value)) refuse_header(name, row->note);
    if (!row && !reads && !is_known(name)) refuse_header(name, "unknown to this server");
  }
}

}  // namespace tarn::s3

// The exact bytes of the answers, and the reading of request documents.
#include "s3gateway/xml/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/bucket_documents.h"

namespace tarn::s3::xml {
namespace {

using testing::ElementsAre;

const Instant kTime = *parse_rfc3339("2026-11-20T08:15:42.605Z");
const std::string kTimeText = "2026-11-20T08:15:42.605Z";
const Checksum kCrc32{"crc32", false, *from_hex("cbf43926"), 0};

/// With the declaration and the namespace put in.
std::string document(std::string_view root, std::string_view inside) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<" + std::string(root) +
         " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" + std::string(inside) + "</" +
         std::string(root) + ">";
}

Listing listing() {
  Listing out;
  out.bucket = "lake";
  out.prefix = "main/a b";
  out.delimiter = "/";
  out.max_keys = 2;
  out.truncated = true;
  out.objects.push_back({"main/a b+<", kTime, "abc", 7, "STANDARD", "CRC32", "FULL_OBJECT"});
  out.common_prefixes.push_back("main/a b/");
  return out;
}

TEST(XmlDocuments, WriteErrors) {
  EXPECT_EQ(
      to_xml(ErrorDocument{
          "NoSuchKey", "It is <gone>.", "/lake/main/a", "r1", "h1", {{"Key", "main/a"}}}),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code>"
      "<Message>It is &lt;gone&gt;.</Message><Key>main/a</Key><Resource>/lake/main/a</Resource>"
      "<RequestId>r1</RequestId><HostId>h1</HostId></Error>");
}

TEST(XmlDocuments, WriteTheAnswerToAForm) {
  EXPECT_EQ(to_xml(PostResponse{"http://h/lake/main/a%26b", "lake", "main/a&b", "abc"}),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PostResponse>"
            "<Location>http://h/lake/main/a%26b</Location><Bucket>lake</Bucket>"
            "<Key>main/a&amp;b</Key><ETag>&quot;abc&quot;</ETag></PostResponse>");
}

TEST(XmlDocuments, WriteBuckets) {
  ListAllMyBucketsResult result;
  result.buckets = {{"lake", kTime}};
  result.region = "us-east-1";
  result.owner = {"id", "name"};
  EXPECT_EQ(
      to_xml(result),
      document("ListAllMyBucketsResult",
               "<Buckets><Bucket><BucketRegion>us-east-1</BucketRegion><CreationDate>" + kTimeText +
                   "</CreationDate><Name>lake</Name></Bucket></Buckets>"
                   "<Owner><ID>id</ID><DisplayName>name</DisplayName></Owner>"));
  result.buckets.clear();
  result.continuation_token = "t";
  result.prefix = "l";
  EXPECT_EQ(to_xml(result),
            document("ListAllMyBucketsResult",
                     "<Buckets></Buckets><Owner><ID>id</ID><DisplayName>name</DisplayName></Owner>"
                     "<ContinuationToken>t</ContinuationToken><Prefix>l</Prefix>"));
}

TEST(XmlDocuments, WriteListingsOfTheSecondVersion) {
  ListObjectsV2Result result;
  result.listing = listing();
  result.next_continuation_token = "t";
  EXPECT_EQ(
      to_xml(result),
      document("ListBucketResult",
               "<Name>lake</Name><Prefix>main/a "
               "b</Prefix><NextContinuationToken>t</NextContinuationToken>"
               "<KeyCount>2</KeyCount><MaxKeys>2</MaxKeys><Delimiter>/</Delimiter>"
               "<IsTruncated>true</IsTruncated><Contents><Key>main/a b+&lt;</Key><LastModified>" +
                   kTimeText +
                   "</LastModified><ETag>&quot;abc&quot;</ETag><ChecksumAlgorithm>CRC32</"
                   "ChecksumAlgorithm>"
                   "<ChecksumType>FULL_OBJECT</ChecksumType><Size>7</Size>"
                   "<StorageClass>STANDARD</StorageClass></Contents>"
                   "<CommonPrefixes><Prefix>main/a b/</Prefix></CommonPrefixes>"));
}

TEST(XmlDocuments, EncodeEveryNameWhenAskedTo) {
  ListObjectsV2Result result;
  result.listing = listing();
  result.listing.url_encoding = true;
  result.start_after = "x y";
  result.continuation_token = "t0";
  const std::string text = to_xml(result);
  EXPECT_THAT(text, testing::HasSubstr("<Prefix>main/a%20b</Prefix><StartAfter>x%20y</StartAfter>"
                                       "<ContinuationToken>t0</ContinuationToken>"));
  EXPECT_THAT(text, testing::HasSubstr("<Delimiter>/</Delimiter><EncodingType>url</EncodingType>"));
  EXPECT_THAT(text, testing::HasSubstr("<Key>main/a%20b%2B%3C</Key>"));
  EXPECT_THAT(text,
              testing::HasSubstr("<CommonPrefixes><Prefix>main/a%20b/</Prefix></CommonPrefixes>"));
}

TEST(XmlDocuments, WriteListingsOfTheFirstVersion) {
  ListObjectsV1Result result;
  result.listing = listing();
  result.listing.objects.clear();
  result.listing.owner = Owner{"id", "name"};
  EXPECT_EQ(
      to_xml(result),
      document("ListBucketResult",
               "<Name>lake</Name><Prefix>main/a b</Prefix><Marker></Marker><MaxKeys>2</MaxKeys>"
               "<Delimiter>/</Delimiter><IsTruncated>true</IsTruncated>"
               "<CommonPrefixes><Prefix>main/a b/</Prefix></CommonPrefixes>"));
  result.next_marker = "main/a b/";
  result.marker = "m";
  EXPECT_THAT(to_xml(result),
              testing::HasSubstr("<Marker>m</Marker><NextMarker>main/a b/</NextMarker>"));
}

TEST(XmlDocuments, WriteVersions) {
  ListVersionsResult result;
  result.listing = listing();
  result.listing.common_prefixes.clear();
  result.listing.owner = Owner{"id", "name"};
  result.versions.push_back({result.listing.objects.at(0), "null"});
  result.listing.objects.clear();
  ListedVersion marker;
  marker.object.key = "main/a b+<";
  marker.object.modified = kTime;
  marker.version_id = "0123";
  marker.latest = false;
  marker.delete_marker = true;
  result.versions.push_back(marker);
  result.next_key_marker = "main/a b+<";
  result.next_version_id_marker = "null";
  EXPECT_EQ(
      to_xml(result),
      document(
          "ListVersionsResult",
          "<Name>lake</Name><Prefix>main/a b</Prefix><KeyMarker></KeyMarker>"
          "<VersionIdMarker></VersionIdMarker><NextKeyMarker>main/a b+&lt;</NextKeyMarker>"
          "<NextVersionIdMarker>null</NextVersionIdMarker><MaxKeys>2</MaxKeys>"
          "<Delimiter>/</Delimiter><IsTruncated>true</IsTruncated><Version><Key>main/a b+&lt;</Key>"
          "<VersionId>null</VersionId><IsLatest>true</IsLatest><LastModified>" +
              kTimeText +
              "</LastModified><ETag>&quot;abc&quot;</ETag><ChecksumAlgorithm>CRC32</"
              "ChecksumAlgorithm>"
              "<ChecksumType>FULL_OBJECT</ChecksumType><Size>7</Size>"
              "<StorageClass>STANDARD</StorageClass><Owner><ID>id</ID><DisplayName>name</"
              "DisplayName>"
              "</Owner></Version><DeleteMarker><Key>main/a b+&lt;</Key><VersionId>0123</VersionId>"
              "<IsLatest>false</IsLatest><LastModified>" +
              kTimeText +
              "</LastModified><Owner><ID>id</ID><DisplayName>name</DisplayName></Owner>"
              "</DeleteMarker>"));
}

TEST(XmlDocuments, WriteCopies) {
  EXPECT_EQ(
      to_xml(CopyObjectResult{"abc", kTime, {kCrc32}}),
      document("CopyObjectResult", "<ETag>&quot;abc&quot;</ETag><LastModified>" + kTimeText +
                                       "</LastModified><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32>"
                                       "<ChecksumType>FULL_OBJECT</ChecksumType>"));
  EXPECT_EQ(
      to_xml(CopyPartResult{"abc", kTime, {kCrc32}}),
      document("CopyPartResult", "<ETag>&quot;abc&quot;</ETag><LastModified>" + kTimeText +
                                     "</LastModified><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32>"));
}

TEST(XmlDocuments, ReadAndAnswerDeletions) {
  const DeleteRequest request = parse_delete(
      "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>"
      "<Object><Key>main/a&amp;b</Key><VersionId>null</VersionId></Object>"
      "<Object><Key>main/ c </Key><ETag>\"e\"</ETag><Size>3</Size>"
      "<LastModifiedTime>2026-11-20T08:15:42Z</LastModifiedTime></Object></Delete>");
  EXPECT_TRUE(request.quiet);
  ASSERT_EQ(request.objects.size(), 2u);
  EXPECT_EQ(request.objects[0].key, "main/a&b");
  EXPECT_EQ(request.objects[0].version_id, "null");
  EXPECT_EQ(request.objects[1].key, "main/ c ");
  EXPECT_EQ(request.objects[1].etag, "\"e\"");
  EXPECT_EQ(request.objects[1].size, "3");
  EXPECT_EQ(request.objects[1].modified, "2026-11-20T08:15:42Z");

  EXPECT_EQ(
      to_xml(
          DeleteResult{{{"main/a", std::nullopt}}, {{"tag/b", "null", "MethodNotAllowed", "no"}}}),
      document(
          "DeleteResult",
          "<Deleted><Key>main/a</Key></Deleted><Error><Key>tag/b</Key><VersionId>null</VersionId>"
          "<Code>MethodNotAllowed</Code><Message>no</Message></Error>"));
}

TEST(XmlDocuments, RefuseDeletionsWithoutOrWithTooManyKeys) {
  EXPECT_THROW(parse_delete("<Delete></Delete>"), Refusal);
  EXPECT_THROW(parse_delete("<Delete><Object><Key>k</Key><Sise>1</Sise></Object></Delete>"),
               Refusal)
      << "a condition that is not understood";
  EXPECT_THROW(parse_delete("<Delete><Object></Object></Delete>"), Refusal);
  EXPECT_THROW(parse_delete("<Delete><Object><Key></Key></Object></Delete>"), Refusal);
  std::string many = "<Delete>";
  for (size_t i = 0; i < kDeleteKeysMax; ++i) many += "<Object><Key>k</Key></Object>";
  EXPECT_EQ(parse_delete(many + "</Delete>").objects.size(), kDeleteKeysMax);
  EXPECT_THROW(parse_delete(many + "<Object><Key>k</Key></Object></Delete>"), Refusal);
}

TEST(XmlDocuments, ReadCompletions) {
  const CompleteRequest request = parse_complete(
      "<CompleteMultipartUpload><Part><ETag>\"abc\"</ETag><PartNumber>1</PartNumber>"
      "<ChecksumCRC32>y/Q5Jg==</ChecksumCRC32></Part>"
      "<Part><PartNumber>3</PartNumber><ETag>&quot;def&quot;</ETag></Part></"
      "CompleteMultipartUpload>");
  ASSERT_EQ(request.parts.size(), 2u);
  EXPECT_EQ(request.parts[0].number, 1u);
  EXPECT_EQ(request.parts[0].etag, "abc");
  EXPECT_THAT(request.parts[0].checksums, ElementsAre(kCrc32));
  EXPECT_EQ(request.parts[1].number, 3u);
  EXPECT_EQ(request.parts[1].etag, "def");
  EXPECT_TRUE(parse_complete("<CompleteMultipartUpload/>").parts.empty());
}

TEST(XmlDocuments, RefuseIncompleteCompletions) {
  for (std::string_view part :
       {"<ETag>a</ETag>", "<PartNumber>1</PartNumber>", "<PartNumber>x</PartNumber><ETag>a</ETag>",
        "<PartNumber>-1</PartNumber><ETag>a</ETag>",
        "<PartNumber>1</PartNumber><ETag>a</ETag><ChecksumCRC32>x</ChecksumCRC32>"}) {
    EXPECT_THROW(parse_complete("<CompleteMultipartUpload><Part>" + std::string(part) +
                                "</Part></CompleteMultipartUpload>"),
                 Refusal)
        << part;
  }
}

TEST(XmlDocuments, WriteMultipartAnswers) {
  EXPECT_EQ(to_xml(InitiateMultipartUploadResult{"lake", "main/a", "u"}),
            document("InitiateMultipartUploadResult",
                     "<Bucket>lake</Bucket><Key>main/a</Key><UploadId>u</UploadId>"));
  EXPECT_EQ(
      to_xml(CompleteMultipartUploadResult{"http://h/lake/main/a", "lake", "main/a", "abc-2", {}}),
      document("CompleteMultipartUploadResult",
               "<Location>http://h/lake/main/a</Location><Bucket>lake</Bucket><Key>main/a</Key>"
               "<ETag>&quot;abc-2&quot;</ETag>"));
  ListPartsResult parts;
  parts.bucket = "lake";
  parts.key = "main/a";
  parts.upload_id = "u";
  parts.owner = {"admin", "admin"};
  parts.storage_class = "STANDARD";
  parts.next_part_number_marker = 1;
  parts.max_parts = 1;
  parts.truncated = true;
  parts.checksum_algorithm = "CRC32";
  parts.checksum_type = "COMPOSITE";
  parts.parts.push_back({1, kTime, "abc", 5, {kCrc32}});
  EXPECT_EQ(
      to_xml(parts),
      document(
          "ListPartsResult",
          "<Bucket>lake</Bucket><Key>main/a</Key><UploadId>u</UploadId>"
          "<PartNumberMarker>0</PartNumberMarker><NextPartNumberMarker>1</NextPartNumberMarker>"
          "<MaxParts>1</MaxParts><IsTruncated>true</IsTruncated><Part><PartNumber>1</PartNumber>"
          "<LastModified>" +
              kTimeText +
              "</LastModified><ETag>&quot;abc&quot;</ETag><Size>5</Size>"
              "<ChecksumCRC32>y/Q5Jg==</ChecksumCRC32></Part>"
              "<Initiator><ID>admin</ID><DisplayName>admin</DisplayName></Initiator>"
              "<Owner><ID>admin</ID><DisplayName>admin</DisplayName></Owner>"
              "<StorageClass>STANDARD</StorageClass><ChecksumAlgorithm>CRC32</ChecksumAlgorithm>"
              "<ChecksumType>COMPOSITE</ChecksumType>"));
  ListMultipartUploadsResult uploads;
  uploads.bucket = "lake";
  uploads.delimiter = "/";
  uploads.max_uploads = 1000;
  uploads.url_encoding = true;
  uploads.uploads.push_back({"main/a b", "u", {"admin", "admin"}, kTime, "", ""});
  uploads.common_prefixes.push_back("main/d/");
  EXPECT_EQ(
      to_xml(uploads),
      document(
          "ListMultipartUploadsResult",
          "<Bucket>lake</Bucket><KeyMarker></KeyMarker><UploadIdMarker></UploadIdMarker>"
          "<Prefix></Prefix><Delimiter>/</Delimiter><EncodingType>url</EncodingType>"
          "<MaxUploads>1000</MaxUploads><IsTruncated>false</IsTruncated><Upload>"
          "<Key>main/a%20b</Key><UploadId>u</UploadId>"
          "<Initiator><ID>admin</ID><DisplayName>admin</DisplayName></Initiator>"
          "<Owner><ID>admin</ID><DisplayName>admin</DisplayName></Owner>"
          "<StorageClass>STANDARD</StorageClass><Initiated>" +
              kTimeText +
              "</Initiated></Upload><CommonPrefixes><Prefix>main/d/</Prefix></CommonPrefixes>"));
}

TEST(XmlDocuments, ReadAndWriteTags) {
  const Metadata tags{{"a", "1"}, {"b", ""}};
  EXPECT_EQ(parse_tagging(tagging_to_xml(tags)), tags);
  EXPECT_EQ(tagging_to_xml({}), document("Tagging", "<TagSet></TagSet>"));
  EXPECT_EQ(parse_tagging("<Tagging><TagSet/></Tagging>"), Metadata{});
  for (std::string_view inside :
       {"", "<TagSet><Tag><Key>a</Key></Tag></TagSet>", "<TagSet><X/></TagSet>",
        "<TagSet><Tag><Key>a</Key><Value/></Tag><Tag><Key>a</Key><Value/></Tag></TagSet>",
        "<TagSet/><TagSet/>"}) {
    EXPECT_THROW(parse_tagging("<Tagging>" + std::string(inside) + "</Tagging>"), Refusal)
        << inside;
  }
}

TEST(XmlDocuments, WriteFactsOfBuckets) {
  EXPECT_EQ(location_to_xml("us-east-1"), document("LocationConstraint", ""));
  EXPECT_EQ(location_to_xml("eu-west-1"), document("LocationConstraint", "eu-west-1"));
  EXPECT_EQ(versioning_to_xml(Versioning::kOff), document("VersioningConfiguration", ""));
  EXPECT_EQ(versioning_to_xml(Versioning::kEnabled),
            document("VersioningConfiguration", "<Status>Enabled</Status>"));
  EXPECT_EQ(versioning_to_xml(Versioning::kSuspended),
            document("VersioningConfiguration", "<Status>Suspended</Status>"));
  EXPECT_EQ(request_payment_to_xml(),
            document("RequestPaymentConfiguration", "<Payer>BucketOwner</Payer>"));
  EXPECT_EQ(parse_versioning_status(
                "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"),
            "Enabled");
  EXPECT_EQ(parse_versioning_status("<VersioningConfiguration/>"), "");
}

TEST(XmlDocuments, RefuseUnknownElementsThatChangeTheMeaning) {
  const auto code = [](auto parse) {
    try {
      parse();
    } catch (const Refusal& refusal) {
      return std::string(refusal.failure().code);
    }
    return std::string();
  };
  EXPECT_EQ(code([] {
              parse_versioning_status(
                  "<VersioningConfiguration><Status>Suspended</Status>"
                  "<MfaDelete>Enabled</MfaDelete></VersioningConfiguration>");
            }),
            "NotImplemented");
  for (const std::string element : {"Bucket", "Tags"}) {
    EXPECT_EQ(code([&] {
                check_creation("<CreateBucketConfiguration><" + element +
                               "/></CreateBucketConfiguration>");
              }),
              "NotImplemented");
  }
  EXPECT_EQ(code([] {
              check_creation(
                  "<CreateBucketConfiguration><LocationConstraint>eu</LocationConstraint>"
                  "</CreateBucketConfiguration>");
            }),
            "");
  EXPECT_EQ(code([] {
              parse_complete(
                  "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>a</ETag>"
                  "<ChecksumSHA512>x</ChecksumSHA512></Part></CompleteMultipartUpload>");
            }),
            "NotImplemented");
  EXPECT_EQ(
      code([] {
        parse_delete("<Delete><Object><Key>a</Key></Object><Recursive>true</Recursive></Delete>");
      }),
      "MalformedXML");
}

TEST(XmlDocuments, WriteObjectAttributes) {
  ObjectAttributesResult result;
  result.etag = "abc-1";
  result.checksums = {kCrc32};
  result.storage_class = "STANDARD";
  result.size_bytes = 5;
  ObjectAttributesResult::Parts parts;
  parts.total = 1;
  parts.next_marker = 1;
  parts.max_parts = 1000;
  parts.parts.push_back({1, 5, {kCrc32}});
  result.parts = parts;
  EXPECT_EQ(
      to_xml(result),
      document(
          "GetObjectAttributesResponse",
          "<ETag>abc-1</ETag><Checksum><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32>"
          "<ChecksumType>FULL_OBJECT</ChecksumType></Checksum><ObjectParts><PartsCount>1</"
          "PartsCount>"
          "<PartNumberMarker>0</PartNumberMarker><NextPartNumberMarker>1</NextPartNumberMarker>"
          "<MaxParts>1000</MaxParts><IsTruncated>false</IsTruncated><Part><PartNumber>1</"
          "PartNumber>"
          "<Size>5</Size><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32></Part></ObjectParts>"
          "<StorageClass>STANDARD</StorageClass><ObjectSize>5</ObjectSize>"));
  EXPECT_EQ(to_xml(ObjectAttributesResult{}), document("GetObjectAttributesResponse", ""));
}

/// Every document whose names can be encoded, with a name that XML 1.0 cannot hold in every place.
TEST(Documents, EncodedNamesAndEtagsAreTextThatParsersTake) {
  std::string name = "a/";
  for (char c = 1; c < 0x20; ++c) name += c;
  name += "\x7f\xef\xbf\xbe\xef\xbf\xbf<&>\"";
  Listing listing;
  listing.bucket = "lake";
  listing.prefix = listing.delimiter = name;
  listing.url_encoding = true;
  listing.common_prefixes = {name};
  listing.objects.push_back({name, kTime, "e\x01\x1f", 7, "STANDARD", "", ""});
  ListVersionsResult versions;
  versions.listing = listing;
  versions.key_marker = versions.next_key_marker = name;
  ListedVersion version;
  version.object = listing.objects[0];
  versions.versions = {version};
  version.delete_marker = true;
  versions.versions.push_back(version);
  ListMultipartUploadsResult uploads;
  uploads.prefix = uploads.delimiter = uploads.key_marker = uploads.next_key_marker = name;
  uploads.truncated = uploads.url_encoding = true;
  uploads.common_prefixes = {name};
  uploads.uploads.push_back({name, "u", {"admin", "admin"}, kTime, "", ""});
  ListPartsResult parts;
  parts.key = name;
  parts.url_encoding = true;
  for (const std::string& document : {to_xml(ListObjectsV1Result{listing, name, name}),
                                      to_xml(ListObjectsV2Result{listing, "t", name, "t"}),
                                      to_xml(versions), to_xml(uploads), to_xml(parts)}) {
    EXPECT_THAT(document, testing::HasSubstr("a/%01%02"));
    EXPECT_THAT(document, testing::HasSubstr("<EncodingType>url</EncodingType>"));
    EXPECT_THAT(document, testing::Not(testing::HasSubstr("&#")));
    EXPECT_TRUE(std::none_of(document.begin(), document.end(), [](char c) {
      return static_cast<unsigned char>(c) >= 0x7f || (c >= 0 && c < 0x20 && c != '\n');
    })) << document;
  }
}

}  // namespace
}  // namespace tarn::s3::xml

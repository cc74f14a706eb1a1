// Objects that S3Store writes, whole and in parts, when answers are lost or others write too.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/blob/s3_store_fixture.h"
#include "tests/support/blob_objects.h"

namespace tarn::blob {
namespace {

using testing::put;

TEST_F(S3StoreTest, LostPutAnswerIsRecognisedAsSuccess) {
  S3Store target = store();
  const auto writer = target.create("k", 1);
  writer->write("v");
  client_.answer(0);
  client_.answer(412, error_body("PreconditionFailed"));
  // Known only when it is sent, so the mark is read in a second round.
  EXPECT_EQ(thrown([&] { (void)writer->finish(); }).kind, "unavailable/unavailable");
  const http::Headers mark = mark_sent(0, 1);
  client_.answer(412, error_body("PreconditionFailed"));
  client_.answer(200, "", mark);
  EXPECT_TRUE(writer->finish());
}

TEST_F(S3StoreTest, ObjectCutShortByABrokenConnectionIsWrittenAgain) {
  S3Store target = store();
  const auto writer = target.create("k", 10);
  writer->write("0123456789");
  EXPECT_EQ(thrown([&] { (void)writer->finish(); }).kind, "unavailable/unavailable");
  client_.answer(412, error_body("PreconditionFailed"));
  client_.answer(200, "", mark_sent(0, 4));
  client_.answer(204);
  client_.answer(200);
  EXPECT_TRUE(writer->finish());
  const std::string url = "http://store.test:9000/b/k";
  const Lines lines = client_.lines();
  EXPECT_EQ(Lines(lines.end() - 4, lines.end()),
            (Lines{"PUT " + url, "HEAD " + url, "DELETE " + url, "PUT " + url}));
}

TEST_F(S3StoreTest, SendsAChecksumThatServersCanVerify) {
  client_.answer(200);
  put(*std::make_unique<S3Store>(options(), client_), "k", "123456789");
  // 0xe3069283: the check value of CRC-32C.
  EXPECT_EQ(headers_sent(0).get("x-amz-checksum-crc32c"), "4waSgw==");
}

TEST_F(S3StoreTest, ObjectOfModerateKnownSizeIsOnePut) {
  client_.answer(200);
  std::string object;
  object.resize(20'000'000, 'x');
  EXPECT_TRUE(put(*std::make_unique<S3Store>(options(), client_), "k", object));
  EXPECT_EQ(client_.lines(), Lines{"PUT http://store.test:9000/b/k"});
  EXPECT_EQ(client_.seen()[0].body.size(), 20'000'000u);
}

TEST_F(S3StoreTest, FewLargeBodiesAreHeldInMemoryAtOnce) {
  S3Store target = store();
  std::vector<std::unique_ptr<BlobWriter>> writers;
  constexpr uint64_t kLargest = 64 * 1024 * 1024;
  for (int i = 0; i < 4; ++i) writers.push_back(target.create("k", kLargest));
  client_.answer(404);  // the fifth is uploaded in parts: it checks, begins, and fails here
  const auto fifth = target.create("k", kLargest);
  EXPECT_EQ(
      thrown([&] { testing::write_in_pieces(*fifth, std::string(kS3PartBytesMin + 1, 'x')); }).kind,
      "unavailable/unavailable");
  EXPECT_EQ(client_.lines().at(1), "POST http://store.test:9000/b/k?uploads=");
  writers.pop_back();
  const auto sixth = target.create("k", kLargest);
  testing::write_in_pieces(*sixth, std::string(kS3PartBytesMin + 1, 'x'));
}

TEST_F(S3StoreTest, ObjectOfAnotherWriterIsNotOurs) {
  client_.answer(412, error_body("PreconditionFailed"));
  client_.answer(200, "", headers_of({{"x-amz-meta-tarn-writer", "someone"}}));
  EXPECT_FALSE(put(*std::make_unique<S3Store>(options(), client_), "k", "v"));
  EXPECT_EQ(headers_sent(0).get("if-none-match"), "*");
}

TEST_F(S3StoreTest, ChecksExistenceWhereTheServerLacksIfNoneMatch) {
  S3Store target = store();
  client_.answer(501, error_body("NotImplemented"));
  client_.answer(404);
  client_.answer(200);
  EXPECT_TRUE(put(target, "k", "v"));
  EXPECT_EQ(headers_sent(2).find("if-none-match"), nullptr);
  // The writer remembers this: the next one checks first and finds an object.
  client_.answer(200);
  client_.answer(200);
  EXPECT_FALSE(put(target, "k2", "v"));
  const std::string url = "http://store.test:9000/b/k";
  EXPECT_EQ(client_.lines(), (Lines{"PUT " + url, "HEAD " + url, "PUT " + url, "HEAD " + url + "2",
                                    "HEAD " + url + "2"}));
}

class S3UploadTest : public S3StoreTest {
 protected:
  /// Two parts are uploaded; what follows is up to the test.
  std::unique_ptr<BlobWriter> two_parts_written() {
    client_.answer(404);
    client_.answer(200, kBegun);
    client_.answer(200, "", headers_of({{"ETag", "\"e1\""}}));
    client_.answer(200, "", headers_of({{"ETag", "\"e2\""}}));
    auto writer = store_.create("k", std::nullopt);
    testing::write_in_pieces(*writer, std::string(kS3PartBytesMin + 1, 'x'));
    return writer;
  }
  static constexpr const char* kBegun =
      "<InitiateMultipartUploadResult><UploadId>u/1</UploadId></InitiateMultipartUploadResult>";
  const std::string url_ = "http://store.test:9000/b/k";
  S3Store store_ = store();
};

TEST_F(S3UploadTest, UploadsPartsAndCompletesThem) {
  const auto writer = two_parts_written();
  client_.answer(200,
                 "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>");
  EXPECT_TRUE(writer->finish());
  EXPECT_EQ(
      client_.lines(),
      (Lines{"HEAD " + url_,
             "POST " + url_ + "?uploads=", "PUT " + url_ + "?partNumber=1&uploadId=u%2F1",
             "PUT " + url_ + "?partNumber=2&uploadId=u%2F1", "POST " + url_ + "?uploadId=u%2F1"}));
  seen_ = client_.seen();
  EXPECT_EQ(seen_[2].body.size(), kS3PartBytesMin);
  EXPECT_EQ(seen_[3].body, "x");
  EXPECT_EQ(seen_[4].body,
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"e1\"</ETag></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>\"e2\"</ETag></Part></CompleteMultipartUpload>");
}

TEST_F(S3UploadTest, PartsHaveChecksumsWhichTheCompletionRepeats) {
  client_.answer(404);
  client_.answer(200, kBegun);
  const auto writer = store_.create("k", std::nullopt);
  client_.answer(200, "", headers_of({{"ETag", "\"e1\""}, {"x-amz-checksum-crc32c", "a+/b=="}}));
  client_.answer(200, "",
                 headers_of({{"ETag", "\"e2\""}}));  // of a server that has compared nothing
  client_.answer(200);
  testing::write_in_pieces(*writer, std::string(kS3PartBytesMin, 'x') + "123456789");
  EXPECT_TRUE(writer->finish());
  EXPECT_EQ(headers_sent(1).get("x-amz-checksum-algorithm"), "CRC32C");
  EXPECT_EQ(headers_sent(3).get("x-amz-checksum-crc32c"), "4waSgw==");
  EXPECT_EQ(body_sent(4),
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"e1\"</ETag>"
            "<ChecksumCRC32C>a+/b==</ChecksumCRC32C></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>\"e2\"</ETag></Part></CompleteMultipartUpload>");
}

TEST_F(S3UploadTest, ServersThatRefuseChecksumsOfPartsGetNone) {
  const auto begin = [&](BlobWriter& writer) {
    client_.answer(200, kBegun);
    client_.answer(200, "", headers_of({{"ETag", "e"}}));
    client_.answer(200, "", headers_of({{"ETag", "e"}}));
    client_.answer(200);
    testing::write_in_pieces(writer, std::string(kS3PartBytesMin + 1, 'x'));
    EXPECT_TRUE(writer.finish());
  };
  client_.answer(404);
  client_.answer(400, error_body("InvalidArgument"));
  begin(*store_.create("k", std::nullopt));
  EXPECT_EQ(headers_sent(2).find("x-amz-checksum-algorithm"), nullptr);
  EXPECT_EQ(headers_sent(3).find("x-amz-checksum-crc32c"), nullptr);
  client_.answer(404);
  begin(*store_.create("k2", std::nullopt));
  EXPECT_EQ(headers_sent(7).find("x-amz-checksum-algorithm"), nullptr);
}

TEST_F(S3UploadTest, RefusalForAnotherReasonLeavesTheNextPartsTheirChecksums) {
  for (size_t sent = 0; sent < 6; sent += 3) {
    client_.answer(404);
    client_.answer(400, error_body("ExpiredToken"));
    client_.answer(400, error_body("ExpiredToken"));
    const auto writer = store_.create("k", std::nullopt);
    EXPECT_NE(thrown([&] {
                testing::write_in_pieces(*writer, std::string(kS3PartBytesMin + 1, 'x'));
              }).kind,
              "");
    EXPECT_EQ(headers_sent(sent + 1).get("x-amz-checksum-algorithm"), "CRC32C");
  }
}

TEST_F(S3UploadTest, FailureInsideAnAnswerOf200IsAFailure) {
  auto writer = two_parts_written();
  client_.answer(200, error_body("InternalError"));
  EXPECT_EQ(thrown([&] { (void)writer->finish(); }).kind, "unavailable/unavailable");
  client_.answer(204);
  writer.reset();
  EXPECT_EQ(client_.lines().back(), "DELETE " + url_ + "?uploadId=u%2F1");
}

TEST_F(S3UploadTest, UploadGoneAfterALostAnswerIsLookedUp) {
  const auto writer = two_parts_written();
  client_.answer(404, error_body("NoSuchUpload"));
  client_.answer(200, "", headers_of({{"x-amz-meta-tarn-writer", "someone"}}));
  EXPECT_EQ(thrown([&] { (void)writer->finish(); }).kind, "unavailable/unavailable");
}

TEST_F(S3UploadTest, LostCompletionAnswerIsRecognisedAsSuccess) {
  const auto writer = two_parts_written();
  client_.answer(0);
  client_.answer(404, error_body("NoSuchUpload"));
  client_.answer(200, "", mark_sent(1, kS3PartBytesMin + 1));
  EXPECT_TRUE(writer->finish());
}

TEST_F(S3UploadTest, LosingTheRaceAtCompletionAbortsTheUpload) {
  const auto writer = two_parts_written();
  client_.answer(412, error_body("PreconditionFailed"));
  client_.answer(200, "", headers_of({{"x-amz-meta-tarn-writer", "someone"}}));
  client_.answer(204);
  EXPECT_FALSE(writer->finish());
  EXPECT_EQ(client_.lines().back(), "DELETE " + url_ + "?uploadId=u%2F1");
}

}  // namespace
}  // namespace tarn::blob

#include "server/api/user_metadata.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::api {
namespace {

TEST(MetadataOf, TakesTheTwoPrefixesInLowerCase) {
  http::Headers headers;
  headers.add("X-Lakefs-Meta-MyKey", "V");
  headers.add("x-lakefs-internal-Client-Mtime", "12");
  headers.add("X-Lakefs-Meta-", "no name");
  headers.add("Content-Type", "text/plain");
  EXPECT_EQ(metadata_of(headers), (Metadata{{"::lakefs::client-mtime", "12"}, {"mykey", "V"}}));
}

TEST(MetadataOf, ReadsWhatIsNotUtf8AsLatin1) {
  http::Headers headers;
  headers.add("X-Lakefs-Meta-a", "caf\xe9");
  headers.add("X-Lakefs-Meta-b", "caf\xc3\xa9");
  EXPECT_EQ(metadata_of(headers), (Metadata{{"a", "caf\xc3\xa9"}, {"b", "caf\xc3\xa9"}}));
}

TEST(CheckUserMetadata, HasALimit) {
  EXPECT_NO_THROW(check_user_metadata({{"k", std::string(kUserMetadataBytesMax - 1, 'x')}}));
  EXPECT_THROW(check_user_metadata({{"k", std::string(kUserMetadataBytesMax, 'x')}}), Error);
}

}  // namespace
}  // namespace tarn::api

#include "core/imports/import_job.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::imports {
namespace {

TEST(ImportJob, ItsFormsRoundTrip) {
  ImportRequest request;
  request.paths = {{ImportPath::Kind::kPrefix, "s3://b/p", "d/"},
                   {ImportPath::Kind::kObject, "local:///x", "k"}};
  request.commit = {"c", "m", {{"a", "b"}}, from_millis(5), false, false};
  request.force = true;
  const ImportRequest back = decode_import_request(encode_import_request(request));
  EXPECT_EQ(encode_import_request(back), encode_import_request(request));
  EXPECT_EQ(back.paths[1].destination, "k");
  ImportCheckpoint at{3, 5, "key", {}};
  at.root.nid = 77;
  EXPECT_EQ(decode_import_checkpoint(encode_import_checkpoint(at)).root.nid, 77);
  EXPECT_EQ(decode_import_checkpoint("").path, 0u);
  EXPECT_THROW(decode_import_request("\x09"), Error);
}

TEST(ImportJob, OverlappingDestinationsAreJoined) {
  const auto out = joined({{"b", "d"}, {"a", "c"}, {"x", ""}, {"y", "z"}, {"e", "f"}});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].begin + out[0].end, "ad");
  EXPECT_EQ(out[1].begin + out[1].end, "ef");
  EXPECT_EQ(out[2].begin + "|" + out[2].end, "x|");
}

}  // namespace
}  // namespace tarn::imports

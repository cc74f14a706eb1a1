#include "core/tree/entry_fields.h"

#include <gtest/gtest.h>

namespace tarn::tree {
namespace {

const std::string kDigest = content_digest(std::string(32, '\1'));
const std::string kOtherDigest = content_digest(std::string(32, '\2'));

Entry sample_entry() {
  Entry entry;
  entry.size_bytes = 300;
  entry.etag = "5d41402abc4b2a76b9719d911017c592";
  entry.address = OwnAddress{{1}};
  entry.content_type = "text/plain";
  entry.set_user_metadata({{"a", "1"}});
  return entry;
}

Entry with(Address address, const std::string& digest = "", const std::string& version = "") {
  Entry entry = sample_entry();
  entry.address = std::move(address);
  entry.extras.set(ExtraTag::kContentDigest, digest);
  if (!version.empty()) entry.set_source_version({version, 300, 1, ""});
  return entry;
}

struct Pair {
  const char* what;
  Entry one;
  Entry other;
  bool same;
};

const OwnAddress kOwn{{1}};
const OwnAddress kElsewhere{{2}};
const ForeignAddress kForeign{RepositoryId{2}, kOwn};
const ExternalAddress kUrl{"s3://bucket/a/b"};

TEST(Sameness, FollowsAddressesAndDigestsOfServers) {
  Entry empty = with(kOwn);
  empty.size_bytes = 0;
  Entry empty_elsewhere = with(kElsewhere);
  empty_elsewhere.size_bytes = 0;
  Entry empty_url = with(kUrl);
  empty_url.size_bytes = 0;
  const Pair pairs[] = {
      {"one address", with(kOwn), with(kOwn), true},
      {"one address, recorded by two versions of the server", with(kOwn), with(kOwn, kDigest),
       true},
      {"one address, though digests differ", with(kOwn, kOtherDigest), with(kOwn, kDigest), true},
      {"two addresses and one etag", with(kOwn), with(kElsewhere), false},
      {"two addresses, one digest known", with(kOwn), with(kElsewhere, kDigest), false},
      {"two addresses, equal digests", with(kOwn, kDigest), with(kElsewhere, kDigest), true},
      {"two addresses, other digests", with(kOwn, kOtherDigest), with(kElsewhere, kDigest), false},
      {"one list of parts", with(PartListAddress{3}), with(PartListAddress{3}), true},
      {"two lists of parts", with(PartListAddress{3}), with(PartListAddress{4}), false},
      {"two lists, equal digests", with(PartListAddress{3}, kDigest),
       with(PartListAddress{4}, kDigest), true},
      {"bytes of another repository", with(kForeign), with(kForeign), true},
      {"the same number in another repository", with(kForeign), with(kOwn), false},
      {"a copy from there", with(kForeign, kDigest), with(kElsewhere, kDigest), true},
      {"sent to the store once", with(kOwn, "", "v"), with(kOwn, "", "v"), true},
      {"sent to the store again", with(kOwn, "", "v"), with(kOwn, "", "w"), false},
      {"staged again by its address", with(kOwn), with(kOwn, "", "v"), true},
      {"one URL", with(kUrl, "", "v"), with(kUrl, "", "v"), true},
      {"one URL at two times", with(kUrl, "", "v"), with(kUrl, "", "w"), false},
      {"two URLs", with(kUrl, "", "v"), with(ExternalAddress{"s3://bucket/a/c"}, "", "v"), false},
      {"two folders", with(kUrl), with(ExternalAddress{"s3://bucket/x/b"}), false},
      {"a URL and an address", with(kUrl, kDigest), with(kOwn, kDigest), false},
      {"nothing, twice", empty, empty_elsewhere, true},
      {"nothing, here and at a source", empty, empty_url, false},
  };
  for (const Pair& pair : pairs) {
    EXPECT_EQ(same_bytes(pair.one, pair.other), pair.same) << pair.what;
    EXPECT_EQ(same_bytes(pair.other, pair.one), pair.same) << pair.what;
    EXPECT_EQ(same_content(pair.one, pair.other), pair.same) << pair.what;
  }
}

TEST(Sameness, EtagAndAttributesAreContentButNoBytes) {
  Entry etag = with(kOwn, kDigest), type = etag, extra = etag, unknown = etag, later = etag;
  etag.etag = "5d41402abc4b2a76b9719d911017c592-1";
  type.content_type = "text/html";
  extra.extras.set(ExtraTag::kCacheControl, "no-store");
  unknown.extras.set(static_cast<ExtraTag>(4000000000), "a tag of a later version");
  for (const Entry& other : {etag, type, extra, unknown}) {
    EXPECT_TRUE(same_bytes(with(kOwn, kDigest), other));
    EXPECT_FALSE(same_content(with(kOwn, kDigest), other));
    EXPECT_FALSE(same_content(other, with(kOwn, kDigest)));
  }
  later.mtime += std::chrono::hours{1};
  EXPECT_TRUE(same_content(with(kOwn, kDigest), later)) << "time does not count";
  Entry size = with(kOwn, kDigest);
  size.size_bytes = 301;
  EXPECT_FALSE(same_bytes(with(kOwn, kDigest), size));
  // The etag of an import is the mark of its source.
  Entry url = with(kUrl);
  url.etag = "another";
  EXPECT_FALSE(same_bytes(with(kUrl), url));
}

}  // namespace
}  // namespace tarn::tree

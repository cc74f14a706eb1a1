// Values against bytes that a program in another language made after lakeFS's schema.
#include "core/sstable/record.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace tarn::sstable {
namespace {

TEST(EntryValue, IsIdentityAndMessage) {
  Entry entry;
  entry.size_bytes = 300;
  entry.mtime = from_millis(1'700'000'000'250);
  entry.etag = "d41d8cd98f00b204e9800998ecf8427e";
  entry.content_type = "text/csv";
  entry.set_user_metadata({{"b", "2"}, {"a", ""}});
  EXPECT_EQ(to_hex(entry_value(entry, "data/00000000000000000000/00000000000000000001", true)),
            "40"                                                                // 32 bytes
            "660d1e7af8e6fc4806228ffebd67498e6e350088454192be19d631000c9246c0"  // identity
            "fa01"                                                              // 125 bytes
            "0a2e646174612f30303030303030303030303030303030303030302f3030303030"
            "303030303030303030303030303031"  // address
            "120b0880e2cfaa061080e59a77"      // last_modified: seconds, nanos
            "18ac02"                          // size
            "2220643431643863643938663030623230346539383030393938656366383432"
            "3765"                            // e_tag
            "2a050a016112002a060a0162120132"  // metadata
            "3001"                            // address_type
            "3a08746578742f637376");          // content_type
}

TEST(EntryValue, OmitsDefaultsAndEncodesTimesBefore1970) {
  Entry entry;
  entry.mtime = from_millis(-1);
  EXPECT_EQ(to_hex(entry_value(entry, "s3://b/k", false)),
            "4050ea63d5dfe7d03af61561b46517c13f6ad3cd9a6f42ed5b53df52435501f803"
            "3e0a0873333a2f2f622f6b121108ffffffffffffffffff0110c08faedc033002");
}

TEST(EntryValue, ReplacesInvalidUtf8) {
  Entry entry;
  entry.etag = "\xff\xe4";
  entry.content_type = "text/\xfc";
  entry.set_user_metadata({{"name", "gr\xfcn"}, {"good", "gr\xc3\xbcn"}});
  const std::string value = entry_value(entry, "s3://b/\xc3\xa9", false);
  const std::string_view message = std::string_view(value).substr(1 + 32 + 2);
  EXPECT_TRUE(is_utf8(message.substr(message.find("name"), 4 + 2 + 5)));
  EXPECT_NE(message.find("gr\xef\xbf\xbdn"), std::string_view::npos);
  EXPECT_NE(message.find("gr\xc3\xbcn"), std::string_view::npos);
  EXPECT_NE(message.find("text/\xef\xbf\xbd"), std::string_view::npos);
  EXPECT_NE(message.find("s3://b/\xc3\xa9"), std::string_view::npos);
  EXPECT_EQ(message.find('\xfc'), std::string_view::npos);
}

TEST(RangeValue, IsIdAndMessage) {
  std::string id;
  for (int i = 0; i < 32; ++i) id += "ab";
  EXPECT_EQ(to_hex(range_value(
                {.id = id, .min_key = "a", .max_key = "b/c", .estimated_bytes = 300, .count = 2})),
            "8001" + to_hex(id) + "1a" + "0a0161" + "1203622f63" + "18ac02" + "2002");
}

}  // namespace
}  // namespace tarn::sstable

#include "server/api/object_answer.h"

#include <gtest/gtest.h>

namespace tarn::api {
namespace {

TEST(Disposition, NamesTheFile) {
  EXPECT_EQ(content_disposition("inline", "a.txt"), "inline; filename=\"a.txt\"");
  EXPECT_EQ(content_disposition("attachment", "dir/sub/a b.txt"),
            "attachment; filename=\"a b.txt\"");
  EXPECT_EQ(content_disposition("attachment", "dir/"), "attachment");
  EXPECT_EQ(content_disposition("attachment", ""), "attachment");
}

TEST(Disposition, UsesUtf8ForNonAsciiNames) {
  EXPECT_EQ(content_disposition("inline", "d/gr\xC3\xBCn.txt"),
            "inline; filename=\"gr__n.txt\"; filename*=UTF-8''gr%C3%BCn.txt");
}

TEST(Disposition, CannotBeBrokenByAName) {
  EXPECT_EQ(content_disposition("inline", "a\"; x=\"\\\r\nSet-Cookie: y"),
            "inline; filename=\"a_; x=____Set-Cookie: y\"; "
            "filename*=UTF-8''a%22%3B%20x%3D%22%5C%0D%0ASet-Cookie%3A%20y");
  EXPECT_EQ(content_disposition("inline", "100%41"),
            "inline; filename=\"100_41\"; filename*=UTF-8''100%2541");
  EXPECT_EQ(content_disposition("inline", "\xff"), "inline; filename=\"_\"");
}

}  // namespace
}  // namespace tarn::api

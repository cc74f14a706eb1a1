#include "core/model/object_version.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

TEST(VersionId, RoundTrips) {
  const VersionId id = new_version_id();
  EXPECT_EQ(to_text(id).size(), 32u);
  EXPECT_EQ(parse_version_id(to_text(id)), id);
  EXPECT_EQ(version_id_from_bytes(view_of(id)), id);
  EXPECT_NE(new_version_id(), id);
}

TEST(VersionId, RefusesOtherTexts) {
  const std::string text = to_text(new_version_id());
  for (const std::string& other :
       {std::string(), std::string("null"), text.substr(1), text + "0", std::string(32, 'A'),
        std::string(32, 'g'), std::string(64, 'a')}) {
    EXPECT_FALSE(parse_version_id(other)) << other;
  }
  EXPECT_THROW(version_id_from_bytes("short"), Error);
}

}  // namespace
}  // namespace tarn

// The XML response of ListBuckets.
#pragma once

#include <string>
#include <vector>

#include "core/base/time.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html
struct ListAllMyBucketsResult {
  struct Bucket {
    std::string name;
    Instant created{};
  };
  std::vector<Bucket> buckets;
  std::string region;  ///< region of every bucket
  Owner owner;
  std::string continuation_token;  ///< "" = last page
  std::string prefix;
};
std::string to_xml(const ListAllMyBucketsResult& result);

}  // namespace tarn::s3::xml

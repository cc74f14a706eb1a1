// A reader of the XML documents in S3 requests.
#pragma once

#include <string_view>

#include "core/xml/reader.h"

namespace tarn::s3::xml {

/// An XmlReader that throws Refusal MalformedXML.
class Reader : public XmlReader {
 public:
  /// `document` must outlive the reader.
  explicit Reader(std::string_view document);
};

}  // namespace tarn::s3::xml

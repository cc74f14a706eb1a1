#include "s3gateway/xml/reader.h"

#include "core/base/str_cat.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3::xml {
namespace {

[[noreturn]] void refuse(std::string_view why) {
  throw Refusal(failure::kMalformedXml,
                str_cat("The XML you provided was not well-formed or did not validate against our "
                        "published schema: ",
                        why, "."));
}

}  // namespace

Reader::Reader(std::string_view document) : XmlReader(document, &refuse) {}

}  // namespace tarn::s3::xml

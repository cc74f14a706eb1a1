// Access control lists: who has access to a bucket or an object.
#pragma once

#include <string>
#include <string_view>

#include "s3gateway/xml/elements.h"

namespace tarn::s3::xml {

/// Grants of a list, as far as they differ here.
enum class AclGrants {
  kOwner,       ///< the owner has full control, and nobody else is named
  kPublicRead,  ///< and everybody may read
  kPublic,      ///< everybody, or every account, has other permissions
  kOther,       ///< anything else
};

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAcl.html
/// kOwner or kPublicRead.
std::string acl_to_xml(const Owner& owner, bool public_read);
/// An AccessControlPolicy. Throws MalformedXML.
AclGrants parse_acl(std::string_view document, const Owner& owner);

}  // namespace tarn::s3::xml

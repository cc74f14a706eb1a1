// The XML of access control lists.
#pragma once

#include <string>
#include <string_view>

#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

/// The meaning of a list, as far as this server distinguishes.
enum class AclGrants {
  kOwner,       ///< the owner has full control, nobody else has access
  kPublicRead,  ///< as kOwner, and everybody may read
  kPublic,      ///< everybody, or every account, has other permissions
  kOther,       ///< anything else
};

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAcl.html
/// kOwner or kPublicRead.
std::string acl_to_xml(const Owner& owner, bool public_read);
/// An AccessControlPolicy. Throws MalformedXML.
AclGrants parse_acl(std::string_view document, const Owner& owner);

}  // namespace tarn::s3::xml

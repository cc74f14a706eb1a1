// Access control lists in requests, and everybody's access to public-read buckets.
#pragma once

#include <string_view>

#include "core/model/bucket_settings.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/wire/endpoint.h"
#include "s3gateway/xml/bucket_documents.h"

namespace tarn::s3 {

/// The grants of an x-amz-acl value. Throws InvalidArgument for an unknown canned ACL.
xml::AclGrants canned_acl(std::string_view name);

/// The ACL of a request, from x-amz-acl or the document. Throws MissingSecurityHeader for neither,
/// InvalidRequest for both.
xml::AclGrants requested_acl(Call& call);

/// Throws for an ACL that grants access to others: AccessControlListNotSupported if ACLs are
/// disabled, AccessDenied if the public-access block forbids it.
void check_acl_permitted(const BucketSettings& settings, xml::AclGrants grants);

/// Whether the bucket has an ACL: only the bare name of a rooted bucket does.
bool has_list(const BucketName& name);
/// Whether the ACL that the bucket and its objects show grants reading to everybody.
bool shows_everybody(Call& call, std::string_view bucket, const BucketSettings& settings);

/// Throws unless the grants are those that the objects of the bucket have anyway: as
/// check_acl_permitted, and NotImplemented.
void check_object_grants(Call& call, std::string_view bucket, xml::AclGrants grants);
/// The same of the x-amz-acl of an upload or a copy, if it has one.
void check_object_acl(Call& call, std::string_view bucket);

/// The branch that becomes public together with the bucket. Throws NotImplemented, with the reason,
/// if the bucket cannot be made public.
BranchName require_publishable(Call& call, std::string_view bucket);
/// Checks the permission to make a branch public: fs:SetPublicAccess on the repository, and reading
/// and listing every object of the branch. Throws permission_denied.
void require_publication(Call& call, const RepositoryName& repository, const BranchName& branch);

/// Whether a request that no policy decides, signed or not, is permitted because the bucket is
/// public-read; records that repository in the call. Permits only reads and listings of objects in
/// the branch's current state.
bool everybody_may(Call& call, const Endpoint& endpoint);
/// Must be called after the response to such a request was made: throws AccessDenied unless the
/// bucket is still the same repository and public. So the response cannot come from a repository
/// that has taken over the name.
void confirm_public(Call& call, const Endpoint& endpoint);

/// Rejects an unsigned request that is not permitted.
[[noreturn]] void refuse_unsigned();

}  // namespace tarn::s3

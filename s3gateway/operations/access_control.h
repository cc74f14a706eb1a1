// Access control lists as requests put them, and what a public-read bucket lets everybody do.
#pragma once

#include <string_view>

#include "core/model/bucket_settings.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/wire/endpoint.h"
#include "s3gateway/xml/acl.h"

namespace tarn::s3 {

/// The list that x-amz-acl stands for. Throws InvalidArgument for what is no canned list.
xml::AclGrants canned_acl(std::string_view name);

/// The list that a request puts, by x-amz-acl or by its document. Throws MissingSecurityHeader when
/// there is neither, InvalidRequest when there are both.
xml::AclGrants requested_acl(Call& call);

/// Throws, for a list that lets others in: AccessControlListNotSupported where lists are disabled,
/// AccessDenied where the public-access block says so.
void check_acl_permitted(const BucketSettings& settings, xml::AclGrants grants);

/// Of an upload or a copy, whose x-amz-acl must say what is so anyway: throws as
/// check_acl_permitted, and NotImplemented.
void check_object_acl(Call& call, std::string_view bucket);

/// The branch that everybody reads when the bucket is made public. Throws NotImplemented, saying
/// why, unless it is a bucket that can be.
BranchName require_publishable(Call& call, std::string_view bucket);
/// Checks the permission to make a branch public: fs:SetPublicAccess on the repository, and reading
/// and listing every object of the branch. Throws permission_denied.
void require_publication(Call& call, const RepositoryName& repository, const BranchName& branch);

/// Whether an unsigned request is let in because the bucket is public-read; notes in the call which
/// repository that was. Only reads of objects as the branch shows them, and listings of them, are.
bool everybody_may(Call& call, const Endpoint& endpoint);
/// Once an answer is made for everybody: throws AccessDenied unless the bucket is still that
/// repository and public, so that no answer is of one that took its name meanwhile.
void confirm_public(Call& call, const Endpoint& endpoint);

/// Answers an unsigned request that is not let in.
[[noreturn]] void refuse_unsigned();

}  // namespace tarn::s3

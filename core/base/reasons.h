// Reasons of errors: the stable words that programs match on, in the body of an error over REST
// (`code`) and in the header X-Tarn-Error. docs/errors.md says what each means and what to do.
#pragma once

#include <string_view>

namespace tarn::reason {

// Requests
constexpr std::string_view kBadDigest = "bad_digest";
constexpr std::string_view kBodyIncomplete = "body_incomplete";
constexpr std::string_view kBodyTooLarge = "body_too_large";
constexpr std::string_view kBodyTooSlow = "body_too_slow";
constexpr std::string_view kCrossOrigin = "cross_origin";
constexpr std::string_view kHeadTooLarge = "head_too_large";
constexpr std::string_view kIdempotencyKeyReused = "idempotency_key_reused";
constexpr std::string_view kInDoubt = "in_doubt";
constexpr std::string_view kMalformedForm = "malformed_form";
constexpr std::string_view kMetadataTooLarge = "metadata_too_large";
constexpr std::string_view kOperationCancelled = "operation_cancelled";
constexpr std::string_view kOperationEnded = "operation_ended";
constexpr std::string_view kOperationNotFound = "operation_not_found";
constexpr std::string_view kOverloaded = "overloaded";
constexpr std::string_view kRangeNotSatisfiable = "range_not_satisfiable";
constexpr std::string_view kTooManyAttempts = "too_many_attempts";
constexpr std::string_view kTooManyOperations = "too_many_operations";
constexpr std::string_view kUnknownEndpoint = "unknown_endpoint";

// Access
constexpr std::string_view kAlreadyInitialized = "already_initialized";
constexpr std::string_view kInsufficientPermissions = "insufficient_permissions";
constexpr std::string_view kInvalidPolicy = "invalid_policy";
constexpr std::string_view kInvitationOver = "invitation_over";
constexpr std::string_view kLastAdministrator = "last_administrator";
constexpr std::string_view kNotInitialized = "not_initialized";
constexpr std::string_view kPolicyNotFound = "policy_not_found";
constexpr std::string_view kSetupTokenNeeded = "setup_token_needed";
constexpr std::string_view kTooManyCredentials = "too_many_credentials";
constexpr std::string_view kTooManyFailures = "too_many_failures";

// Repositories and branches
constexpr std::string_view kAliasHasName = "alias_has_name";
constexpr std::string_view kAliasNotFound = "alias_not_found";
constexpr std::string_view kBeingCollected = "being_collected";
constexpr std::string_view kBranchInUse = "branch_in_use";
constexpr std::string_view kBranchKeepsName = "branch_keeps_name";
constexpr std::string_view kBranchLocked = "branch_locked";
constexpr std::string_view kBranchMoved = "branch_moved";
constexpr std::string_view kBranchNotFound = "branch_not_found";
constexpr std::string_view kBucketChanged = "bucket_changed";
constexpr std::string_view kCollectionLost = "collection_lost";
constexpr std::string_view kCollectionNotFound = "collection_not_found";
constexpr std::string_view kCommitInUse = "commit_in_use";
constexpr std::string_view kCommitNotFound = "commit_not_found";
constexpr std::string_view kDefaultBranch = "default_branch";
constexpr std::string_view kDirtyBranch = "dirty_branch";
constexpr std::string_view kDumpNotFound = "dump_not_found";
constexpr std::string_view kExpired = "expired";
constexpr std::string_view kHoldNotFound = "hold_not_found";
constexpr std::string_view kMetarangeNotFound = "metarange_not_found";
constexpr std::string_view kNamespaceInUse = "namespace_in_use";
constexpr std::string_view kNamespaceNotWritable = "namespace_not_writable";
constexpr std::string_view kNoChanges = "no_changes";
constexpr std::string_view kNoMergeBase = "no_merge_base";
constexpr std::string_view kNotBare = "not_bare";
constexpr std::string_view kOwnedByAnotherDatabase = "owned_by_another_database";
constexpr std::string_view kParentNumberRequired = "parent_number_required";
constexpr std::string_view kProtectedAlias = "protected_alias";
constexpr std::string_view kProtectedBranch = "protected_branch";
constexpr std::string_view kProtectedTag = "protected_tag";
constexpr std::string_view kQuotaExceeded = "quota_exceeded";
constexpr std::string_view kQuotaNotFound = "quota_not_found";
constexpr std::string_view kRangeNotFound = "range_not_found";
constexpr std::string_view kReadOnlyRepository = "read_only_repository";
constexpr std::string_view kRebaseOfMerge = "rebase_of_merge";
constexpr std::string_view kRefAmbiguous = "ref_ambiguous";
constexpr std::string_view kRefNotFound = "ref_not_found";
constexpr std::string_view kRepositoryNotEmpty = "repository_not_empty";
constexpr std::string_view kRepositoryNotFound = "repository_not_found";
constexpr std::string_view kSourceMoved = "source_moved";
constexpr std::string_view kStageOccupied = "stage_occupied";
constexpr std::string_view kStagedOverlap = "staged_overlap";
constexpr std::string_view kTagExists = "tag_exists";
constexpr std::string_view kTagNotFound = "tag_not_found";
constexpr std::string_view kTaskNotFound = "task_not_found";
constexpr std::string_view kTooManyBranches = "too_many_branches";
constexpr std::string_view kTooManyCommits = "too_many_commits";

// Objects
constexpr std::string_view kAddressBusy = "address_busy";
constexpr std::string_view kAddressTaken = "address_taken";
constexpr std::string_view kBatchExpired = "batch_expired";
constexpr std::string_view kBytesMissing = "bytes_missing";
constexpr std::string_view kDigestUnknown = "digest_unknown";
constexpr std::string_view kEntityTooSmall = "entity_too_small";
constexpr std::string_view kInvalidKey = "invalid_key";
constexpr std::string_view kInvalidPart = "invalid_part";
constexpr std::string_view kInvalidPartNumber = "invalid_part_number";
constexpr std::string_view kInvalidPartOrder = "invalid_part_order";
constexpr std::string_view kKeyTooLong = "key_too_long";
constexpr std::string_view kLinkAddressDiffers = "link_address_differs";
constexpr std::string_view kLinkAddressEmpty = "link_address_empty";
constexpr std::string_view kLinkAddressExpired = "link_address_expired";
constexpr std::string_view kLinkAddressInvalid = "link_address_invalid";
constexpr std::string_view kMalformedParts = "malformed_parts";
constexpr std::string_view kMergeConflict = "merge_conflict";
constexpr std::string_view kNoObjectToMatch = "no_object_to_match";
constexpr std::string_view kNoSuchUpload = "no_such_upload";
constexpr std::string_view kNotWhatWasExpected = "not_what_was_expected";
constexpr std::string_view kObjectCorrupt = "object_corrupt";
constexpr std::string_view kObjectNotFound = "object_not_found";
constexpr std::string_view kObjectTooLarge = "object_too_large";
constexpr std::string_view kPartTooLarge = "part_too_large";
constexpr std::string_view kPresignUnsupported = "presign_unsupported";
constexpr std::string_view kSeriesNotFound = "series_not_found";
constexpr std::string_view kSizeMismatch = "size_mismatch";
constexpr std::string_view kTooManyUploads = "too_many_uploads";
constexpr std::string_view kTooMuchStaged = "too_much_staged";
constexpr std::string_view kUnplainPath = "unplain_path";
constexpr std::string_view kUnsafeName = "unsafe_name";
constexpr std::string_view kUrlExpired = "url_expired";
constexpr std::string_view kUrlInvalid = "url_invalid";
constexpr std::string_view kUrlMethod = "url_method";
constexpr std::string_view kUrlNotPermitted = "url_not_permitted";
constexpr std::string_view kUrlRevoked = "url_revoked";

// Stores
constexpr std::string_view kBucketNotFound = "bucket_not_found";
constexpr std::string_view kDirectoryTooDeep = "directory_too_deep";
constexpr std::string_view kDirectoryTooLarge = "directory_too_large";
constexpr std::string_view kForbiddenPath = "forbidden_path";
constexpr std::string_view kNoStoreCache = "no_store_cache";
constexpr std::string_view kSourceChanged = "source_changed";
constexpr std::string_view kSourceNotReadable = "source_not_readable";
constexpr std::string_view kStoreDamaged = "store_damaged";
constexpr std::string_view kStoreFailed = "store_failed";
constexpr std::string_view kStoreFull = "store_full";
constexpr std::string_view kStoreNotReadable = "store_not_readable";
constexpr std::string_view kStoreNotWritable = "store_not_writable";
constexpr std::string_view kStoreOutOfDescriptors = "store_out_of_descriptors";
constexpr std::string_view kStoreReadOnly = "store_read_only";

// Imports
constexpr std::string_view kImportEnded = "import_ended";
constexpr std::string_view kImportNotFound = "import_not_found";
constexpr std::string_view kImportSourceEmpty = "import_source_empty";
constexpr std::string_view kInvalidImportSource = "invalid_import_source";

// Pull requests
constexpr std::string_view kApprovalNotFound = "approval_not_found";
constexpr std::string_view kApprovalRequired = "approval_required";
constexpr std::string_view kChangesRequested = "changes_requested";
constexpr std::string_view kCommentNotFound = "comment_not_found";
constexpr std::string_view kNotCommentAuthor = "not_comment_author";
constexpr std::string_view kOwnCommits = "own_commits";
constexpr std::string_view kOwnPullRequest = "own_pull_request";
constexpr std::string_view kPullRequestMerged = "pull_request_merged";
constexpr std::string_view kPullRequestNotFound = "pull_request_not_found";
constexpr std::string_view kPullRequestNotMerged = "pull_request_not_merged";
constexpr std::string_view kPullRequestNotOpen = "pull_request_not_open";
constexpr std::string_view kReviewNotFound = "review_not_found";
constexpr std::string_view kTooManyComments = "too_many_comments";

// Runs, gates and promotion
constexpr std::string_view kAliasHasPolicy = "alias_has_policy";
constexpr std::string_view kCandidateNotFound = "candidate_not_found";
constexpr std::string_view kCheckFailedAlready = "check_failed_already";
constexpr std::string_view kCommitIdNeeded = "commit_id_needed";
constexpr std::string_view kDestinationDirty = "destination_dirty";
constexpr std::string_view kDestinationHasPolicy = "destination_has_policy";
constexpr std::string_view kDestinationMoved = "destination_moved";
constexpr std::string_view kMethodRefused = "method_refused";
constexpr std::string_view kNoCandidates = "no_candidates";
constexpr std::string_view kNoWinner = "no_winner";
constexpr std::string_view kNotAuthor = "not_author";
constexpr std::string_view kNotPromoted = "not_promoted";
constexpr std::string_view kNotRunOwner = "not_run_owner";
constexpr std::string_view kNotWhatWasMeasured = "not_what_was_measured";
constexpr std::string_view kObjectMissing = "object_missing";
constexpr std::string_view kPathsRefused = "paths_refused";
constexpr std::string_view kPolicyInvalid = "policy_invalid";
constexpr std::string_view kPolicyMoved = "policy_moved";
constexpr std::string_view kPolicyOfAnotherBranch = "policy_of_another_branch";
constexpr std::string_view kPromoterLostRight = "promoter_lost_right";
constexpr std::string_view kPromotionEnded = "promotion_ended";
constexpr std::string_view kPromotionJudgedAnew = "promotion_judged_anew";
constexpr std::string_view kPromotionNotFound = "promotion_not_found";
constexpr std::string_view kPromotionTaken = "promotion_taken";
constexpr std::string_view kRunEnded = "run_ended";
constexpr std::string_view kRunNotFound = "run_not_found";
constexpr std::string_view kSeveralCandidates = "several_candidates";
constexpr std::string_view kEvaluationNotFailed = "evaluation_not_failed";
constexpr std::string_view kEvaluationNotFound = "evaluation_not_found";
constexpr std::string_view kEvaluationInvalid = "evaluation_invalid";
constexpr std::string_view kExamplesDiffer = "examples_differ";
constexpr std::string_view kLeaseLost = "lease_lost";
constexpr std::string_view kTooManyObjects = "too_many_objects";
constexpr std::string_view kTooLarge = "too_large";
constexpr std::string_view kTooManyCandidates = "too_many_candidates";
constexpr std::string_view kTooManyChecks = "too_many_checks";
constexpr std::string_view kReviewChanged = "review_changed";
constexpr std::string_view kReviewMissing = "review_missing";
constexpr std::string_view kWinnerMoved = "winner_moved";

// Hooks and webhooks
constexpr std::string_view kActionFileInvalid = "action_file_invalid";
constexpr std::string_view kActionNotFound = "action_not_found";
constexpr std::string_view kDeliveryNotFound = "delivery_not_found";
constexpr std::string_view kHookFailed = "hook_failed";
constexpr std::string_view kHooksForbidden = "hooks_forbidden";
constexpr std::string_view kHooksOff = "hooks_off";
constexpr std::string_view kHooksTooDeep = "hooks_too_deep";
constexpr std::string_view kInvalidUrl = "invalid_url";
constexpr std::string_view kRunLost = "run_lost";
constexpr std::string_view kScriptDied = "script_died";
constexpr std::string_view kScriptNotStarted = "script_not_started";
constexpr std::string_view kScriptRequests = "script_requests";
constexpr std::string_view kScriptTimeout = "script_timeout";
constexpr std::string_view kTargetNotAllowed = "target_not_allowed";
constexpr std::string_view kTooManyWebhooks = "too_many_webhooks";
constexpr std::string_view kWebhookNotFound = "webhook_not_found";

// Database
constexpr std::string_view kDatabaseFull = "database_full";
constexpr std::string_view kDatabaseWentBack = "database_went_back";
constexpr std::string_view kWriterLost = "writer_lost";

}  // namespace tarn::reason

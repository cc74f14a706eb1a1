// The operations of S3's API, one function each. They throw the errors that answer_for maps.
#pragma once

#include "core/http/message.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/wire/endpoint.h"

namespace tarn::s3 {

http::Response run(Call& call, const ListBuckets& endpoint);
http::Response run(Call& call, const HeadBucket& endpoint);
http::Response run(Call& call, const CreateBucket& endpoint);
http::Response run(Call& call, const DeleteBucket& endpoint);
http::Response run(Call& call, const GetBucketLocation& endpoint);
http::Response run(Call& call, const GetBucketVersioning& endpoint);
http::Response run(Call& call, const PutBucketVersioning& endpoint);
http::Response run(Call& call, const GetBucketConfiguration& endpoint);
http::Response run(Call& call, const GetBucketAcl& endpoint);
http::Response run(Call& call, const PutBucketAcl& endpoint);
http::Response run(Call& call, const GetBucketTagging& endpoint);
http::Response run(Call& call, const PutBucketTagging& endpoint);
http::Response run(Call& call, const DeleteBucketTagging& endpoint);
http::Response run(Call& call, const GetPublicAccessBlock& endpoint);
http::Response run(Call& call, const PutPublicAccessBlock& endpoint);
http::Response run(Call& call, const DeletePublicAccessBlock& endpoint);
http::Response run(Call& call, const GetBucketOwnershipControls& endpoint);
http::Response run(Call& call, const PutBucketOwnershipControls& endpoint);
http::Response run(Call& call, const DeleteBucketOwnershipControls& endpoint);
http::Response run(Call& call, const GetBucketLifecycleConfiguration& endpoint);
http::Response run(Call& call, const PutBucketLifecycleConfiguration& endpoint);
http::Response run(Call& call, const DeleteBucketLifecycle& endpoint);
http::Response run(Call& call, const GetBucketCors& endpoint);
http::Response run(Call& call, const PutBucketCors& endpoint);
http::Response run(Call& call, const DeleteBucketCors& endpoint);

http::Response run(Call& call, const ListObjects& endpoint);
http::Response run(Call& call, const ListObjectsV2& endpoint);
http::Response run(Call& call, const ListObjectVersions& endpoint);

http::Response run(Call& call, const GetObject& endpoint);
http::Response run(Call& call, const HeadObject& endpoint);
http::Response run(Call& call, const GetObjectAttributes& endpoint);
http::Response run(Call& call, const PutObject& endpoint);
http::Response run(Call& call, const CopyObject& endpoint);
http::Response run(Call& call, const DeleteObject& endpoint);
http::Response run(Call& call, const DeleteObjects& endpoint);

http::Response run(Call& call, const CreateMultipartUpload& endpoint);
http::Response run(Call& call, const UploadPart& endpoint);
http::Response run(Call& call, const UploadPartCopy& endpoint);
http::Response run(Call& call, const CompleteMultipartUpload& endpoint);
http::Response run(Call& call, const AbortMultipartUpload& endpoint);
http::Response run(Call& call, const ListParts& endpoint);
http::Response run(Call& call, const ListMultipartUploads& endpoint);

http::Response run(Call& call, const GetObjectTagging& endpoint);
http::Response run(Call& call, const PutObjectTagging& endpoint);
http::Response run(Call& call, const DeleteObjectTagging& endpoint);
http::Response run(Call& call, const GetObjectAcl& endpoint);
http::Response run(Call& call, const PutObjectAcl& endpoint);

http::Response run(Call& call, const PostObject& endpoint);
http::Response run(Call& call, const CorsPreflight& endpoint);
http::Response run(Call& call, const Unsupported& endpoint);
http::Response run(Call& call, const NoSuchMethod& endpoint);

}  // namespace tarn::s3

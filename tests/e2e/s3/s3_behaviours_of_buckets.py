"""Configurations of a bucket that are kept: tags, ownership controls, the public-access block, and lifecycle rules."""

from s3_behaviour import behaviour

ABORT = {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}


def of_bucket(b, operation, **arguments):
    return getattr(b.s3, operation)(Bucket=b.name, **arguments)


def tagged(b, tags):
    return of_bucket(b, "put_bucket_tagging", Tagging={"TagSet": [{"Key": k, "Value": v} for k, v in tags]})


def refused_tags(b, tags):
    return b.fails("put_bucket_tagging", None, Tagging={"TagSet": [{"Key": k, "Value": v} for k, v in tags]})


@behaviour("a bucket keeps its tags until they are replaced or removed")
def bucket_tags(b):
    assert b.fails("get_bucket_tagging", None) == (404, "NoSuchTagSet")
    assert tagged(b, [("team", "vision"), ("cost", "")])["ResponseMetadata"]["HTTPStatusCode"] == 204
    kept = [{"Key": "cost", "Value": ""}, {"Key": "team", "Value": "vision"}]
    assert of_bucket(b, "get_bucket_tagging")["TagSet"] == kept
    tagged(b, [("ü", '&<>"')])
    assert of_bucket(b, "get_bucket_tagging")["TagSet"] == [{"Key": "ü", "Value": '&<>"'}]
    for _ in range(2):
        of_bucket(b, "delete_bucket_tagging")
        assert b.fails("get_bucket_tagging", None) == (404, "NoSuchTagSet")


@behaviour("tags of a bucket are at most 50, 128 and 256 characters long, and none is S3's own")
def bucket_tag_limits(b):
    tagged(b, [(f"k{i}", "v") for i in range(50)])
    tagged(b, [("ü" * 128, "ü" * 256)])
    for tags in [
        [(f"k{i}", "v") for i in range(51)],
        [("k" * 129, "v")],
        [("k", "v" * 257)],
        [("k", "v"), ("k", "w")],
        [("aws:k", "v")],
    ]:
        assert refused_tags(b, tags) == (400, "InvalidTag"), tags[0]
    assert b.raw("PUT", None, "tagging", body=b"<Tagging>").code == "MalformedXML"
    nameless = b"<Tagging><TagSet><Tag><Key></Key><Value>v</Value></Tag></TagSet></Tagging>"
    assert b.raw("PUT", None, "tagging", body=nameless).code == "InvalidTag"
    assert [len(t["Key"]) for t in of_bucket(b, "get_bucket_tagging")["TagSet"]] == [128], "what was refused changed nothing"


@behaviour("ownership controls are kept, and disable access control lists")
def ownership(b):
    assert b.fails("get_bucket_ownership_controls", None) == (404, "OwnershipControlsNotFoundError")
    for value in ["ObjectWriter", "BucketOwnerPreferred", "BucketOwnerEnforced"]:
        controls = {"Rules": [{"ObjectOwnership": value}]}
        of_bucket(b, "put_bucket_ownership_controls", OwnershipControls=controls)
        assert of_bucket(b, "get_bucket_ownership_controls")["OwnershipControls"] == controls
    for acl in ["private", "bucket-owner-full-control"]:
        b.put(ACL=acl)
        b.call("put_object_acl", ACL=acl)
        of_bucket(b, "put_bucket_acl", ACL=acl)
    for acl in ["public-read", "authenticated-read", "aws-exec-read"]:
        refusal = (400, "AccessControlListNotSupported")
        assert b.fails("put_object", "b", Body=b"x", ACL=acl) == refusal
        assert b.fails("copy_object", "b", CopySource=b.at(), ACL=acl) == refusal
        assert b.fails("create_multipart_upload", "b", ACL=acl) == refusal
        assert b.fails("put_object_acl", ACL=acl) == refusal
        assert b.fails("put_bucket_acl", None, ACL=acl) == refusal
    assert b.listed() == ["a"]
    of_bucket(b, "delete_bucket_ownership_controls")
    assert b.fails("get_bucket_ownership_controls", None) == (404, "OwnershipControlsNotFoundError")
    assert b.fails("put_object", "b", Body=b"x", ACL="public-read") == (501, "NotImplemented")
    for body in [
        b"<OwnershipControls/>",
        b"<OwnershipControls><Rule><ObjectOwnership>Me</ObjectOwnership></Rule></OwnershipControls>",
    ]:
        assert b.raw("PUT", None, "ownershipControls", body=body).code == "MalformedXML"


@behaviour("a public-access block is kept, and refuses lists that grant to everybody")
def public_access_block(b):
    assert b.fails("get_public_access_block", None) == (404, "NoSuchPublicAccessBlockConfiguration")
    block = {"BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": True, "RestrictPublicBuckets": False}
    of_bucket(b, "put_public_access_block", PublicAccessBlockConfiguration=block)
    assert of_bucket(b, "get_public_access_block")["PublicAccessBlockConfiguration"] == block
    b.put()
    for acl in ["public-read", "public-read-write", "authenticated-read"]:
        assert b.fails("put_object", Body=b"x", ACL=acl) == (403, "AccessDenied")
        assert b.fails("put_object_acl", ACL=acl) == (403, "AccessDenied")
        assert b.fails("put_bucket_acl", None, ACL=acl) == (403, "AccessDenied")
    owner = of_bucket(b, "get_bucket_acl")["Owner"]
    grants = [{"Grantee": {"Type": "Group", "URI": "http://acs.amazonaws.com/groups/global/AllUsers"}, "Permission": "READ"}]
    assert b.fails("put_bucket_acl", None, AccessControlPolicy={"Owner": owner, "Grants": grants}) == (403, "AccessDenied")
    b.put(ACL="private")
    of_bucket(b, "delete_public_access_block")
    assert b.fails("get_public_access_block", None) == (404, "NoSuchPublicAccessBlockConfiguration")
    assert b.fails("put_object", Body=b"x", ACL="public-read") == (501, "NotImplemented")


@behaviour("CORS rules are kept, and replace those of the server")
def cors(b):
    assert b.fails("get_bucket_cors", None) == (404, "NoSuchCORSConfiguration")
    rules = [
        {
            "ID": "pages",
            "AllowedOrigins": ["https://*.app.test"],
            "AllowedMethods": ["GET", "PUT"],
            "AllowedHeaders": ["*"],
            "ExposeHeaders": ["ETag"],
            "MaxAgeSeconds": 3000,
        },
        {"AllowedOrigins": ["*"], "AllowedMethods": ["HEAD"]},
    ]
    of_bucket(b, "put_bucket_cors", CORSConfiguration={"CORSRules": rules})
    assert of_bucket(b, "get_bucket_cors")["CORSRules"] == rules
    b.put()
    answer = b.raw("GET", headers={"Origin": "https://a.app.test"})
    assert answer.headers["access-control-allow-origin"] == "https://a.app.test"
    assert "access-control-allow-origin" not in b.raw("GET", headers={"Origin": "https://other.test"}).headers
    for bad in [{"AllowedMethods": ["PATCH"]}, {"AllowedOrigins": ["https://*.*"]}, {"ExposeHeaders": ["*"]}]:
        wrong = {"CORSRules": [{**rules[1], **bad}]}
        assert b.fails("put_bucket_cors", None, CORSConfiguration=wrong) == (400, "InvalidRequest")
    assert b.fails("put_bucket_cors", None, CORSConfiguration={"CORSRules": [rules[1]] * 101}) == (400, "MalformedXML")
    assert of_bucket(b, "get_bucket_cors")["CORSRules"] == rules
    of_bucket(b, "delete_bucket_cors")
    assert b.fails("get_bucket_cors", None) == (404, "NoSuchCORSConfiguration")


@behaviour("lifecycle rules that abort uploads are kept", only="plain")
def lifecycle(b):
    rules = [
        {"ID": "a", "Status": "Enabled", "Filter": {"Prefix": "main/tmp/"}, **ABORT},
        {"ID": "b", "Status": "Disabled", "Prefix": "", **ABORT},
    ]
    assert b.fails("get_bucket_lifecycle_configuration", None) == (404, "NoSuchLifecycleConfiguration")
    of_bucket(b, "put_bucket_lifecycle_configuration", LifecycleConfiguration={"Rules": rules})
    assert of_bucket(b, "get_bucket_lifecycle_configuration")["Rules"] == rules
    expiring = [{"ID": "a", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 1}}]
    moving = [{"ID": "a", "Status": "Enabled", "Filter": {}, "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]}]
    noncurrent = [{"ID": "a", "Status": "Enabled", "Filter": {}, "NoncurrentVersionExpiration": {"NoncurrentDays": 1}}]
    for refused in [expiring, moving, noncurrent]:
        assert b.fails("put_bucket_lifecycle_configuration", None, LifecycleConfiguration={"Rules": refused}) == (
            501,
            "NotImplemented",
        )
    assert b.fails("put_bucket_lifecycle_configuration", None, LifecycleConfiguration={"Rules": [rules[0], rules[0]]}) == (
        400,
        "InvalidArgument",
    )
    assert of_bucket(b, "get_bucket_lifecycle_configuration")["Rules"] == rules
    of_bucket(b, "delete_bucket_lifecycle")
    assert b.fails("get_bucket_lifecycle_configuration", None) == (404, "NoSuchLifecycleConfiguration")


@behaviour("the bucket of one ref has no lifecycle of its own", only="rooted")
def lifecycle_of_a_ref(b):
    assert b.fails("get_bucket_lifecycle_configuration", None) == (404, "NoSuchLifecycleConfiguration")
    rules = [{"ID": "a", "Status": "Enabled", "Filter": {}, **ABORT}]
    assert b.fails("put_bucket_lifecycle_configuration", None, LifecycleConfiguration={"Rules": rules}) == (501, "NotImplemented")
    assert b.fails("delete_bucket_lifecycle", None) == (501, "NotImplemented")

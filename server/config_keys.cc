// The table of configuration keys, in the order of the documentation.
#include "server/config.h"

namespace tarn::server {
namespace {

#define TARN_AT(member) [](Config& config) -> ConfigValue { return &config.member; }

constexpr ConfigKey kKeys[] = {
    {"listen", TARN_AT(listen),
     "Address and port of REST, S3, health, metrics and the web page. Port 0 takes a free one."},
    {"data", TARN_AT(data),
     "Directory of everything this server keeps; made when absent. Holds the embedded database "
     "and, unless "
     "configured elsewhere, the objects and the master key."},
    {"run_as", TARN_AT(run_as),
     "Account that tarnd becomes when root starts it, before it opens anything: the data directory "
     "is made for it, or must be its own. Empty: tarnd keeps the account that starts it."},
    {"database", TARN_AT(database),
     "Connection string or URL of PostgreSQL 15 or newer. Empty: an embedded PostgreSQL under the "
     "data directory. Several servers may share one database and one object root."},
    {"database_file", TARN_AT(database_file),
     "File with the value of database, for a connection string that holds a password."},
    {"log.level", TARN_AT(log_level), "debug, info, warn or error: the least that is logged.", "",
     false, true},
    {"log.format", TARN_AT(log_format),
     "text (key=value) or json; one line per event, to standard error.", "", false, true},
    {"log.requests", TARN_AT(log_requests),
     "Requests that get a line in the log. all; slow: those that took log.slow_request or longer; "
     "none. Failures of the server and refused sign-ins are always logged.",
     "", false, true},
    {"log.slow_request", TARN_AT(log_slow_request),
     "Duration from which a request counts as slow for log.requests.", "", false, true},
    {"s3.hosts", TARN_AT(s3_hosts),
     "Host names that mean S3 whatever the path; a bucket may stand before them (virtual-host "
     "style)."},
    {"s3.region", TARN_AT(s3_region), "Region that GetBucketLocation names."},
    {"s3.listen", TARN_AT(s3_listen), "A second address that serves S3 alone. Empty: none."},
    {"s3.create_bucket", TARN_AT(s3_create_bucket),
     "What CreateBucket of S3 makes. off: nothing. repository: a repository, whose keys begin with "
     "a "
     "branch. rooted: a repository whose bare name stands for its default branch, so that keys are "
     "paths, for tools that know no branches; other refs are the buckets NAME.REF."},
    {"s3.bucket_namespace", TARN_AT(s3_bucket_namespace),
     "Storage namespace below which each repository that CreateBucket makes gets one of its own."},
    {"s3.signature_v2", TARN_AT(s3_signature_v2),
     "Whether signatures of version 2 are taken, which old clients make, and boto3 in signed URLs. "
     "They cover no body."},
    {"s3.anonymous", TARN_AT(s3_anonymous),
     "User as whom unsigned requests to s3.hosts and s3.listen act; that user's policies decide. "
     "Empty: unsigned requests are refused."},
    {"s3.public_buckets", TARN_AT(s3_public_buckets),
     "Whether the access control list public-read of a bucket that CreateBucket made rooted lets "
     "unsigned requests to s3.hosts and s3.listen read it."},
    {"s3.cors.allowed_origins", TARN_AT(s3_cors_allowed_origins),
     "Origins whose pages may use S3 from a browser, such as https://app.example.com; each may "
     "hold one *. Empty: none."},
    {"s3.cors.allowed_methods", TARN_AT(s3_cors_allowed_methods), "What such pages may send."},
    {"s3.cors.allowed_headers", TARN_AT(s3_cors_allowed_headers),
     "Request headers such pages may set; each may hold one *."},
    {"s3.cors.exposed_headers", TARN_AT(s3_cors_exposed_headers),
     "Headers of answers such pages may read."},
    {"s3.cors.max_age", TARN_AT(s3_cors_max_age),
     "How long browsers may remember what is allowed."},
    {"server.external_url", TARN_AT(external_url),
     "URL by which clients reach this server, such as https://lake.example.com: what presigned "
     "URLs of a local store begin with. Empty: as each client asked."},
    {"http.trusted_proxies", TARN_AT(trusted_proxies),
     "Addresses or CIDR blocks of proxies whose X-Forwarded-For and X-Real-IP name the client; "
     "others' are ignored. Policies may be conditional on the client's address.",
     "", false, true},
    {"http.workers", TARN_AT(http.workers),
     "Requests of one user run at once; more wait in the queue. Others find as many again."},
    {"http.contended_workers", TARN_AT(http.contended_workers),
     "The same while requests of other users are about. 0: twice the processors, 4 at least; with "
     "an S3 store a quarter of the workers."},
    {"http.queued_requests_max", TARN_AT(http.queued_requests_max),
     "Requests that may wait for a worker; beyond: 503 and close."},
    {"http.queued_per_share_max", TARN_AT(http.queued_per_share_max),
     "Requests of one user, or of one address without a user, that may wait; beyond: 503 and "
     "close."},
    {"http.queue_timeout", TARN_AT(http.queue_timeout),
     "How long a request may wait for a worker; beyond: 503 and close."},
    {"http.connections_max", TARN_AT(http.connections_max),
     "Open connections; beyond, the oldest idle one of the address with most is closed."},
    {"http.head_bytes_max", TARN_AT(http.head_bytes_max),
     "Bytes of a request line with its header fields; beyond: 431."},
    {"http.target_bytes_max", TARN_AT(http.target_bytes_max),
     "Bytes of a request target; beyond: 414."},
    {"http.header_fields_max", TARN_AT(http.header_fields_max),
     "Header fields of a request; beyond: 431."},
    {"http.head_deadline", TARN_AT(http.head_deadline),
     "From the first byte of a request, or a new connection, to its whole head."},
    {"http.idle_timeout", TARN_AT(http.idle_timeout),
     "How long a kept connection may be without a request."},
    {"http.body_idle_timeout", TARN_AT(http.body_idle_timeout),
     "How long no byte of a body may move in either direction."},
    {"http.body_bytes_per_second_min", TARN_AT(http.body_bytes_per_second_min),
     "Uploads slower than this over 30 seconds are cut."},
    {"http.drain_unread_bytes_max", TARN_AT(http.drain_unread_bytes_max),
     "Unread body that is skipped to keep a connection."},
    {"db.connections", TARN_AT(db_connections), "Connections to the database at most."},
    {"db.lost_writes", TARN_AT(db_lost_writes),
     "What a server does when the database lacks writes that it has acknowledged or read, as after "
     "the promotion of an asynchronous standby. refuse: it answers 503 until that database is back "
     "or an operator runs tarn admin accept-loss. accept: it logs what may be lost and goes on."},
    {"cache.node_bytes", TARN_AT(cache_node_bytes),
     "Memory for the manifest nodes of commits; a quarter is kept for inner nodes."},
    {"cache.read_leases", TARN_AT(cache_read_leases),
     "Whether branches that are read often and written rarely are answered from memory, under "
     "leases in the database that every write ends first."},
    {"cache.read_lease_reads_min", TARN_AT(cache_read_lease_reads_min),
     "How often a branch is read in a second before it is answered from memory."},
    {"cache.read_lease_pause", TARN_AT(cache_read_lease_pause),
     "How long after a write a branch is read from the database again; longer if writes go on."},
    {"jobs.verify_bytes_per_second", TARN_AT(verify_bytes_per_second),
     "Bytes that a verification with --deep reads in a second, 1 MiB at least. 0: no limit."},
    {"jobs.workers", TARN_AT(job_workers),
     "Imports this server runs at once; of one user all but one at most, so that another's begins "
     "at "
     "once."},
    {"gc.interval_hours", TARN_AT(gc_interval_hours),
     "How often the garbage of each repository is collected. 0: on request only."},
    {"gc.grace_hours", TARN_AT(gc_grace_hours),
     "How long an object stays after a collection has found that nothing refers to it. 0: until "
     "the "
     "next collection."},
    {"gc.unreachable_days", TARN_AT(gc_unreachable_days),
     "How long a commit stays to which no branch, tag or other root leads; repositories with "
     "retention rules have their own time."},
    {"gc.deleted_days", TARN_AT(gc_deleted_days),
     "How long a deleted repository can be restored; then all of it is removed."},
    {"gc.share_max", TARN_AT(gc_share_max),
     "Percent of a repository's objects that one collection may remove; beyond, and beyond 100 "
     "objects, it is refused until somebody permits more."},
    {"gc.deletes_per_second", TARN_AT(gc_deletes_per_second),
     "Objects that a collection removes from a store per second. 0: as fast as the store."},
    {"gc.busy_percent", TARN_AT(gc_busy_percent),
     "Percent of its time, 1 to 100, that a collection works; the rest it pauses, so that requests "
     "are served meanwhile."},
    {"upload.bytes_max", TARN_AT(upload_bytes_max), "Bytes of one REST upload; beyond: 413."},
    {"upload.multipart_hours", TARN_AT(upload_multipart_hours),
     "How long a multipart upload that was neither completed nor aborted keeps its parts."},
    {"upload.multipart_open_max", TARN_AT(upload_multipart_open_max),
     "Multipart uploads that one user may have open, over S3 and REST together; beyond: refused "
     "until some are completed or aborted."},
    {"branches.per_user_max", TARN_AT(branches_per_user_max),
     "Branches of one repository that one user may have made and that still exist; beyond: refused "
     "until some are deleted or expire."},
    {"metrics.listen", TARN_AT(metrics_listen),
     "A second address that serves health, /metrics and /openapi.json, which `listen` then serves "
     "to nobody. Empty: none."},
    {"auth.setup", TARN_AT(auth_setup),
     "start: the first start makes user admin. http: POST /api/v1/setup_lakefs makes the first "
     "administrator, with the header Authorization: Bearer TOKEN. The token is TARN_SETUP_TOKEN, "
     "or one that is written to DATA/setup-token."},
    {"auth.presign", TARN_AT(auth_presign),
     "on or off: whether clients may ask for URLs with which anybody reads or writes one object "
     "for 15 minutes. The Python package uses them for every read and write."},
    {"auth.master_key", TARN_AT(auth_master_key),
     "64 hex digits (32 bytes) that seal stored secrets. Every server on one database needs the "
     "same. Empty: auth.master_key_file.",
     "", true},
    {"auth.master_key_file", TARN_AT(auth_master_key_file),
     "File with the master key in hex; made with mode 0600 when absent.", "DATA/master.key"},
    {"hooks.allowed_targets", TARN_AT(hooks_allowed_targets),
     "Where hooks and webhooks may send requests besides public addresses: hosts, addresses or "
     "networks, such as build.internal, build.internal:8080, 10.1.2.3 or 10.1.0.0/16."},
    {"hooks.lua_http", TARN_AT(hooks_lua_http),
     "Whether scripts of hooks may require net/http and aws, to send requests where webhooks may."},
    {"hooks.variables", TARN_AT(hooks_variables),
     "Which repositories' hooks may use which variables of the server's environment: "
     "LAKEFSACTION_TOKEN=lake,images; LAKEFSACTION_URL=*, where * is every repository. Empty: "
     "none."},
    {"hooks.repositories", TARN_AT(hooks_repositories),
     "Which other repositories the scripts of a repository's hooks may reach: lake=images,models; "
     "ops=*. Empty: each its own alone."},
    {"webhooks.workers", TARN_AT(webhooks_workers),
     "Deliveries to webhooks this server makes at once. 0: it makes none."},
    {"webhooks.timeout", TARN_AT(webhooks_timeout),
     "How long the receiver of a delivery has to answer."},
    {"webhooks.retry_first", TARN_AT(webhooks_retry_first),
     "Pause after the first failed attempt of a delivery; each later one is four times as long, up "
     "to 6 hours."},
    {"webhooks.attempts_max", TARN_AT(webhooks_attempts_max),
     "Failed attempts after which a delivery is dead: listed, and sent again only when somebody "
     "asks."},
    {"store.verify_reads", TARN_AT(store_verify_reads),
     "Whose objects are compared with their recorded digest while a whole one is sent: off, local "
     "(those in local directories) or all. A damaged one ends the connection before its last "
     "byte."},
    {"store.promoted_standby", TARN_AT(store_promoted_standby),
     "What a server does with the store of a standby that was promoted before the server started. "
     "refuse: nothing is written until tarn admin adopt, since the standby may be a copy. adopt: "
     "it "
     "takes the store over, which is right where each failover fences the old primary."},
    {"store.local.root", TARN_AT(store_local_root),
     "Directory below which namespaces local://NAME live. Servers that share a database share it "
     "too.",
     "DATA/objects"},
    {"store.local.import_roots", TARN_AT(store_local_import_roots),
     "Absolute directories whose files may be imported and linked as local:///dir/file; nothing "
     "else can."},
    {"store.cache.directory", TARN_AT(store_cache_directory),
     "Directory on a local disk that keeps copies of small objects of S3 stores once they were "
     "read, for later reads over S3 and REST. The copy of an imported object is read once the "
     "store has said that the source is the same. Each server needs its own. Empty: no copies."},
    {"store.cache.bytes_max", TARN_AT(store_cache_bytes_max),
     "Bytes of all copies; the least recently read go first."},
    {"store.cache.object_bytes_max", TARN_AT(store_cache_object_bytes_max),
     "Objects with more bytes are read from the store every time."},
    {"store.s3.endpoint", TARN_AT(store_s3.endpoint),
     "URL of the S3-compatible store for namespaces and imports s3://BUCKET/PREFIX. Empty: none."},
    {"store.s3.presign_endpoint", TARN_AT(store_s3.presign_endpoint),
     "URL of that store as clients reach it, for presigned URLs.", "store.s3.endpoint"},
    {"store.s3.region", TARN_AT(store_s3.region), "Region its requests are signed for."},
    {"store.s3.access_key_id", TARN_AT(store_s3.access_key_id), "Access key of that store."},
    {"store.s3.secret_access_key", TARN_AT(store_s3.secret_access_key),
     "Secret of that access key.", "", true},
    {"store.s3.secret_access_key_file", TARN_AT(store_s3.secret_access_key_file),
     "File with that secret."},
    {"store.s3.path_style", TARN_AT(store_s3.path_style),
     "Whether the bucket stands in the path (true) or in the host name (false)."},
    {"store.s3.remove_versions", TARN_AT(store_s3.remove_versions),
     "Whether garbage collection removes every version of an object from versioned buckets, at the "
     "cost of a request for each object. Otherwise the bucket keeps noncurrent versions."},
};

#undef TARN_AT

}  // namespace

std::span<const ConfigKey> config_keys() { return kKeys; }

const ConfigKey* find_config_key(std::string_view path) {
  for (const ConfigKey& key : kKeys) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

}  // namespace tarn::server

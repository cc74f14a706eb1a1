"""minio-js: asks for unfinished uploads before each multipart upload. See minio_js.cjs."""

NAME = "minio-js 8.0.7"
ENVIRONMENT = "js"
SCRIPT = "minio_js.cjs"
HEAVY = True

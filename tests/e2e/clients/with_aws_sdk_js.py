"""AWS's SDK for JavaScript: x-id in every query, streams in unsigned chunks with a CRC32 trailer. See aws_sdk_js.cjs."""

NAME = "AWS SDK for JavaScript 3.1169.0"
ENVIRONMENT = "js"
SCRIPT = "aws_sdk_js.cjs"
HEAVY = True

"""aws-cli 2 as Debian has it: Content-MD5 and no checksums, SigV4 in presigned URLs."""

from with_awscli_1 import *  # noqa: F403

NAME = "aws-cli 2.9.19"
ENVIRONMENT = "system"

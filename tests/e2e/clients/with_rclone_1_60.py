"""rclone as Debian has it."""

from rclone_verbs import *  # noqa: F403

NAME = "rclone 1.60.1"
ENVIRONMENT = "system"

"""rclone of today."""

from rclone_verbs import *  # noqa: F403

NAME = "rclone 1.75.2"
ENVIRONMENT = "light"

"""Whether the long tests run as well: ./dev test --long."""

import os

LONG = os.environ.get("TARN_TEST_LONG") == "1"

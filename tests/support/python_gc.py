"""Python's garbage collection in processes of tests, which hold the modules of a dozen clients."""

import gc


def spare_modules():
    """Collections looked at all modules again and again, for a tenth of the processor time of a test."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)

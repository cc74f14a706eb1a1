"""Numbers as the server takes and gives them: JSON has none that are not finite, so those travel as words."""

from __future__ import annotations

import math
from typing import Any, Union

JsonNumber = Union[float, str]


def metric_number(name: str, value: Any) -> float:
    """The value of a metric as a float; numpy's numbers and tensors of one element are taken too."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise TypeError(f"metric {name}: expected a number, got {value!r}; convert it first, for example float(...)")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"metric {name}: expected a number, got {type(value).__name__}; convert it first, for example with float(...)"
        ) from None


def to_json(value: float) -> JsonNumber:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def from_json(value: Any) -> float:
    """float() reads "NaN" and "Infinity" as well."""
    return float(value)

"""Errors of the service. `code` is the server's stable word; the text says what to do about it."""

from __future__ import annotations

from tarn_data.records import PromotionRecord, Reason


class TarnError(Exception):
    """The base of all; `code` and `status` are of the answer, "" and 0 where there was none."""

    def __init__(self, message: str, code: str = "", status: int = 0, request_id: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.request_id = request_id


class NotConfigured(TarnError):
    """A setting is missing."""


class InvalidRequest(TarnError):
    """The request is wrong whatever the state of the repository."""


class NotAllowed(TarnError):
    """The keys are wrong, or may not do this."""


class NotFound(TarnError):
    pass


class Conflict(TarnError):
    """The current state is not the expected one."""


class Unavailable(TarnError):
    """The server could not be reached, or had no time, for as long as was waited."""


class LimitReached(TarnError):
    """A quota, a disk or another limit is full: the message says which, and repeating does not help."""


class UncommittedChanges(TarnError):
    """The branch holds changes that are not committed, and the run was told not to commit."""


class PromotionError(TarnError):
    """A promotion that did not promote: `promotion` is how it ended, `reasons` what refused each candidate."""

    def __init__(
        self, message: str, code: str = "", status: int = 0, request_id: str = "", promotion: PromotionRecord | None = None
    ) -> None:
        super().__init__(message, code, status, request_id)
        self.promotion = promotion

    @property
    def reasons(self) -> list[Reason]:
        return self.promotion.reasons if self.promotion is not None else []


class GateFailed(PromotionError):
    """No candidate passes the gate, a check did not come in time, or somebody said no."""


class MetricMissing(PromotionError):
    """Nothing but metrics is missing: record them for the candidates' exact commits."""


class DestinationMoved(PromotionError):
    """The destination or the alias is not where it was expected."""


class MergeConflict(PromotionError):
    """The candidate and the destination changed the same paths, or the destination holds uncommitted changes."""


class HookFailed(PromotionError):
    """A hook of the destination refused."""


class ApprovalRequired(PromotionError):
    """Waiting has ended and people have not decided yet; the promotion goes on."""


class Timeout(PromotionError):
    """Waiting has ended before the promotion; it goes on."""


class Cancelled(PromotionError):
    """Somebody stopped the promotion."""

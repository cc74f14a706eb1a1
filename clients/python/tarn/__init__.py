"""Runs, comparison, gates and promotion of experiments on Tarn."""

from tarn.aliases import Alias, AliasChange, alias, alias_history
from tarn.errors import (
    ApprovalRequired,
    Cancelled,
    Conflict,
    DestinationMoved,
    GateFailed,
    HookFailed,
    InvalidRequest,
    LimitReached,
    MergeConflict,
    MetricMissing,
    NotAllowed,
    NotConfigured,
    NotFound,
    PromotionError,
    TarnError,
    Timeout,
    Unavailable,
    UncommittedChanges,
)
from tarn.gates import Policy, Rule, Verdict, apply_policy, evaluate
from tarn.promotions import Promotion, approve, promote, promotion, report_check, rollback
from tarn.records import PromotionRecord, Reason
from tarn.runs import RecordedRun, Run, RunMetric, list_runs, run
from tarn.settings import Settings, load_settings
from tarn.tables import CandidateRow, ComparedMetric, Comparison, NoChampionYet, compare, compare_rows
from tarn.transport import Server, connect, lakefs_client

__version__ = "0.1.0"

__all__ = [
    "Alias",
    "AliasChange",
    "ApprovalRequired",
    "Cancelled",
    "CandidateRow",
    "ComparedMetric",
    "Comparison",
    "Conflict",
    "DestinationMoved",
    "GateFailed",
    "HookFailed",
    "InvalidRequest",
    "LimitReached",
    "MergeConflict",
    "MetricMissing",
    "NoChampionYet",
    "NotAllowed",
    "NotConfigured",
    "NotFound",
    "Policy",
    "Promotion",
    "PromotionError",
    "PromotionRecord",
    "Reason",
    "RecordedRun",
    "Rule",
    "Run",
    "RunMetric",
    "Server",
    "Settings",
    "TarnError",
    "Timeout",
    "Unavailable",
    "UncommittedChanges",
    "Verdict",
    "alias",
    "alias_history",
    "apply_policy",
    "approve",
    "compare",
    "compare_rows",
    "connect",
    "evaluate",
    "lakefs_client",
    "list_runs",
    "load_settings",
    "promote",
    "promotion",
    "report_check",
    "rollback",
    "run",
]

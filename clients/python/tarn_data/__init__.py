"""Runs, comparison, gates and promotion of experiments on Tarn."""

from tarn_data.aliases import Alias, AliasChange, alias, alias_history
from tarn_data.errors import (
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
from tarn_data.gates import Policy, Rule, Verdict, apply_policy, evaluate
from tarn_data.promotions import Promotion, approve, promote, promotion, report_check, rollback
from tarn_data.records import PromotionRecord, Reason
from tarn_data.runs import RecordedRun, Run, RunList, RunMetric, label_run, list_runs, run
from tarn_data.settings import Settings, load_settings
from tarn_data.tables import CandidateRow, ComparedMetric, Comparison, NoChampionYet, NotRanked, compare, compare_rows
from tarn_data.transport import Server, connect, lakefs_client

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
    "NotRanked",
    "Policy",
    "Promotion",
    "PromotionError",
    "PromotionRecord",
    "Reason",
    "RecordedRun",
    "Rule",
    "Run",
    "RunList",
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
    "label_run",
    "lakefs_client",
    "list_runs",
    "load_settings",
    "promote",
    "promotion",
    "report_check",
    "rollback",
    "run",
]

"""The expected verdict of a gate, from docs/promotion.md, in plain Python: exact decimals, none of the server's code."""

import functools
import re
from dataclasses import dataclass, field
from decimal import Decimal

USUAL = ("api", "commit-metadata", "file")


@dataclass
class Candidate:
    """A candidate and its measurements; values are decimals, or one of the words NaN, Infinity, -Infinity."""

    branch: str
    number: int  # candidates were committed in this order
    files: dict  # path: bytes
    has_ancestor: bool = False
    # (name, split): {origin: value}, the oldest first; of files the origin is file:PATH, of a second run api#2, of metadata
    # without "metric." bare
    measured: dict = field(default_factory=dict)
    commit: str = ""
    base: dict = field(default_factory=dict)  # the files of the commit where it left the destination
    up_to_date: bool = False  # it left the destination at its head


@dataclass
class Lake:
    """The common side of the comparison: the files of the destination, and those of the policy's ancestor."""

    main: dict
    since: dict


@functools.cache
def pattern(glob):
    """`**` is any text and as a whole segment may be missing, `*` and `?` stop at a slash, {a,b} is either."""
    out, rest = "", glob
    while rest:
        if rest.startswith("**/") and (not out or out.endswith("/")):
            out, rest = out + "(?:.*/)?", rest[3:]
        elif rest.startswith("**"):
            out, rest = out + ".*", rest[2:]
        elif rest[0] in "*?":
            out, rest = out + {"*": "[^/]*", "?": "[^/]"}[rest[0]], rest[1:]
        elif rest[0] == "[":
            inside, _, rest = rest[1:].partition("]")
            out += f"(?!/)[{inside.replace('!', '^', 1) if inside[0] == '!' else inside}]"
        elif rest[0] in "{,}":
            out, rest = out + {"{": "(?:", ",": "|", "}": ")"}[rest[0]], rest[1:]
        else:
            out, rest = out + re.escape(rest[0]), rest[1:]
    return re.compile(out, re.DOTALL)


def matches(glob, text):
    return pattern(glob).fullmatch(text) is not None


def is_from(source, origin):
    """Whether a value of this origin is one that the source means: api, api:USER, check:NAME, file or file:PATTERN ..."""
    kind, _, detail = source.partition(":")
    if kind == "file":
        return origin.startswith("file:") and (not detail or matches(detail, origin[len("file:") :]))
    if kind == "api":
        return origin.partition("#")[0] == "api"  # one user records all runs here
    return origin == source or (source, origin) == ("commit-metadata", "bare")


def names_one(source):
    """Whether it says whose value counts: of such a source the newest one."""
    kind, _, detail = source.partition(":")
    return bool(detail) and (kind in ("api", "check") or (kind == "file" and not set(detail) & set("*?[{")))


def finite(value):
    return value if isinstance(value, Decimal) else None


def value_of(rule, candidate):
    """(value, "") or (None, the code of what is wrong)."""
    measured = candidate.measured.get((rule["name"], rule.get("split", "")), {})
    sources = [rule["from"]] if "from" in rule else rule.get("trust", USUAL)
    for source in sources:
        of_source = [value for origin, value in measured.items() if is_from(source, origin)]
        if not of_source:
            continue
        if names_one(source):
            return of_source[-1], ""
        usual = [value for origin, value in measured.items() if any(is_from(one, origin) for one in USUAL)]
        counted = of_source if "from" in rule or "trust" in rule else usual
        return (of_source[0], "") if all(value == counted[0] for value in counted) else (None, "ambiguous")
    return None, "untrusted_origin" if measured else "metric_missing"


def waits_for_check(rule, policy):
    sources = [rule["from"]] if "from" in rule else rule.get("trust", USUAL)
    required = policy.get("checks", {}).get("required", [])
    return any(
        (source == "check" and required) or (source.startswith("check:") and source[len("check:") :] in required)
        for source in sources
    )


class Verdict:
    def __init__(self):
        self.rules = {}  # rule: (outcome, code), those that hold left out; several codes where the documents do not say which

    def say(self, rule, outcome, code):
        self.rules[rule] = (outcome, code)

    @property
    def outcome(self):
        outcomes = {outcome for outcome, _ in self.rules.values()}
        return "failed" if "fail" in outcomes else "pending" if "pending" in outcomes else "passed"


def judge(policy, candidate, champion, lake):
    verdict = Verdict()
    if "candidates" in policy and not matches(policy["candidates"], candidate.branch):
        verdict.say("candidates", "fail", "candidate_refused")
    if "require_ancestor" in policy and not candidate.has_ancestor:
        verdict.say("require_ancestor", "fail", "ancestor_missing")
    if policy.get("require_up_to_date") and not candidate.up_to_date:
        verdict.say("require_up_to_date", "fail", "not_up_to_date")
    since = policy.get("unchanged_since", {"paths": []})
    differing = different(candidate.files, lake.since)
    if any(matches(glob, path) for glob in since["paths"] for path in differing):
        verdict.say("unchanged_since", "fail", "differs_from_ancestor")
    for rule in policy.get("metrics", []):
        judge_metric(verdict, policy, rule, candidate, champion)
    judge_objects(verdict, policy, candidate, lake.main)
    for name in policy.get("checks", {}).get("required", []):
        verdict.say(f"checks.{name}", "pending", "check_missing")
    if policy.get("approvals", {}).get("count", 0):
        verdict.say("approvals", "pending", "approval_required")
    return verdict


def judge_all(policy, lake, champion, candidates, all_merges):
    """{branch: verdict}, and those that may win, the best first. Merges are tried of all that did not fail, or of the best until
    one can be merged."""
    verdicts = {one.branch: judge(policy, one, champion, lake) for one in candidates}
    stand = standing(policy, [one for one in candidates if verdicts[one.branch].outcome != "failed"])
    for one in stand:
        judge_merge(verdicts[one.branch], policy, one, lake.main)
        if not all_merges and verdicts[one.branch].outcome != "failed":
            break
    return verdicts, [one for one in stand if verdicts[one.branch].outcome != "failed"]


def judge_metric(verdict, policy, rule, candidate, champion):
    name = f"metrics.{rule['name']}" + (f"@{rule['split']}" if "split" in rule else "")
    value, wrong = value_of(rule, candidate)
    if wrong == "ambiguous":
        verdict.say(name, "fail", wrong)
        return
    if wrong:
        if waits_for_check(rule, policy):
            verdict.say(name, "pending", "check_pending")
        else:
            verdict.say(name, "fail", wrong)
        return
    if finite(value) is None:
        verdict.say(name, "fail", "not_finite")
        return
    if "min" in rule and value < Decimal(str(rule["min"])):
        verdict.say(f"{name}.min", "fail", "below_min")
    if "max" in rule and value > Decimal(str(rule["max"])):
        verdict.say(f"{name}.max", "fail", "above_max")
    for bound, limit in rule.get("vs_champion", {}).items():
        judge_bound(verdict, f"{name}.vs_champion.{bound}", rule, bound, Decimal(str(limit)), value, champion)


def judge_bound(verdict, name, rule, bound, limit, value, champion):
    if champion is None:
        verdict.say(name, "skipped", "no_champion")
        return
    other, wrong = value_of(rule, champion)
    if wrong or finite(other) is None:
        verdict.say(name, "fail", "champion_metric_missing")
        return
    rise = value - other
    better = -rise if rule.get("goal") == "min" else rise
    share = limit * abs(other)
    distance = {
        "min_delta": better - limit,
        "max_delta": limit - better,
        "min_relative_delta": better - share,
        "max_increase": limit - rise,
        "max_decrease": limit + rise,
        "max_relative_increase": share - rise,
        "max_relative_decrease": share + rise,
    }[bound]
    # Past a bound in the direction of the goal it is too good to be true.
    too_good = (
        bound == "max_delta"
        or ("increase" in bound and rule.get("goal") == "max")
        or ("decrease" in bound and rule.get("goal") == "min")
    )
    if distance < 0:
        verdict.say(name, "fail", "too_far_above_champion" if too_good else "worse_than_champion")


def different(some, others):
    return {path for path in some.keys() | others.keys() if some.get(path) != others.get(path)}


def judge_objects(verdict, policy, candidate, main):
    rules = policy.get("objects", {})
    for glob in rules.get("required", []):
        sizes = [len(data) for path, data in candidate.files.items() if matches(glob, path)]
        if not sizes:
            verdict.say(f"objects.required[{glob}]", "fail", "object_missing")
        elif min(sizes) < rules.get("min_bytes", 1):
            verdict.say(f"objects.required[{glob}]", "fail", "object_too_small")
    # Paths that it changed since it left the destination, unless the destination has the same by now.
    changed = different(candidate.files, candidate.base) & different(candidate.files, main)
    brought = changed & candidate.files.keys()
    unchanged = rules.get("unchanged", []) + ([] if rules.get("unchanged") == [] else ["_lakefs_actions/**"])
    if any(matches(glob, path) for glob in unchanged for path in changed):
        verdict.say("objects.unchanged", "fail", "object_changed")
    if any(matches(glob, path) for glob in rules.get("forbid", []) for path in brought):
        verdict.say("objects.forbid", "fail", "object_forbidden")
    if any(matches(glob, path) for glob in rules.get("keep", []) for path in changed - brought):
        verdict.say("objects.keep", "fail", "object_removed")
    if "max_total_bytes" in rules and sum(map(len, candidate.files.values())) > rules["max_total_bytes"]:
        verdict.say("objects.max_total_bytes", "fail", "too_large")


def judge_merge(verdict, policy, candidate, main):
    """Both sides changed a path otherwise; or what comes out of it breaks what the policy asks of objects."""
    own = different(candidate.files, candidate.base)
    if own & different(main, candidate.base) & different(candidate.files, main):
        verdict.say("merge", "fail", "merge_conflict")
        return
    result = {path: (candidate.files if path in own else main).get(path) for path in candidate.files.keys() | main.keys()}
    result = {path: data for path, data in result.items() if data is not None}
    rules = policy.get("objects", {})
    codes = set()
    if sum(map(len, result.values())) > rules.get("max_total_bytes", float("inf")):
        codes.add("too_large")
    if any(matches(glob, path) for glob in rules.get("required", []) for path in different(candidate.files, result)):
        codes.add("not_what_was_measured")
    if codes:
        verdict.say("merge", "fail", "|".join(sorted(codes)))


def score(rule, candidate):
    """Greater is better; None: there is no number, which is worse than any."""
    value, wrong = value_of(rule, candidate)
    if wrong or finite(value) is None:
        return None
    return -value if rule["goal"] == "min" else value


def standing(policy, candidates):
    """The best first: by the primary metric, or the first that has a goal, then the tie breaks, then the oldest."""
    goals = [rule for rule in policy.get("metrics", []) if "goal" in rule]
    first = [rule for rule in goals if rule.get("primary")] or goals[:1]

    def key(candidate):
        keys = [score(rule, candidate) for rule in first]
        for by in policy.get("tie_break", []):
            if by == "model_bytes":
                required = policy["objects"]["required"]
                keys.append(
                    -sum(len(data) for path, data in candidate.files.items() if any(matches(glob, path) for glob in required))
                )
            elif by == "created_at":
                keys.append(-candidate.number)
            else:
                keys.append(score(next(rule for rule in policy["metrics"] if rule["name"] == by), candidate))
        return [(-1, 0) if one is None else (0, one) for one in (*keys, -candidate.number)]

    return sorted(candidates, key=key, reverse=True)


def dominated(policy, candidate, others):
    """Whether one of `others` is nowhere worse and somewhere better."""
    goals = [rule for rule in policy.get("metrics", []) if "goal" in rule]

    def row(one):
        return [(-1, 0) if (got := score(rule, one)) is None else (0, got) for rule in goals]

    mine = row(candidate)
    return any(all(a >= b for a, b in zip(theirs, mine, strict=True)) and theirs != mine for theirs in map(row, others))

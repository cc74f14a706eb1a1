"""Adds up the results of all runners and ends with "N passed, N failed, N skipped".

usage: sum_results.py BUILD_DIR... < lines "failed PHASE" or "left PHASE": a phase that could not run, or was left to CI

In BUILD_DIR/results: ctest.junit tells how each program ended, PROGRAM.xml (GoogleTest) what its cases did, other
*.junit files (pytest) speak for themselves. A program that failed without a failed case (it crashed, timed out or
leaked) counts as one failure. Below again/ is what was run once more, alone, because it had failed: what passed then is
listed as flaky; more than FLAKY_MAX of them fail the run. PROGRAM.xml is of the last run, and first/PROGRAM.xml of the one before.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

# ctest runs these around tests; they are no tests unless they fail.
FIXTURES = ("postgres_start", "postgres_stop")
# Reason of a skip, as tests/support/left_to_ci.py gives it.
LEFT = "left to CI: ./dev test --ci"
# Bad luck is rare: more flaky tests than this have a cause.
FLAKY_MAX = 3


class Totals:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skips = []
        self.flaky = []

    def add(self, name, failed, skip_reason, passed_again=False):
        if failed and passed_again:
            self.flaky.append(name)
            failed, skip_reason = False, None
        if failed:
            self.failures.append(name)
        elif skip_reason is not None:
            self.skips.append((name, skip_reason))
        else:
            self.passed += 1


def parse(path):
    """The root element, or None when the file is absent or cut off."""
    try:
        return ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return None


def first_line(text):
    lines = (text or "").strip().splitlines()
    return lines[0] if lines else ""


def skip_reason_of(case):
    """Why a case did not run, or None when it ran."""
    skipped = case.find("skipped")
    if skipped is not None:
        lines = [line for line in (skipped.get("message") or "").splitlines() if line.strip()]
        # GoogleTest puts "file:line" on the first line and the text after it.
        return lines[-1].strip() if lines else "no reason given"
    if case.get("status") in ("notrun", "disabled"):
        return "disabled"
    return None


def failed_cases(root):
    """Names of the cases of pytest or GoogleTest that failed."""
    return {
        full_name(case) for case in root.iter("testcase") if case.find("failure") is not None or case.find("error") is not None
    }


def full_name(case):
    return f"{case.get('classname')}.{case.get('name')}"


def add_gtest(root, first, program, totals):
    """Adds each case; returns whether one of them failed. `first`: names that failed in a run before."""
    failed = failed_cases(root)
    for case in root.iter("testcase"):
        name, reason = full_name(case), skip_reason_of(case)
        totals.add(f"{program} {name}", name in failed | first, reason, name not in failed and reason is None)
    return bool(failed)


def add_ctest(results, totals):
    root = parse(results / "ctest.junit")
    if root is None:
        return
    second = parse(results / "again/ctest.junit")
    passed_again = (
        set()
        if second is None
        else {program.get("name") for program in second.iter("testcase") if program.get("status") == "run"}
    )
    for program in root.iter("testcase"):
        name = program.get("name")
        # A program that was not built did not run, which is no skip.
        failed = program.get("status") in ("fail", "notrun")
        again = name in passed_again
        cases, before = parse(results / f"{name}.xml"), parse(results / f"first/{name}.xml")
        first = failed_cases(before) if before is not None else set()
        if cases is None:
            if failed or name not in FIXTURES:
                totals.add(name, failed, skip_reason_of(program), again)
        elif not add_gtest(cases, first, name, totals) and failed and not (again and first):
            totals.add(f"{name} (crashed, timed out or leaked)", True, None, again)


def add_pytest(path, totals):
    root = parse(path)
    if root is None:
        totals.add(f"{path.name} (unreadable)", True, None)
        return
    second = parse(path.parent / "again" / path.name)
    passed_again = (
        set()
        if second is None
        else {full_name(case) for case in second.iter("testcase") if skip_reason_of(case) is None} - failed_cases(second)
    )
    failed = failed_cases(root)
    for case in root.iter("testcase"):
        name = full_name(case)
        totals.add(name, name in failed, skip_reason_of(case), name in passed_again)


def skip_lines(skips):
    """A line for each skip; one for all tests of a file that were left to CI."""
    left = Counter(name.split("[")[0].rsplit(".test_", 1)[0] for name, reason in skips if reason == LEFT)
    out = [f"skipped {name}: {reason}" for name, reason in skips if reason != LEFT]
    for place, count in left.items():
        out.append(f"skipped {place}{f' ({count} tests)' if count > 1 else ''}: {LEFT}")
    return out


def main():
    totals = Totals()
    for build in sys.argv[1:]:
        results = Path(build) / "results"
        add_ctest(results, totals)
        for path in sorted(results.glob("*.junit")):
            if path.name != "ctest.junit":
                add_pytest(path, totals)
    for line in sys.stdin:
        outcome, _, phase = line.strip().partition(" ")
        if phase:
            totals.add(f"phase: {phase}", outcome == "failed", LEFT if outcome == "left" else None)
    for line in skip_lines(totals.skips):
        print(line)
    for name in totals.flaky:
        print(f"flaky   {name}: failed, and passed when it ran once more, alone")
    if len(totals.flaky) > FLAKY_MAX:
        totals.failures.append(f"flaky tests: {len(totals.flaky)}, at most {FLAKY_MAX} pass")
    for name in totals.failures:
        print(f"failed  {name}")
    print(f"{totals.passed} passed, {len(totals.failures)} failed, {len(totals.skips)} skipped")
    return 1 if totals.failures or totals.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

"""Tests of the total of all runners when something goes wrong."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).with_name("sum_results.py")
CTEST = '<testsuite><testcase name="a_unit_test" status="{}"/><testcase name="postgres_start" status="run"/></testsuite>'
GTEST = """<testsuites><testsuite name="S"><testcase name="Good" classname="S" status="run" result="completed"/>
<testcase name="Odd" classname="S" status="run" result="{}">{}</testcase></testsuite></testsuites>"""
PYTEST = """<testsuites><testsuite><testcase classname="t" name="good"/><testcase classname="t" name="broken"><error/>
</testcase><testcase classname="t" name="left"><skipped message="no display"/></testcase></testsuite></testsuites>"""


class SumResults(unittest.TestCase):
    def total(self, files, phases=""):
        """Exit status, last line and all output for these result files."""
        with tempfile.TemporaryDirectory() as build:
            for name in ("again", "first"):
                (Path(build) / "results" / name).mkdir(parents=True)
            for name, text in files.items():
                (Path(build) / "results" / name).write_text(text)
            done = subprocess.run([sys.executable, PROGRAM, build], input=phases, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1], done.stdout

    def test_adds_up_good_cases_and_leaves_out_fixtures(self):
        status, last, _ = self.total({"ctest.junit": CTEST.format("run"), "a_unit_test.xml": GTEST.format("completed", "")})
        self.assertEqual((status, last), (0, "2 passed, 0 failed, 0 skipped"))

    def test_names_failed_and_skipped_cases(self):
        failure = GTEST.format("completed", '<failure message="x"/>')
        status, last, text = self.total({"ctest.junit": CTEST.format("fail"), "a_unit_test.xml": failure})
        self.assertEqual((status, last), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("failed  a_unit_test S.Odd", text)
        skip = GTEST.format("skipped", '<skipped message="a_test.cc:7&#10;needs a disk&#10;"/>')
        status, last, text = self.total({"ctest.junit": CTEST.format("run"), "a_unit_test.xml": skip})
        self.assertEqual((status, last), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertIn("skipped a_unit_test S.Odd: needs a disk", text)

    def test_a_crash_is_a_failure_with_or_without_results(self):
        self.assertEqual(self.total({"ctest.junit": CTEST.format("fail")})[:2], (1, "0 passed, 1 failed, 0 skipped"))
        good = {"ctest.junit": CTEST.format("fail"), "a_unit_test.xml": GTEST.format("completed", "")}
        self.assertEqual(self.total(good)[:2], (1, "2 passed, 1 failed, 0 skipped"))

    def test_a_program_that_was_not_built_is_a_failure(self):
        absent = CTEST.format("notrun").replace("/>", '><skipped message="Unable to find executable"/></testcase>', 1)
        self.assertEqual(self.total({"ctest.junit": absent})[:2], (1, "0 passed, 1 failed, 0 skipped"))

    def test_counts_pytest_and_unreadable_results(self):
        self.assertEqual(self.total({"e2e.junit": PYTEST})[:2], (1, "1 passed, 1 failed, 1 skipped"))
        self.assertEqual(self.total({"e2e.junit": "<cut"})[:2], (1, "0 passed, 1 failed, 0 skipped"))

    def test_what_passes_when_it_runs_once_more_is_flaky(self):
        failure = GTEST.format("completed", '<failure message="x"/>')
        files = {"ctest.junit": CTEST.format("fail"), "first/a_unit_test.xml": failure}
        good = {"again/ctest.junit": CTEST.format("run"), "a_unit_test.xml": GTEST.format("completed", "")}
        status, last, text = self.total(files | good)
        self.assertEqual((status, last), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertIn("flaky   a_unit_test S.Odd", text)
        bad = {"again/ctest.junit": CTEST.format("fail"), "a_unit_test.xml": failure}
        status, last, text = self.total(files | bad)
        self.assertEqual((status, last), (1, "1 passed, 1 failed, 0 skipped"))
        crashed_first = {"ctest.junit": CTEST.format("fail")}
        self.assertEqual(self.total(crashed_first | good)[:2], (0, "3 passed, 0 failed, 0 skipped"))
        crashes = files | good | {"again/ctest.junit": CTEST.format("fail")}
        self.assertEqual(self.total(crashes)[0], 1)
        self.assertEqual(self.total(crashed_first | {"again/ctest.junit": CTEST.format("fail")})[0], 1)

    def test_pytest_is_flaky_only_if_it_passed(self):
        again = '<testsuites><testsuite><testcase classname="t" name="broken">{}</testcase></testsuite></testsuites>'
        status, last, text = self.total({"e2e.junit": PYTEST, "again/e2e.junit": again.format("")})
        self.assertEqual((status, last), (0, "2 passed, 0 failed, 1 skipped"))
        self.assertIn("flaky   t.broken", text)
        cases = '<testcase classname="t" name="n{}">{}</testcase>'
        for count, expected in ((3, (0, "3 passed, 0 failed, 0 skipped")), (4, (1, "4 passed, 1 failed, 0 skipped"))):
            first, second = (
                "<testsuites><testsuite>" + "".join(cases.format(n, end) for n in range(count)) + "</testsuite></testsuites>"
                for end in ('<failure message="x"/>', "")
            )
            self.assertEqual(self.total({"e2e.junit": first, "again/e2e.junit": second})[:2], expected)
        for outcome in ('<failure message="x"/>', '<skipped message="x"/>'):
            self.assertEqual(self.total({"e2e.junit": PYTEST, "again/e2e.junit": again.format(outcome)})[0], 1)

    def test_a_phase_that_could_not_run_fails_and_nothing_is_no_success(self):
        self.assertEqual(self.total({}, "failed build\n")[:2], (1, "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.total({})[:2], (1, "0 passed, 0 failed, 0 skipped"))

    def test_what_was_left_to_ci_is_one_line_for_each_file(self):
        case = '<testcase classname="clients.test_m" name="test_{}"><skipped message="left to CI: ./dev test --ci"/></testcase>'
        junit = (
            "<testsuites><testsuite>"
            + case.format("a[x.test_y]")
            + case.format("b")
            + '<testcase name="t"/></testsuite></testsuites>'
        )
        status, last, text = self.total({"e2e.junit": junit}, "failed \nleft core under sanitizers\n")
        self.assertEqual((status, last), (0, "1 passed, 0 failed, 3 skipped"))
        self.assertIn("skipped clients.test_m (2 tests): left to CI: ./dev test --ci\n", text)
        self.assertIn("skipped phase: core under sanitizers: left to CI: ./dev test --ci\n", text)


if __name__ == "__main__":
    unittest.main()

"""Tests of the judgement of ratios."""

import random
import unittest

import ratios


class Ratios(unittest.TestCase):
    def verdict(self, values, bound=0.05):
        return ratios.judge(values, bound)[2]

    def test_ratio_of_times_is_turned_round(self):
        self.assertAlmostEqual(ratios.speed_ratio(100, 95), 0.95)
        self.assertAlmostEqual(ratios.speed_ratio(95, 100, lower_is_better=True), 0.95)

    def test_loss_beyond_bound_and_spread_is_worse(self):
        self.assertEqual(self.verdict([0.90, 0.91, 0.90, 0.89, 0.90]), "worse")
        self.assertEqual(self.verdict([0.94, 0.94, 0.94, 0.94, 0.94]), "worse")

    def test_loss_within_the_bound_is_told_and_does_not_fail(self):
        self.assertEqual(self.verdict([0.96, 0.97, 0.96, 0.96, 0.97]), "slower")
        self.assertEqual(self.verdict([0.96, 0.97, 0.96, 0.96, 0.97], bound=0.02), "worse")

    def test_loss_within_the_spread_is_none(self):
        self.assertEqual(self.verdict([0.85, 1.10, 0.92, 1.05, 0.80]), "same")
        # Worse than the bound, but not by more than the spread.
        self.assertEqual(self.verdict([0.90, 0.80, 0.98, 0.85, 0.99]), "slower")

    def test_gain_is_told(self):
        self.assertEqual(self.verdict([1.2, 1.21, 1.19, 1.2, 1.2]), "faster")

    def test_one_spoilt_round_decides_nothing(self):
        self.assertEqual(self.verdict([1.0, 1.01, 0.4, 1.0, 0.99]), "same")
        self.assertEqual(self.verdict([0.9, 0.91, 2.5, 0.9, 0.9]), "worse")

    def test_spread_leaves_out_the_ends_of_five_or_more(self):
        self.assertAlmostEqual(ratios.spread([0.5, 1.0, 1.1, 1.2, 3.0]), 0.1)
        self.assertAlmostEqual(ratios.spread([1.0, 1.1, 1.2]), 0.1)

    def test_too_few_rounds_are_refused(self):
        self.assertRaises(ValueError, self.verdict, [0.5, 0.5])

    def test_equal_programs_with_noise_hardly_ever_fail(self):
        """And a loss of 12 % with the same noise nearly always does."""
        draw = random.Random(7)
        failed = {1.0: 0, 0.88: 0}
        for speed in failed:
            for _ in range(1000):
                values = [speed * draw.gauss(1, 0.02) / draw.gauss(1, 0.02) for _ in range(5)]
                failed[speed] += self.verdict(values) == "worse"
        self.assertLess(failed[1.0], 5)
        self.assertGreater(failed[0.88], 900)


if __name__ == "__main__":
    unittest.main()

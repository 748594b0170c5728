#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tester_plots.py PLOT_REPORT: a plot of a report compares something, shows what its title says, and has labelled axes."""
import importlib.util
import json
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

# Ends with status 77 where matplotlib is missing.
SPEC = importlib.util.spec_from_file_location("plot_report", sys.argv[1])
plot_report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plot_report)

PERCENTILES = {"p50": 20.0, "p90": 31.0, "p99": 42.0, "p99.9": None, "p99.99": None}


def row(iops=1000.0, operations=5000, latency=None, runs=(), figures=None, **shape):
    """A row of a report's JSON file."""
    made = {"submitter": "xio", "operation": "read", "pattern": "random", "bytes": 4096, "queues": 1, "depth": 1, "batch": 1, "memory_mode": 0}
    made["figures"] = {
        "operations": operations,
        "iops": iops,
        "mb_per_s": iops * shape.get("bytes", 4096) / 1e6,
        "latency_us": latency or PERCENTILES,
        "cpu": {"user_percent": 30.0, "system_percent": 10.0, "us_per_operation": 8.0},
        **(figures or {}),
    }
    return {**made, "iops_of_runs": list(runs) or [iops], "remark": "", **shape}


def vendors(*rates, **shape):
    """Rows of as many RDMA vendors, of ten runs."""
    return [row(rate, submitter=f"xio, nic{number}", runs=[rate * (1 + step / 100) for step in range(10)], **shape) for number, rate in enumerate(rates)]


class Plots(unittest.TestCase):
    def plot(self, name, rows, title="A table", **more):
        """The words of a table's plot; nothing where it has none."""
        report = {"heading": "a model", "device": "a device", "date": "today"}
        report["tables"] = [{"id": name, "title": title, "heading": "a model", "columns": [], "rows": rows, **more}]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "report.json").write_text(json.dumps(report))
            with unittest.mock.patch.object(sys, "argv", ["plot_report.py", str(path / "report.json"), folder]):
                plot_report.main()
            drawing = path / f"{name}.svg"
            self.assertEqual(drawing.exists(), (path / f"{name}.png").exists())
            return re.findall(r"<text[^>]*>([^<]*)</text>", drawing.read_text()) if drawing.exists() else None

    def test_one_row_compares_nothing(self):
        self.assertIsNone(self.plot("sustained", [row()]))
        self.assertIsNone(self.plot("single", [row(), {**row(memory_mode=3), "figures": None}]))
        self.assertIsNone(self.plot("multi-queue", []))

    def test_two_rows_are_compared(self):
        words = self.plot("multi-queue", [row(1000), row(2500, queues=2)])
        for word in ("A table (a model)", "1 queue", "2 queues", "IOPS", "1 000", "2 500", "latency, us", "p50", "p99"):
            self.assertIn(word, [one.strip() for one in words])

    def test_few_operations_are_no_rate(self):
        few = {"p50": 20.0, "p90": None, "p99": None}
        self.assertIsNone(self.plot("verified", [row(operations=64, latency=few), row(operations=64, latency=few, depth=32)]))
        self.assertIsNone(self.plot("verified", [row(operations=64, latency=few), row(depth=32)]))

    def test_percentiles_that_no_row_knows(self):
        words = self.plot("pattern", [row(), row(pattern="sequential")])
        self.assertIn("p99", words)
        self.assertNotIn("p99.9", words)

    def test_one_percentile_is_no_curve(self):
        words = self.plot("pattern", [row(latency={"p50": 20.0}), row(pattern="sequential", latency={"p50": 30.0})])
        self.assertIn("IOPS", words)
        self.assertNotIn("latency, us", words)

    def test_log_axes_have_labels(self):
        for least, most in ((61, 63), (1.9, 2.1), (20, 20), (0.4, 900), (100, 1000), (3, 60000)):
            latency = {"p50": float(least), "p90": float(most)}
            words = self.plot("pattern", [row(5e5, latency=latency), row(7e5, pattern="sequential", latency=latency)])
            # Those of the left axis come first.
            values = [float(word.replace(" ", "")) for word in words[words.index("p90") + 1 : words.index("latency, us")]]
            self.assertGreater(len(values), 1, (least, most))
            self.assertLess(len(values), 10, (least, most))
            self.assertLessEqual(min(values), least)
            self.assertGreaterEqual(max(values), most)

    def test_cpu_use_shows_cpu_use(self):
        words = self.plot("cpu", [row(), row(depth=32)], title="CPU use")
        for word in ("CPU us per operation", "user", "system"):
            self.assertIn(word, words)
        self.assertNotIn("IOPS", words)

    def test_added_latency_is_shown_alone(self):
        late = {"p50": 120.0, "p99": None}
        words = [word.strip() for word in self.plot("client", [row(device_us=0.0), row(device_us=100.0, latency=late)])]
        for word in ("added p50, us", "added p99, us", "20", "42", "too few operations"):
            self.assertIn(word, words)
        self.assertNotIn("IOPS", words)

    def test_one_row_compares_its_steps(self):
        steps = {"steps_ns": {"build": 30.0, "cq_poll": 500.0}}
        words = [word.strip() for word in self.plot("sub-steps", [row(figures=steps)])]
        for word in ("build", "CQ poll", "30", "500", "ns per operation"):
            self.assertIn(word, words)
        words = self.plot("sub-steps", [row(figures=steps), row(figures=steps, memory_mode=3)])
        self.assertIn("mode 3", words)

    def test_placements_are_compared_with_placements(self):
        host = vendors(1000, 2000, placement="host memory")
        self.assertIsNone(self.plot("rdma-placement", host))
        self.assertIn("queues in GPU memory", self.plot("rdma-placement", [row(placement="host memory"), row(placement="GPU memory")]))

    def test_noise_is_no_difference_of_vendors(self):
        self.assertIsNone(self.plot("rdma-immediate", vendors(1000, 1010), within_spread=[4096]))
        words = self.plot("rdma-immediate", vendors(1000, 2000), within_spread=[])
        self.assertIn("xio, nic1", words)
        self.assertIn("IOPS, and the range of the runs", words)

        rows = vendors(1000, 1010) + vendors(500, 505, bytes=65536)
        words = self.plot("rdma-write", rows, within_spread=[4096, 65536])
        self.assertIn("2 submitters, within the spread of their runs", words)
        self.assertNotIn("xio, nic1", words)
        words = self.plot("rdma-write", rows, within_spread=[4096])
        self.assertIn("xio, nic1", words)
        self.assertIn("MB/s, and the range of the runs", words)

    def test_a_run_without_operations_is_drawn(self):
        rows = vendors(1000, 1010) + vendors(500, 505, bytes=65536)
        rows[0]["iops_of_runs"][0] = 0.0
        self.assertIn("xio, nic1", self.plot("rdma-write", rows))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""Metrics, alerts and the dashboard, judged by the real Prometheus: it scrapes the real daemon."""

import json
import re
import shutil
import subprocess
import unittest
import urllib.parse

from admin_base import TOKEN, AdminTest
from harness import DEADLINE, ROOT, Process, ask, free_port, until

RULES = ROOT / "integrations/prometheus"
DASHBOARD = ROOT / "integrations/grafana/suimon.json"
METRIC = re.compile(r"\bsuimon_[a-z0-9_]+")


def promtool(*arguments, **options):
    return subprocess.run(["promtool", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=DEADLINE, **options)


def expressions(panel):
    yield from (target["expr"] for target in panel.get("targets", ()))
    for inner in panel.get("panels", ()):
        yield from expressions(inner)


class Names(AdminTest):
    def existing(self):
        """The names of samples, and of the families that have HELP and TYPE, in a real answer."""
        page = ask(self.daemon.admin, "GET", "/metrics").text
        families = {kind: set(re.findall(rf"(?m)^# {kind} (\S+) .", page)) for kind in ("HELP", "TYPE")}
        self.assertEqual(families["HELP"], families["TYPE"])
        samples = set(re.findall(r"(?m)^(suimon_\w+)", page))
        for sample in samples:
            self.assertIn(re.sub(r"_(bucket|sum|count)$", "", sample), families["TYPE"])
        return samples

    def test_alerts_and_dashboard_name_only_metrics_that_exist(self):
        existing = self.existing()
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        queries = [query for panel in dashboard["panels"] for query in expressions(panel)]
        queries += [item["definition"] for item in dashboard["templating"]["list"] if "definition" in item]
        alerts = (RULES / "alerts.yaml").read_text(encoding="utf-8")
        exprs = re.findall(r"(?m)^ +expr: (.*(?:\n {10}.*)*)", alerts)
        self.assertEqual(len(exprs), alerts.count("- alert:"))
        for text in queries + exprs:
            names = set(METRIC.findall(text))
            self.assertLessEqual(names, existing, text)
            self.assertTrue(names or "up{" in text, text)

    def test_metrics_of_the_interfaces_exist(self):
        for name in ("suimon_requests_total", "suimon_limit_decisions_total", "suimon_check_duration_seconds_bucket",
                     "suimon_table_entries", "suimon_table_bytes", "suimon_table_evictions_total",
                     "suimon_table_overflow_total", "suimon_store_errors_total", "suimon_config_reloads_total",
                     "suimon_config_last_reload_successful", "suimon_config_last_success_timestamp_seconds",
                     "suimon_build_info"):
            self.assertIn(name, self.existing())

    def test_the_dashboard_is_one_that_grafana_10_reads(self):
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        self.assertGreaterEqual(dashboard["schemaVersion"], 36)
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        taken = set()
        for panel in dashboard["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertLessEqual(place["x"] + place["w"], 24)
            self.assertFalse(cells & taken, f"{panel['title']} lies on another panel")
            taken |= cells
            for target in panel["targets"]:
                self.assertEqual(target["datasource"]["uid"], "${datasource}")


@unittest.skipUnless(shutil.which("promtool") and shutil.which("prometheus"), "prometheus is not installed")
class Real(AdminTest):
    def setUp(self):
        super().setUp()
        self.prometheus = None

    def query(self, text):
        target = "/api/v1/query?" + urllib.parse.urlencode({"query": text})
        answer = ask(self.prometheus, "GET", target).json()
        self.assertEqual(answer["status"], "success", answer)
        return {tuple(sorted(row["metric"].items())): float(row["value"][1]) for row in answer["data"]["result"]}

    def start_prometheus(self):
        config = (RULES / "prometheus.yaml").read_text(encoding="utf-8")
        for old, new in (("127.0.0.1:9090", "%s:%d" % self.daemon.admin), ("15s", "1s"),
                         ("[alerts.yaml]", f"[{RULES / 'alerts.yaml'}]")):
            self.assertIn(old, config)
            config = config.replace(old, new)
        file = self.folder / "prometheus.yaml"
        file.write_text(config, encoding="utf-8")
        port = free_port()
        self.prometheus = ("127.0.0.1", port)
        process = self.ended_with_test(Process(
            shutil.which("prometheus"), f"--config.file={file}", f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}"))
        process.wait_for_line("ready to receive web requests")

    def test_promtool_finds_nothing_wrong(self):
        for arguments in (("check", "rules", "alerts.yaml"), ("check", "config", "prometheus.yaml"),
                          ("test", "rules", "alerts_test.yaml")):
            with self.subTest(arguments):
                done = promtool(*arguments, cwd=RULES)
                self.assertEqual(done.returncode, 0, done.stdout)
        page = ask(self.daemon.admin, "GET", "/metrics").text
        done = promtool("check", "metrics", input=page)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_running_prometheus_scrapes_and_answers(self):
        self.verdicts(*[{"user": "u1"}] * 5)
        self.assertEqual(self.refund("r-1").status, 200)
        self.assertEqual(self.admin("/v1/reload", token=TOKEN).status, 200)
        self.start_prometheus()
        up = until(lambda: self.query('up{job="suimon"} == 1'), "a scrape")
        self.assertEqual(len(up), 1)
        labels = '{domain="shop",limit="per-user"}'
        counts = self.query(f"sum by (verdict) (suimon_limit_decisions_total{labels})")
        self.assertEqual(counts[(("verdict", "allowed"),)], 3)
        self.assertEqual(counts[(("verdict", "limited"),)], 2)
        self.assertEqual(self.query("sum(suimon_refunds_total) by (result) > 0"), {(("result", "made"),): 1})
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        for panel in dashboard["panels"]:  # each query is one that Prometheus understands
            for query in expressions(panel):
                for name, value in (("$instance", ".+"), ("$domain", ".*"), ("$__rate_interval", "1m")):
                    query = query.replace(name, value)
                with self.subTest(query):
                    self.query(query)
        rules = ask(self.prometheus, "GET", "/api/v1/rules").json()["data"]["groups"][0]["rules"]
        self.assertEqual({rule["type"] for rule in rules}, {"alerting"})
        self.assertEqual(len(rules), (RULES / "alerts.yaml").read_text(encoding="utf-8").count("- alert:"))


if __name__ == "__main__":
    unittest.main()

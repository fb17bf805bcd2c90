"""integrations/envoy as it ships: what a real Envoy makes of suimon's answers, and of suimon when it is gone."""

import threading
import unittest

from envoy_base import POLICY, SLOW, EnvoyTest
from harness import until

WIDE = POLICY.replace("{capacity: 10, refill: 5/s}", "{capacity: 1000000, refill: 1000/s}")


class Limits(EnvoyTest):
    def test_ten_pass_and_then_each_is_told_why_not(self):
        self.start()
        for left in range(9, -1, -1):
            answer = self.get()
            self.assertEqual((answer.status, answer.body), (200, b"up\n"))
            self.assertEqual(answer.field("X-RateLimit-Limit"), "10")  # one per 7 h fits no unit
            self.assertEqual(answer.field("X-RateLimit-Remaining"), str(left))
            self.assertEqual(answer.field("RateLimit-Policy"), '"per-address";q=10;w=252000')
        answer = self.get()
        self.assertEqual(answer.status, 429, answer)
        self.assertEqual(answer.field("x-envoy-ratelimited"), "true")
        self.assertEqual(answer.field("X-RateLimit-Remaining"), "0")
        self.assertLessEqual(int(answer.field("Retry-After")), 7 * 3600)
        self.assertGreater(int(answer.field("Retry-After")), 7 * 3600 - 100)
        self.assertEqual(answer.field("Content-Type"), "application/problem+json")
        self.assertEqual(answer.field("Content-Language"), "en")
        self.assertEqual(answer.json()["binding"], "per-address")

    def test_a_rate_that_fits_a_unit_is_told_with_it_and_a_refusal_is_in_the_callers_language(self):
        self.start(WIDE.replace("refill: 3/min", "refill: 3/h"))
        sign_in = ("/v1/sign-in", {"Accept-Language": "fr;q=0, ja-JP", "X-Api-Key": "k"}, "POST")
        for left in (2, 1, 0):
            answer = self.get(*sign_in)
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.field("X-RateLimit-Limit"), '3, 3;w=3600;name="sign-in"')
            self.assertEqual(answer.field("X-RateLimit-Remaining"), str(left))
        answer = self.get(*sign_in)
        self.assertEqual((answer.status, answer.field("Content-Language")), (429, "ja"))
        self.assertIn("サインインの試行", answer.json()["error"])
        self.assertEqual(self.get().status, 200)  # another path

    def test_a_path_that_cannot_be_decoded_gets_around_no_limit(self):
        self.start()
        answer = self.get("/v1/sign-in%zz", method="POST")
        self.assertIn(answer.status, (400, 429))


class Failures(EnvoyTest):
    def restart(self, policy):
        self.daemon = self.suimon_at_port(policy)
        until(self.healthy, "Envoy to find suimon again")

    def kill(self):
        self.daemon.popen.kill()
        self.daemon.wait()

    def test_open_while_suimon_is_down_and_limited_again_when_it_is_back(self):
        self.start()
        self.assertIsNotNone(self.get().field("X-RateLimit-Limit"))
        self.kill()
        for _ in range(12):
            answer = self.get()
            self.assertEqual((answer.status, answer.field("X-RateLimit-Limit")), (200, None))
        self.restart(SLOW)
        statuses = [self.get().status for _ in range(11)]
        self.assertEqual(statuses, [200] * 10 + [429])

    def test_closed_while_suimon_is_down_where_that_is_wanted(self):
        self.start(change=lambda limiting: limiting.update(failure_mode_deny=True))
        self.assertEqual(self.get().status, 200)
        self.kill()
        self.assertEqual({self.get().status for _ in range(12)}, {503})
        self.restart(SLOW)
        self.assertEqual(self.get().status, 200)

    def test_a_drain_loses_no_answer(self):
        # With failure_mode_deny every call that is lost would be seen.
        self.start(WIDE, change=lambda limiting: limiting.update(failure_mode_deny=True))
        statuses = [self.get().status for _ in range(20)]
        self.assertEqual(statuses, [200] * 20)
        self.daemon.stop()
        self.assertEqual(self.stat("cluster.suimon.upstream_rq_rx_reset"), 0)
        self.assertEqual(self.stat("cluster.suimon.upstream_cx_close_notify"), 1)

    def test_reloads_in_the_middle_of_load_are_seen_by_nobody(self):
        self.start(WIDE, change=lambda limiting: limiting.update(failure_mode_deny=True))
        over = threading.Event()
        statuses = []

        def load():
            while not over.is_set():
                statuses.append(self.get().status)

        clients = [threading.Thread(target=load) for _ in range(4)]
        for client in clients:
            client.start()
        for n in range(10):
            before = len(statuses)
            self.assertTrue(self.daemon.reload(WIDE.replace("1000000", str(900000 + n))))
            until(lambda: len(statuses) > before + 20, "requests after a reload")
        self.assertTrue(self.daemon.reload(WIDE.replace("{capacity: 1000000, refill: 1000/s}",
                                                        "{capacity: 1, refill: 1/h}")))
        until(lambda: statuses[-1] == 429, "the last policy")
        over.set()
        for client in clients:
            client.join()
        self.assertEqual(set(statuses), {200, 429})
        self.assertEqual(self.stat("cluster.suimon.ratelimit.error"), 0)
        metrics = self.daemon.metrics()
        self.assertEqual(metrics['suimon_requests_total{door="grpc",domain="shop",verdict="allowed"}'],
                         statuses.count(200))


if __name__ == "__main__":
    unittest.main()

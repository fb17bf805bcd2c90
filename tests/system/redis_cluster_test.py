"""What a real cluster says while something is wrong with it, or on the move: TRYAGAIN, ASK, MOVED and CLUSTERDOWN."""

import json
import random
import threading
import time
import unittest

from harness import Client, ask, until
from redis_base import THREE_WAYS, Cluster, RedisTest, check

STORE = 'suimon_store_{}{{store="redis"}}'
EVENT = 'suimon_store_events_total{{store="redis",event="{}"}}'
JSON = {"Content-Type": "application/json"}

TWO_LIMITS = """\
version: 1
domain: shop
limits:
  - {name: user, key: [user], on_store_error: deny, token_bucket: {capacity: 5, refill: 1/day}}
  - {name: team, match: {path: /team}, key: [team], on_store_error: deny, token_bucket: {capacity: 2, refill: 1/h}}
"""
TWO_RATES = """\
version: 1
domain: shop
limits:
  - {name: still, match: {path: /s}, key: [user], on_store_error: deny, token_bucket: {capacity: 5, refill: 1/day}}
  - {name: flowing, match: {path: /f}, key: [user], on_store_error: deny, token_bucket: {capacity: 5, refill: 2/s}}
"""


class ClusterTest(RedisTest):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster(self.folder, replicas=0)
        self.addCleanup(self.cluster.stop)

    def together(self, daemon, checks, client=None):
        """What is said to checks that come in one request and so leave together: true, false, or an error's status."""
        body = json.dumps([{"domain": "shop", "attributes": attributes} for attributes in checks]).encode()
        ways = ("POST", "/v1/check/batch", JSON, body)
        answer = client.ask(*ways) if client else ask(daemon.http, *ways)
        self.assertEqual(answer.status, 200, answer)
        said = [item.get("status", item.get("allowed")) for item in answer.json()]
        return [False if status == 429 else status for status in said]

    def errors(self, daemon):
        return daemon.metrics()[STORE.format("errors_total")]


class OnTheMove(ClusterTest):
    def test_a_slot_whose_keys_are_in_two_places_is_asked_key_by_key(self):
        # One shard: all keys lie in one slot.
        daemon = self.daemon(TWO_LIMITS, self.cluster.url + "?timeout=5s&shards=1", "a", threads=1)
        self.assertEqual(check(daemon.http, user="stays").status, 200)
        source = next(node for node in self.cluster.nodes if self.cluster.keys(node))
        target = next(node for node in self.cluster.nodes if node is not source)
        stays, = source.ask("KEYS", "*")
        users = [{"user": f"u{i}"} for i in range(10)]
        self.assertEqual(self.together(daemon, users), [True] * 10)
        slot = int(source.ask("CLUSTER", "KEYSLOT", stays)[1:])
        self.cluster.begin_move(slot, source, target)
        goes = [key for key in source.ask("KEYS", "*") if key != stays][:5]
        self.cluster.move_keys(goes, source, target)
        self.assertRegex(source.ask("MGET", goes[0], stays), "^-TRYAGAIN")

        self.assertEqual(self.together(daemon, users), [True] * 10)
        new = [{"user": f"n{i}"} for i in range(10)]
        self.assertEqual(self.together(daemon, new), [True] * 10)
        self.assertEqual(self.together(daemon, users + new + users), [True] * 30)
        for user in users[:2]:
            self.assertEqual([check(daemon.http, **user).status for _ in range(2)], [200, 429])
        # All or nothing: what the team refuses costs the user nothing, be they new, at the new place or at the old one.
        for user, team, left in (("m", "t", 5), ("n7", "s", 3), ("stays", "r", 4)):
            both = {"user": user, "team": team, "path": "/team"}
            self.assertEqual([check(daemon.http, **both).status for _ in range(4)], [200, 200, 429, 429])
            self.assertEqual(self.together(daemon, [{"user": user}] * 5), [True] * (left - 2) + [False] * (7 - left))
        # Records are converted to another policy, in calls of their own.
        wider = TWO_LIMITS.replace("capacity: 5", "capacity: 6").replace("capacity: 2", "capacity: 3")
        self.assertTrue(daemon.reload(wider))
        self.assertEqual(self.together(daemon, users), [True] * 10)
        self.assertEqual([check(daemon.http, **both).status for _ in range(2)], [200, 429])
        self.assertEqual(self.errors(daemon), 0)

        self.assertIn(stays, source.ask("KEYS", "*"))
        self.cluster.move_keys(source.ask("KEYS", "*"), source, target)
        self.cluster.end_move(slot, target)
        self.assertEqual(self.together(daemon, users), [False] * 2 + [True] * 8)
        self.assertEqual(self.together(daemon, users), [False] * 10)
        self.assertEqual(self.together(daemon, new[:5] * 5), [True] * 20 + [False] * 5)
        self.assertEqual(self.errors(daemon), 0)
        self.assertEqual(daemon.metrics()[EVENT.format("disputed")], 0)
        self.assertEqual(daemon.stop(), 0)

    def test_slots_that_are_moved_under_load_keep_one_limit(self):
        daemons = [self.daemon(TWO_RATES, self.cluster.url + "?timeout=10s", name, threads=1) for name in "ab"]
        still = [{"user": f"s{i}", "path": "/s"} for i in range(1000)]
        flowing = [{"user": f"f{i}", "path": "/f"} for i in range(60)]
        admitted, failed, lock, over = {}, [], threading.Lock(), threading.Event()

        def spend(daemon, checks, client=None):
            said = self.together(daemon, checks, client)
            with lock:
                for one, verdict in zip(checks, said):
                    admitted[one["user"]] = admitted.get(one["user"], 0) + (verdict is True)
                failed.extend(verdict for verdict in said if verdict not in (True, False))

        def load(number):
            some = random.Random(number)
            daemon = daemons[number % 2]
            try:
                with Client(daemon.http) as client:
                    while not over.is_set():
                        spend(daemon, some.sample(still, 10) + some.sample(flowing, 10), client)
            except Exception as error:
                failed.append(error)

        start = time.monotonic()
        clients = [threading.Thread(target=load, args=(number,)) for number in range(2)]
        for client in clients:
            client.start()
        try:
            until(lambda: len(admitted) > 100, "the first answers")
            nodes = self.cluster.nodes
            for source, target in ((0, 1), (1, 2), (2, 0)):
                until(self.cluster.agrees, "the nodes to agree")
                self.cluster.cli("reshard", self.cluster.addresses[0], "--cluster-slots", 260,
                                 "--cluster-from", nodes[source].ask("CLUSTER", "MYID"),
                                 "--cluster-to", nodes[target].ask("CLUSTER", "MYID"))
        finally:
            over.set()
            for client in clients:
                client.join()
        for _ in range(5):
            spend(daemons[0], still)
        spend(daemons[1], flowing)
        most = 5 + int(2 * (time.monotonic() - start))
        self.assertEqual(failed, [])
        self.assertEqual({admitted[one["user"]] for one in still}, {5})
        self.assertLessEqual(max(admitted[one["user"]] for one in flowing), most)
        self.assertGreaterEqual(min(admitted[one["user"]] for one in flowing), 5)
        for daemon in daemons:
            metrics = daemon.metrics()
            self.assertGreaterEqual(metrics[EVENT.format("redirected")], 1)
            self.assertEqual(metrics[EVENT.format("disputed")], 0)
            self.assertEqual(daemon.stop(), 0)


class Down(ClusterTest):
    def user_of(self, daemon, node):
        """Somebody whose bucket for /deny is kept there; they have spent one token."""
        for i in range(1000):
            before = self.cluster.keys(node)
            self.assertEqual(check(daemon.http, user=f"u{i}", path="/deny").status, 200)
            if self.cluster.keys(node) > before:
                return f"u{i}"
        raise AssertionError("the node has no slots")

    def test_a_cluster_that_lacks_a_master_is_down_and_comes_back_with_what_it_knew(self):
        daemon = self.daemon(THREE_WAYS, self.cluster.url + "?timeout=2s", "a", threads=1)
        victim, other, _ = self.cluster.nodes
        user = self.user_of(daemon, other)
        key = other.ask("KEYS", "*")[0]
        victim.kill()
        until(lambda: other.ask("GET", key).startswith("-CLUSTERDOWN"), "the cluster to be down")
        for path, expected in (("/local", [200] * 3 + [429] * 2), ("/allow", [200] * 5), ("/deny", [503] * 5)):
            start = time.monotonic()
            self.assertEqual([check(daemon.http, user=user, path=path).status for _ in range(5)], expected)
            self.assertLess(time.monotonic() - start, 10)
        metrics = daemon.metrics()
        self.assertEqual(metrics[EVENT.format("not_run")], 15)
        self.assertEqual(metrics[EVENT.format("unknown")], 0)

        self.cluster.nodes[0] = victim.again()
        until(lambda: all(self.cluster.works(node) for node in self.cluster.nodes), "the cluster")
        until(lambda: check(daemon.http, user="probe", path="/deny").status != 503, "the cluster to be asked again")
        errors = self.errors(daemon)
        self.assertEqual([check(daemon.http, user=user, path="/deny").status for _ in range(3)], [200, 200, 429])
        for i in range(30):  # on all nodes
            self.assertEqual(check(daemon.http, user=f"new{i}", path="/deny").status, 200)
        self.assertEqual(self.errors(daemon), errors)
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()

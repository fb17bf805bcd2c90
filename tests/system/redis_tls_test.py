"""One limit in servers that speak nothing but TLS and ask for certificates: a cluster, and a master with its Sentinel.

Limits refill once a day, so what is admitted in all is the capacity, whoever admits it and wherever it is kept.
"""

import unittest

from harness import Process, free_port, until
from redis_base import ONE_LIMIT, Cluster, Redis, RedisTest, Tls, check, command

CAPACITY = 9
POLICY = ONE_LIMIT.format(how="deny", capacity=CAPACITY)


class TlsTest(RedisTest):
    def setUp(self):
        super().setUp()
        self.tls = Tls(self.folder)

    def redis(self, *options):
        redis = Redis(self.folder, None, *options, tls=self.tls)
        self.addCleanup(redis.kill)
        return redis

    def asked(self, daemons, count, user="u"):
        """The statuses of so many checks, by all daemons in turn."""
        return [check(daemons[i % len(daemons)].http, user=user).status for i in range(count)]

    @staticmethod
    def redirects(daemons):
        return [daemon.metrics()['suimon_store_events_total{store="redis",event="redirected"}'] for daemon in daemons]

    def cannot_use(self, url, name, why):
        """A daemon with this store goes on, says why, and admits nobody."""
        daemon = self.daemon(POLICY, url, name)
        self.assertEqual(self.asked([daemon], 3), [503] * 3)
        daemon.wait_for_line(why)
        self.assertEqual(daemon.stop(), 0)


class InACluster(TlsTest):
    def test_one_limit_holds_while_its_slot_moves(self):
        cluster = Cluster(self.folder, replicas=0, tls=self.tls)
        self.addCleanup(cluster.stop)
        # One shard, so that there is one slot to move.
        url = f"{cluster.url}?timeout=5s&connect_timeout=5s&shards=1&{self.tls.url}"
        daemons = [self.daemon(POLICY, url, name, threads=1) for name in "ab"]
        self.assertEqual(self.asked(daemons, 4), [200] * 4)

        source = next(node for node in cluster.nodes if cluster.keys(node))
        target = next(node for node in cluster.nodes if node is not source)
        key, = source.ask("KEYS", "suimon:*")
        slot = int(source.ask("CLUSTER", "KEYSLOT", key)[1:])
        cluster.begin_move(slot, source, target)
        cluster.move_keys([key], source, target)
        self.assertEqual(self.asked(daemons, 2), [200] * 2)  # ASK
        cluster.end_move(slot, target)
        self.assertTrue(all(self.redirects(daemons)))
        places = [target, source]

        def moved_by_surprise():
            """Moves the slot on; whether each daemon heard of it by MOVED, and had not looked just then."""
            before = self.redirects(daemons)
            here, there = places
            cluster.begin_move(slot, here, there)
            cluster.move_keys(here.ask("KEYS", "*"), here, there)
            cluster.end_move(slot, there)
            places.reverse()
            self.assertEqual(self.asked(daemons, 2, user=str(before)), [200] * 2)
            return all(now > then for now, then in zip(self.redirects(daemons), before))

        until(moved_by_surprise, "MOVED")
        self.assertEqual(self.asked(daemons, 5), [200] * 3 + [429] * 2)
        self.assertEqual(cluster.keys(places[1]), 0)
        for daemon in daemons:
            self.assertEqual(daemon.metrics()['suimon_store_errors_total{store="redis"}'], 0)
            self.assertEqual(daemon.stop(), 0)

    def test_who_may_not_come_in_and_whom_nobody_believes(self):
        redis = self.redis()
        address = f"127.0.0.1:{redis.port}?timeout=5s&connect_timeout=5s"
        trusted = f"tls_ca={self.tls.authority.certificate}"
        self.assertIsNone(command(redis.port, "PING"), "it must not answer without TLS")
        self.cannot_use(f"rediss://{address}", "stranger", "TLS: .*certificate is refused")
        self.cannot_use(f"rediss://{address}&{trusted}&tls_server_name=other.test", "other", "TLS: .*hostname mismatch")
        self.cannot_use(f"rediss://{address}&{trusted}", "bare", "TLS: .*certificate required")
        self.assertEqual(self.asked([self.daemon(POLICY, f"rediss://{address}&{self.tls.url}", "good")], 1), [200])


class BehindASentinel(TlsTest):
    def sentinel(self, master):
        port = free_port()
        config = self.folder / "sentinel.conf"
        config.write_text(f"sentinel monitor shop 127.0.0.1 {master.port} 1\n"
                          "sentinel down-after-milliseconds shop 500\nsentinel failover-timeout shop 3000\n")
        sentinel = self.ended_with_test(Process(
            "redis-server", config, "--sentinel", *self.tls.server(port), "--bind", "127.0.0.1", "--dir", self.folder))
        until(lambda: command(port, "PING", tls=self.tls) == "+PONG", "the Sentinel")
        return port, lambda *words: command(port, "SENTINEL", *words, tls=self.tls) or ""

    def test_one_limit_goes_over_to_the_next_master(self):
        master = self.redis()
        replica = self.redis("--replicaof", "127.0.0.1", master.port, "--repl-diskless-sync-delay", 0)
        until(lambda: "master_link_status:up" in replica.ask("INFO", "replication"), "the replica")
        port, told = self.sentinel(master)
        until(lambda: len(told("REPLICAS", "shop")) == 1, "the Sentinel to know the replica")
        url = f"rediss-sentinel://127.0.0.1:{port}/shop?timeout=5s&connect_timeout=5s&{self.tls.url}"
        daemons = [self.daemon(POLICY, url, name, threads=1) for name in "ab"]
        for name, daemon in zip("ab", daemons):
            until(lambda: self.asked([daemon], 1, user=name) == [200], "the first answer")
        self.assertEqual(self.asked(daemons, 5), [200] * 5)

        self.assertEqual(master.ask("DBSIZE"), ":3")
        until(lambda: replica.ask("DBSIZE") == ":3", "the replica to have all of it")
        self.assertTrue(master.ask("WAIT", 1, 5000).startswith(":1"))
        master.kill()
        until(lambda: all(self.asked([daemon], 1, user="x") != [503] for daemon in daemons), "the next master")
        self.assertIn("role:master", replica.ask("INFO", "replication"))
        self.assertEqual(self.asked(daemons, 6), [200] * 4 + [429] * 2)
        for daemon in daemons:
            self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()

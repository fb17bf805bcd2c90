"""The policy changes while the finished program serves: by what, how soon, and what it costs nobody."""

import os
import pathlib
import shutil
import subprocess
import threading
import time
import unittest

from harness import Client, program, request, until
from http_base import HttpTest


def policy(domain="shop", **limits):
    """A policy by name of limit: its capacity and refill."""
    lines = ["version: 1", f"domain: {domain}", "attributes: {user: {header: X-User}, plan: {header: X-Plan}}",
             "limits:"]
    for name, (capacity, refill) in limits.items():
        lines.append(f"  - {{name: {name}, key: [user], token_bucket: {{capacity: {capacity}, refill: {refill}}}}}")
    return "\n".join(lines) + "\n"


ONE = policy(a=(10, "1/s"))
TWO = policy(a=(20, "1/s"))
SUCCESS = 'suimon_config_reloads_total{result="success"}'
FAILURE = 'suimon_config_reloads_total{result="failure"}'


class Reload(HttpTest):
    policy = None

    def capacity(self):
        return self.check(cost=0).json()["limits"][0]["capacity"]

    def loaded_by(self, change):
        """Makes the change; whether the policy was then loaded, and what the log said until then."""
        start = len(self.daemon.lines)
        change()
        good = self.daemon.wait_for_line(r"was (not )?loaded", start)[1] is None
        return good, "\n".join(line for line in self.daemon.lines[start:] if line)

    def assert_loads(self, change, *said):
        good, log = self.loaded_by(change)
        self.assertTrue(good, log)
        for words in said:
            self.assertIn(words, log)

    def assert_stays(self, change, *said):
        good, log = self.loaded_by(change)
        self.assertFalse(good, log)
        for words in said:
            self.assertIn(words, log)


class AChangedFile(Reload):
    def setUp(self):
        super().setUp()
        self.start(ONE)
        self.file = self.daemon.policy_file

    def test_put_in_its_place_by_an_editor_is_loaded_each_time(self):
        for capacity in (20, 30, 40):
            self.assert_loads(lambda c=capacity: self.daemon.write(policy(a=(c, "1/s"))),
                              f"changed shop/a: capacity {capacity - 10} -> {capacity}")
            self.assertEqual(self.capacity(), capacity)

    def test_written_over_is_loaded(self):
        self.assert_loads(lambda: self.file.write_text(TWO), "changed shop/a")
        self.assertEqual(self.capacity(), 20)

    def test_written_in_pieces_is_loaded_when_it_is_whole(self):
        whole = policy(a=(20, "1/s"), b=(5, "1/s"))
        half = whole.index("  - {name: b")  # so far it would be a good policy, with one limit less

        def write():
            began = time.monotonic()
            with self.file.open("w") as file:
                for piece in (whole[:half], whole[half:half + 9], whole[half + 9:]):
                    file.write(piece)
                    file.flush()
                    threading.Event().wait(0.3)
            self.took = time.monotonic() - began

        self.assert_loads(write)
        if self.took < 1.9:  # the daemon's patience is 2 s; a machine may stand still for longer
            self.assertEqual(self.daemon.metrics()[SUCCESS], 2)
            self.assertEqual(self.daemon.metrics()[FAILURE], 0)
        until(lambda: len(self.check(cost=0).json()["limits"]) == 2, "both limits")

    def test_half_of_it_keeps_the_running_policy_and_the_rest_mends_it(self):
        self.assert_stays(lambda: self.file.write_text(TWO[:-20]), "limits.yaml:", "the running policy stays")
        self.assertEqual(self.capacity(), 10)
        self.assertEqual(self.daemon.metrics()["suimon_config_last_reload_successful"], 0)
        with self.file.open("a") as file:
            self.assert_loads(lambda: (file.write(TWO[-20:]), file.close()))
        self.assertEqual(self.capacity(), 20)
        self.assertEqual(self.daemon.metrics()["suimon_config_last_reload_successful"], 1)

    def test_held_open_by_its_writer_is_not_waited_for_without_end(self):
        with self.file.open("a") as file:
            self.assert_loads(lambda: (file.write("# more will come\n"), file.flush()), "1 unchanged")

    def test_deleted_and_made_again_is_loaded(self):
        self.assert_stays(self.file.unlink, "No such file")
        self.assertEqual(self.capacity(), 10)
        self.assert_loads(lambda: self.file.write_text(TWO))
        self.assertEqual(self.capacity(), 20)

    def test_touched_is_not_loaded(self):
        start = len(self.daemon.lines)
        self.file.touch()
        self.daemon.wait_for_line("nothing in it has changed", start)
        self.daemon.write(ONE)
        self.daemon.wait_for_line("nothing in it has changed", start + 1)
        self.assertEqual(self.daemon.metrics()[SUCCESS], 1)

    def test_beside_it_is_nobodys_business(self):
        start = len(self.daemon.lines)
        for name in ("other.yaml", "limits.yaml~", ".limits.yaml.swp"):
            (self.file.parent / name).write_text(TWO)
        self.assertTrue(self.daemon.reload())  # events come in order, so those were seen before
        self.assertEqual([line for line in self.daemon.lines[start:] if "nothing in it" in line], [])
        self.assertEqual(self.daemon.metrics()[SUCCESS], 2)

    def test_may_become_a_link_and_a_file_again(self):
        other = self.folder / "elsewhere" / "policy"
        other.parent.mkdir()
        other.write_text(TWO)

        def link():
            beside = self.folder / "link"
            beside.symlink_to(other)
            beside.replace(self.file)

        self.assert_loads(link)
        self.assert_loads(lambda: other.write_text(policy(a=(30, "1/s"))), "capacity 20 -> 30")
        self.assert_loads(lambda: self.daemon.write(policy(a=(40, "1/s"))), "capacity 30 -> 40")

    def test_says_of_every_limit_what_became_of_it(self):
        tiers = ("version: 1\ndomain: shop\ntiers:\n  free: {capacity: 10, refill: 2/s}\n"
                 "  basic: {capacity: 20, refill: 5/s}\nlimits:\n"
                 "  - {name: a, key: [user], token_bucket: {tier: {from: plan, default: free}}}\n"
                 "  - {name: b, key: [user], token_bucket: {capacity: 5, refill: 1 per 5s}}\n"
                 "  - {name: c, key: [user], token_bucket: {capacity: 5, refill: 1/s}}\n")
        self.assert_loads(lambda: self.daemon.write(tiers))
        after = (tiers.replace("capacity: 20, refill: 5/s", "capacity: 25, refill: 300/min")
                 .replace("name: b, key: [user]", "name: b, key: [plan]").replace("name: c", "name: d")
                 .replace("1 per 5s", "2 per 5s"))
        self.assert_loads(lambda: self.daemon.write(after), "changed shop/a: tier basic capacity 20 -> 25",
                          "changed shop/b: refill 1 per 5s -> 2 per 5s, key [user] -> [plan]",
                          "added shop/d", "removed shop/c", "1 added, 2 changed, 1 removed, 0 unchanged")

    def warned(self, settings):
        """The settings that a reload with these in the file says to need a restart."""
        start = len(self.daemon.lines)
        self.assertTrue(self.daemon.reload(ONE + settings), self.daemon.stderr())
        lines = [line for line in self.daemon.lines[start:] if line]
        return [line.split()[2] for line in lines if "takes effect after a restart" in line]

    def test_a_setting_that_a_flag_or_a_default_keeps_needs_no_restart(self):
        self.daemon.stop()
        self.start(ONE + "log: {per_second: 7}\n", extra=["--when-full", "refuse"])
        self.assertEqual(self.warned("server: {http: 127.0.0.1:1, threads: 9}\nlog: {per_second: 7}\n"
                                     "store: {when_full: pardon}\n"), [], "flags go before the file")
        self.assertEqual(self.warned("server: {timeouts: {idle: 60s, header: 10s, drain: 10s}}\n"
                                     "store: {url: 'memory://?max_keys=1000000'}\n"
                                     "log: {events: off, identify: none, per_second: 7}\n"), [], "the defaults")
        self.assertEqual(self.warned("server: {timeouts: {idle: 61s}}\n"),
                         ["server.timeouts.idle", "log.per_second"])

    def test_with_settings_for_a_restart_names_them(self):
        settings = ONE + "server: {timeouts: {idle: 99s}}\n"
        other = self.folder / "settings.yaml"
        other.write_text(settings)
        if subprocess.run([program(), "validate", other], capture_output=True).returncode != 0:
            self.skipTest("server: is not in this version")
        self.assert_loads(lambda: self.daemon.write(settings), "server.timeouts.idle is not what suimon was started with")


class TheWayToIt(Reload):
    def test_a_ConfigMap_is_swapped_as_kubernetes_does_it(self):
        mount = self.folder / "mount"
        mount.mkdir()

        def version(number, text):
            data = mount / f"..2026_11_30_{number}"
            data.mkdir()
            (data / "limits.yaml").write_text(text)
            beside = mount / "..data_tmp"
            beside.symlink_to(data.name)
            beside.replace(mount / "..data")
            if (old := mount / f"..2026_11_30_{number - 1}").exists():
                shutil.rmtree(old)

        version(1, ONE)
        (mount / "limits.yaml").symlink_to("..data/limits.yaml")
        for config in (mount / "limits.yaml", mount):
            with self.subTest(config.name):
                self.start(None, config=config)
                first = 2 if config != mount else 5
                for number in range(first, first + 3):
                    text = policy(a=(10 * number, "1/s"))
                    self.assert_loads(lambda n=number, t=text: version(n, t))
                    self.assertEqual(self.capacity(), 10 * number)
                self.daemon.stop()

    def test_a_link_to_the_folder_in_force_is_swapped(self):
        for name, text in (("v1", ONE), ("v2", TWO)):
            (self.folder / name).mkdir()
            (self.folder / name / "limits.yaml").write_text(text)
        current = self.folder / "current"
        current.symlink_to("v1")
        self.start(None, config=current / "limits.yaml")

        def swap(name):
            beside = self.folder / "next"
            beside.symlink_to(self.folder / name)
            beside.replace(current)

        self.assert_loads(lambda: swap("v2"), "capacity 10 -> 20")
        self.assert_loads(lambda: swap("v1"), "capacity 20 -> 10")
        self.assert_loads(lambda: (self.folder / "v1/limits.yaml").write_text(TWO), "capacity 10 -> 20")

    def test_a_folder_on_the_way_is_replaced(self):
        folder = self.folder / "etc" / "suimon"
        folder.mkdir(parents=True)
        (folder / "limits.yaml").write_text(ONE)
        self.start(None, config=folder / "limits.yaml")
        new = self.folder / "new"
        shutil.copytree(self.folder / "etc", new)
        (new / "suimon" / "limits.yaml").write_text(TWO)
        self.assert_stays(lambda: (self.folder / "etc").rename(self.folder / "old"))
        self.assert_loads(lambda: new.rename(self.folder / "etc"), "capacity 10 -> 20")
        self.assert_loads(lambda: (folder / "limits.yaml").write_text(ONE), "capacity 20 -> 10")

    def test_a_path_relative_to_where_it_was_started(self):
        (self.folder / "here.yaml").write_text(ONE)
        self.start(None, config="here.yaml", under=("env", "-C", self.folder))
        self.assert_loads(lambda: (self.folder / "here.yaml").write_text(TWO), "capacity 10 -> 20")

    def test_a_directory_gets_loses_and_links_files(self):
        folder = self.folder / "policies"
        folder.mkdir()
        (folder / "one.yaml").write_text(policy("one", a=(10, "1/s")))
        self.start(None, config=folder)
        self.assert_loads(lambda: (folder / "two.yml").write_text(policy("two", a=(5, "1/s"))), "added two/a")
        outside = self.folder / "outside"
        outside.write_text(policy("three", a=(5, "1/s")))
        self.assert_loads(lambda: (folder / "three.yaml").symlink_to(outside), "added three/a")
        self.assert_loads(lambda: outside.write_text(policy("three", a=(6, "1/s"))), "changed three/a: capacity 5 -> 6")
        self.assert_loads((folder / "two.yml").unlink, "removed two/a")
        self.assert_loads(lambda: (folder / "one.yaml").write_text(policy("one", b=(1, "1/s"))), "removed one/a")
        start = len(self.daemon.lines)
        (folder / "README").write_text("no policy\n")
        self.assertTrue(self.daemon.reload())
        self.assertEqual([line for line in self.daemon.lines[start:] if "nothing in it" in line], [])
        self.assert_stays(lambda: (folder / "four.yaml").write_text("version: 1\n"), "four.yaml:1:1")
        self.assert_loads((folder / "four.yaml").unlink, "2 unchanged")

    def test_many_changes_leave_no_watches_behind(self):
        self.start(ONE)

        def watches():
            infos = pathlib.Path(f"/proc/{self.daemon.pid}/fdinfo").iterdir()
            return sum(info.read_text().count("inotify wd:") for info in infos)

        before = watches()
        self.assertGreater(before, 1)
        for number in range(20):
            away = self.folder / f"away-{number}"
            away.mkdir()
            (away / f"{number}.yaml").write_text(policy(a=(100 + number, "1/s")))
            beside = self.folder / "link"
            beside.symlink_to(away / f"{number}.yaml")
            self.assert_loads(lambda: beside.replace(self.daemon.policy_file))
        self.assert_loads(lambda: self.daemon.write(ONE))
        self.assertEqual(watches(), before)

    def test_without_inotify_it_says_so_once_and_looks(self):
        without = ("unshare", "--user", "--map-root-user", "sh", "-c",
                   'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"', "sh")
        if subprocess.run([*without, "true"], capture_output=True).returncode != 0:
            self.skipTest("this system gives no namespace in which inotify could be refused")
        self.start(ONE, under=without)
        self.daemon.wait_for_line("the system gives no inotify: Too many open files; looking at .* every 2 seconds")
        self.assert_loads(lambda: self.daemon.write(TWO), "capacity 10 -> 20")
        self.assert_stays(self.daemon.policy_file.unlink)
        self.assert_loads(lambda: self.daemon.write(ONE))
        self.assertEqual(self.daemon.stderr().count("inotify"), 1)


class NobodyGetsAFreshBucket(Reload):
    def spend_and_reload(self, texts):
        """Takes all 10, loads the texts one after the other, takes 5 one by one; the last must be ONE.
        Returns how many of those 5 may at most have been allowed, and how many were."""
        began = time.monotonic()
        self.assertEqual(self.check(cost=10).status, 200)
        for text in texts:
            self.assertTrue(self.daemon.reload(text))
        allowed = sum(self.verdicts(*[{"user": "u1"}] * 5))
        return int(time.monotonic() - began), allowed

    def test_C33_b_by_100_reloads_of_one_file(self):
        self.start(ONE)
        most, allowed = self.spend_and_reload([None] * 100)
        self.assertLessEqual(allowed, most)
        self.assertEqual(self.daemon.metrics()["suimon_shapes_used"], 1)

    def test_by_100_changed_files(self):
        self.start(ONE)
        most, allowed = self.spend_and_reload([TWO, ONE] * 50)
        self.assertLessEqual(allowed, most)
        self.assertEqual(self.daemon.metrics()["suimon_shapes_used"], 101)

    def test_by_a_limit_that_goes_and_comes_back(self):
        self.start(ONE)
        most, allowed = self.spend_and_reload([policy(b=(1, "1/s")), ONE] * 10)
        self.assertLessEqual(allowed, most)

    def test_by_another_order_another_title_or_another_match(self):
        self.start(ONE)
        other = policy(z=(1000, "1/s"), a=(10, "1/s")).replace("{name: a,", "{name: a, match: {user: '*'},")
        most, allowed = self.spend_and_reload([other, ONE] * 10)
        self.assertLessEqual(allowed, most)

    def test_under_load_no_request_is_lost_and_the_bound_holds(self):
        self.start(ONE)
        users, connections = ("u1", "u2"), 4
        allowed = [dict.fromkeys(users, 0) for _ in range(connections)]
        answers, wrong = [0] * connections, []
        stop = threading.Event()

        def run(number):
            try:
                with Client(self.http) as client:
                    while not stop.is_set():
                        for user in users:
                            body = b'{"attributes":{"user":"%s"}}' % user.encode()
                            answer = client.ask("POST", "/v1/check", {"Content-Type": "application/json"}, body)
                            answers[number] += 1
                            if answer.status == 200 and answer.json()["limits"]:
                                allowed[number][user] += 1
                            elif answer.status != 429:
                                wrong.append(answer)
            except Exception as error:  # a connection that was closed is wrong, too
                wrong.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(connections)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        try:
            until(lambda: min(answers) > 20, "traffic")
            for _ in range(15):
                for text in (TWO, ONE):
                    self.assert_loads(lambda t=text: self.daemon.write(t), "changed shop/a")
            seen = list(answers)
            until(lambda: all(now > then + 20 for now, then in zip(answers, seen)), "more traffic")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        took = time.monotonic() - began
        self.assertEqual(wrong, [])
        for user in users:
            spent = sum(counts[user] for counts in allowed)
            self.assertLessEqual(spent, 20 + int(took), f"{user} in {took:.3f} s")
            self.assertGreaterEqual(spent, 10)
        total = sum(answers)
        figures = until(lambda: self.daemon.metrics(), "metrics")
        counted = sum(figures[f'suimon_requests_total{{door="http",domain="shop",verdict="{verdict}"}}']
                      for verdict in ("allowed", "limited"))
        self.assertEqual(counted, total)
        self.assertEqual(figures[SUCCESS], 31)
        self.assertEqual(figures[FAILURE], 0)


class TheEnd(Reload):
    def test_comes_at_once_while_a_change_waits(self):
        self.start(ONE)
        with self.daemon.policy_file.open("a") as file:
            file.write("# half a li")
            file.flush()
            self.assertEqual(self.daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()

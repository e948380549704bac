"""A receiver that fails by a plan, or stands before a real one and loses answers.
    receiver.py LOG PLAN --port-file FILE [--port PORT] [--tls CERT KEY] [--to PORT] [--columns FILE] [--query STATUS]
PLAN: what comes of each insert or push in turn, with commas; the last one goes on for ever:
    ok, a status such as 500, 429:1 (Retry-After), slow (5 s), close (after all was read), cut, garbage, html, redirect,
    error:N (500 with ClickHouse's code N), rejected (200 of OTLP), lose (--to: the answer of the real server is thrown away)
LOG gets a line of JSON for each of them: table, token, lines, what came of it; with `user` where one is given."""
import base64
import gzip
import http.client
import http.server
import json
import ssl
import sys
import time
import urllib.parse

arguments = sys.argv[3:]


def option(name, count=1):
    if name not in arguments:
        return None
    at = arguments.index(name)
    return arguments[at + 1] if count == 1 else arguments[at + 1 : at + 1 + count]


log = open(sys.argv[1], "a", buffering=1, encoding="utf-8")
plan = sys.argv[2].split(",")
before = option("--to")
columns = open(option("--columns"), encoding="utf-8").read() if option("--columns") else ""


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text="", **headers):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def forward(self, body):
        there = http.client.HTTPConnection("127.0.0.1", int(before))
        there.request("POST", self.path, body, {name: value for name, value in self.headers.items()
                                                if name in ("Content-Encoding", "Content-Type")})
        answer = there.getresponse()
        return answer.status, answer.read().decode()

    def ask(self, body):
        if before:
            self.answer(*self.forward(body))
        elif option("--query"):
            self.answer(int(option("--query")), "it does not want this")
        elif b"version()" in body:
            self.answer(200, "24.8.1.2\n")
        else:
            self.answer(200, columns)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        statement = query.get("query", "")
        if not statement.startswith("INSERT") and url.path == "/":
            return self.ask(body)
        what = plan.pop(0) if len(plan) > 1 else plan[0]
        text = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        entry = {"path": url.path, "table": statement.split(" (")[0].split(".")[-1], "token": query.get("insert_deduplication_token"),
                 "lines": text.count(b"\n"), "what": what}
        for name in "Content-Type", "X-Scope-OrgID", "OTLP-Profiles-Development-Version":
            if self.headers.get(name):
                entry[name] = self.headers[name]
        if self.headers.get("Authorization"):
            kind, value = self.headers["Authorization"].split(" ", 1)
            entry["user"] = base64.b64decode(value).decode() if kind == "Basic" else value
        if url.path != "/":
            entry["body"] = base64.b64encode(text).decode()
        log.write(json.dumps(entry) + "\n")
        self.act(what, body)

    def act(self, what, body):
        status, _, more = what.partition(":")
        if what in ("ok", "lose"):
            answer = self.forward(body) if before else (200, "{}" if "Pusher" in self.path else "")
            if what == "ok":
                return self.answer(*answer)
        elif what == "slow":
            time.sleep(5)
            return self.answer(200)
        elif what == "rejected": # 200, by which a collector of OpenTelemetry rejects two profiles
            return self.answer(200, "\x0a\x0b\x08\x02\x12\x07no room")
        elif what == "html":
            return self.answer(200, "<html>Welcome to this network</html>")
        elif what == "garbage":
            self.wfile.write(b"\x00\xffSSH-2.0\r\n\r\n" * 100)
        elif what == "header": # one line that does not end
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000000)
        elif what == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of")
        elif what == "redirect":
            return self.answer(302, Location="http://127.0.0.1:1/elsewhere")
        elif status == "error":
            return self.answer(500, "Code: %s. DB::Exception: what is wrong\x1b[31m (CODE)" % more)
        elif what != "close":
            return self.answer(int(status), "it does not want this", **({"Retry_After": more} if more else {}))
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_): # of a client that was killed
        pass


server = Server(("127.0.0.1", int(option("--port") or 0)), Receiver)
if option("--tls"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*option("--tls", 2))
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(option("--port-file"), "w", encoding="utf-8") as out:
    print(server.server_port, file=out)
server.serve_forever()

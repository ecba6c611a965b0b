#!/usr/bin/env python3
"""Sends mutated requests to a coordinator, made from its own OpenAPI document.

Usage: fuzz_api.py ASSAY COUNT [SEED]

Starts `ASSAY serve` on a folder of its own, makes a token of each role, and sends COUNT requests: right ones and broken ones, of every route, with every
kind of caller. Fails on a status of 5xx other than 503 `later` and 507 `full` or `quota`, on an answer of 2xx to a caller whose role may not, on an error that is
not in the form of the API, on a connection that ends without an answer, on a server that dies or does not answer in time, and on anything that a sanitizer says
of it, where ASSAY was built with one. Everything follows from the seed; how far it is and what was answered is printed every ten seconds, the last requests
where one fails.
"""

import collections
import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

TIMEOUT_S = 60
PROGRESS_S = 10
DELIBERATE = {503: {"later"}, 507: {"full", "quota"}}  # what a coordinator may say of itself
SANITIZERS = re.compile(r"ERROR: \w+Sanitizer|WARNING: \w+Sanitizer|SUMMARY: \w+Sanitizer|runtime error:")
ROLES = ["client", "provider", "auditor", "admin"]
NASTY = ["", "0", "-1", "9223372036854775807", "9223372036854775808", "1e308", "null", "true", "..", "../..", "%2e%2e", "%00", "a" * 300, "\u00e9", "\U0001f600",
         "' OR 1=1 --", "$1", "{}", "[]", "<x>", "\t", "\\", "\"", "assay_" + "a" * 64, "00", "+1", "1.0", "0x10"]


def hex_of(rng, digits):
    return "".join(rng.choice("0123456789abcdef") for _ in range(digits))


class Fuzzer:
    def __init__(self, url, tokens, seed, known):
        self.rng = random.Random(seed)
        self.host = urllib.parse.urlparse(url).netloc
        self.tokens = tokens
        self.known = known  # values that exist: orders, blobs, tokens, accounts
        self.connection = None
        self.recent = collections.deque(maxlen=5)
        self.statuses = collections.Counter()
        self.document = json.loads(self.plain("GET", "/openapi.json"))
        self.operations = [(path, method.upper(), operation) for path, methods in self.document["paths"].items()
                           for method, operation in methods.items()]

    def plain(self, method, target):
        connection = http.client.HTTPConnection(self.host, timeout=TIMEOUT_S)
        connection.request(method, target)
        return connection.getresponse().read()

    # Values

    def resolve(self, schema):
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def text_for(self, pattern):
        rng = self.rng
        digits = re.fullmatch(r"\^\[0-9a-f\]\{(\d+)\}\$", pattern or "")
        if digits:
            return hex_of(rng, int(digits.group(1)))
        return rng.choice(["a", "alice", "x" * rng.randrange(1, 80), hex_of(rng, 16)])

    def value_of(self, schema, depth=0):
        """Mostly what the schema wants."""
        rng = self.rng
        schema = self.resolve(schema)
        if rng.random() < 0.05 or depth > 5:
            return rng.choice([None, True, -1, 1.5, 2**63, 2**64, "", "x", [], {}, [[]], rng.choice(NASTY)])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return rng.choice(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = rng.choice(kind)
        if kind == "object":
            result = {}
            for name, part in schema.get("properties", {}).items():
                if name in schema.get("required", []) and rng.random() < 0.97 or rng.random() < 0.5:
                    result[name] = self.value_of(part, depth + 1)
            if rng.random() < 0.1:
                result[rng.choice(["extra", "", "__proto__"])] = self.value_of({}, depth + 1)
            return result
        if kind == "array":
            return [self.value_of(schema.get("items", {}), depth + 1) for _ in range(rng.choice([0, 1, 1, 2, 5, 100]) if depth < 3 else 1)]
        if kind == "integer":
            return rng.choice([0, 1, 2, 7, 100, 1000, 60000, 2**31, 2**53, 2**63 - 1])
        if kind == "boolean":
            return rng.random() < 0.5
        if kind == "null":
            return None
        if kind == "string":
            pattern = schema.get("pattern")
            if pattern and "{64}" in pattern and self.known["sha"] and rng.random() < 0.5:
                return rng.choice(self.known["sha"])
            return self.text_for(pattern) if rng.random() < 0.9 else rng.choice(NASTY)
        return rng.choice([None, 0, "x", {}, []])

    def part_for(self, parameter):
        rng = self.rng
        if rng.random() < 0.15:
            return rng.choice(NASTY) if rng.random() < 0.7 else hex_of(rng, rng.choice([1, 31, 33, 63, 65]))
        known = self.known.get(parameter["name"])
        if known and rng.random() < 0.6:
            return rng.choice(known)
        schema = self.resolve(parameter.get("schema", {}))
        if schema.get("type") == "integer":
            return str(rng.choice([0, 1, 2, 3, 10, 100, 1000]))
        return str(self.text_for(schema.get("pattern")))

    # Requests

    def mutate(self, data):
        rng = self.rng
        data = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            if not data:
                break
            at = rng.randrange(len(data))
            what = rng.randrange(4)
            if what == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif what == 1:
                del data[at:at + rng.randrange(1, 9)]
            elif what == 2:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
            else:
                data = data[:at]
        return bytes(data)

    def body_for(self, operation):
        rng = self.rng
        content = operation.get("requestBody", {}).get("content")
        if not content:
            return rng.choice([b"", b"", b"", b"{}", b"x" * 100])
        kind, described = next(iter(content.items()))
        limit = operation.get("x-max-bytes", 65536)
        if rng.random() < 0.01 and limit < 1 << 20:
            return b"[" * (limit + 1)
        if kind != "application/json":
            return bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 3, 10, 1000])))
        if rng.random() < 0.1 and self.known["envelope"]:
            body = rng.choice(self.known["envelope"]).encode()
        else:
            body = json.dumps(self.value_of(described.get("schema", {})), ensure_ascii=rng.random() < 0.5).encode("utf-8", "replace")
        return self.mutate(body) if rng.random() < 0.2 else body

    def request(self):
        rng = self.rng
        path, method, operation = rng.choice(self.operations)
        query = []
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "header":  # those that sign are made below, or are not
                continue
            value = self.part_for(parameter)
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", value if rng.random() < 0.05 else urllib.parse.quote(value, safe=""))
            elif parameter.get("required") and rng.random() < 0.95 or rng.random() < 0.5:
                if parameter["name"] == "wait_ms":
                    value = str(rng.choice([0, 1, 20])) if rng.random() < 0.9 else value[:2]
                query.append(parameter["name"] + "=" + urllib.parse.quote(value, safe=""))
        if rng.random() < 0.02:
            query.append(rng.choice(["a=b", "=", "&&", "after=1", "%zz=1", "x"]))
        target = path + ("?" + "&".join(query) if query else "")
        if rng.random() < 0.02:
            method = rng.choice(["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"])
        headers = {}
        role = rng.choice(ROLES + ["admin", None])
        if role is not None:
            headers["Authorization"] = "Bearer " + self.tokens[role]
        elif rng.random() < 0.3:
            headers["Authorization"] = rng.choice(["Bearer", "Basic x", "Bearer assay_" + hex_of(rng, 64), "Bearer " + "x" * 500])
        if rng.random() < 0.1:
            headers[rng.choice(["Range", "Last-Event-ID", "Content-Encoding", "Assay-Worker", "Assay-Time", "Assay-Signature", "X"])] = rng.choice(
                ["bytes=0-", "bytes=5-2", "bytes=99999999999999999999-", "0", "1", "-1", "gzip", "x" * 100, "a+b+c", "AAAA"])
        body = self.body_for(operation)
        if b"wait_ms" in body:
            body = re.sub(rb'"wait_ms": ?\d+', b'"wait_ms": 10', body)
        return method, target, headers, body, role, operation

    def send(self, method, target, headers, body):
        if any(ord(c) <= 32 or ord(c) > 126 for c in target):
            target = urllib.parse.quote(target, safe="/?&=%")
        for attempt in (0, 1):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.host, timeout=TIMEOUT_S)
            try:
                self.connection.request(method, target, body=body or None, headers=headers)
                response = self.connection.getresponse()
                if response.getheader("Content-Type", "").startswith("text/event-stream"):
                    self.connection.close()
                    self.connection = None
                    return response.status, b"", response
                data = response.read()
                if response.getheader("Connection", "").lower() == "close":
                    self.connection.close()
                    self.connection = None
                return response.status, data, response
            except (http.client.HTTPException, ConnectionError, BrokenPipeError):
                # A connection that was kept may have been closed meanwhile, and a body that is refused unread ends in a reset.
                self.connection.close()
                self.connection = None
                if attempt == 1:
                    if len(body) > 65536:
                        return 413, b"", None
                    raise

    def step(self):
        method, target, headers, body, role, operation = self.request()
        self.recent.append((method, target, {k: v for k, v in headers.items() if k != "Authorization"}, role, body[:2000]))
        status, data, response = self.send(method, target, headers, body)
        self.statuses[status] += 1
        if status >= 500:
            code = json.loads(data).get("code") if data else None
            if status not in DELIBERATE or (method != "HEAD" and code not in DELIBERATE[status]):
                raise AssertionError(f"status {status}: {data[:300]}")
        if status >= 400 and method != "HEAD" and response is not None and response.getheader("Content-Type", "").startswith("application/json"):
            error = json.loads(data)
            # Clients of MLflow's API find its own two keys beside ours; what is no request at all is answered before its path is looked at.
            forms = [{"error", "code"}] + ([{"error", "code", "error_code", "message"}] if "/2.0/mlflow/" in target or "api/" in target else [])
            if set(error) not in forms or "\n" in error["error"]:
                raise AssertionError(f"not an error of the API: {data[:300]}")
        if 200 <= status < 300 and "security" not in operation and role is None:
            raise AssertionError(f"status {status} without a token")
        if status < 300 and target.startswith("/v1/admin") and role != "admin":
            raise AssertionError(f"status {status} for a {role}")
        if status == 201 and method == "POST" and target == "/v1/admin/tokens":
            self.known["token"].append(json.loads(data)["id"])
        if status == 201 and method == "PUT" and target.startswith("/v1/blobs/"):
            self.known["sha"].append(target[10:74])

    def told(self):
        return ", ".join(f"{n} x {status}" for status, n in sorted(self.statuses.items()))


def start(assay, folder):
    # The program as it is, and one with sanitizers: what they find is fatal, and told at the end too.
    environment = dict(os.environ)
    environment.setdefault("ASAN_OPTIONS", "abort_on_error=1:detect_leaks=1")
    environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    environment.setdefault("TSAN_OPTIONS", "halt_on_error=1")
    process = subprocess.Popen([assay, "serve", "--store", folder + "/store", "--json", "--rate", "1000000", "--log", folder + "/log"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    line = process.stdout.readline()
    if not line:
        raise SystemExit("fuzz_api: the coordinator did not start: " + process.stderr.read())
    said = json.loads(line)
    return process, said["listening"], said["admin_token"]


def make_tokens(assay, url, admin):
    tokens = {"admin": admin}
    for role in ROLES[:3]:
        made = subprocess.run([assay, "admin", "token", "--role", role, "--server", url, "--token", admin], check=True, capture_output=True, text=True)
        tokens[role] = made.stdout.strip()
    return tokens


def seed_store(fuzzer, assay, url, folder):
    """A few blobs and an order, so that requests have something to hit."""
    for data in (b"", b"job", b"x" * 5000):
        sha = hashlib.sha256(data).hexdigest()
        status, answer, _ = fuzzer.send("PUT", f"/v1/blobs/{sha}?size={len(data)}", {"Authorization": "Bearer " + fuzzer.tokens["client"]}, data)
        if status != 201:
            raise SystemExit(f"fuzz_api: an upload was answered with {status}: {answer}")
        fuzzer.known["sha"].append(sha)
    job = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mlp.toml"
    subprocess.run([assay, "keygen", "--out", folder + "/client.key", "--json"], check=True, capture_output=True)
    made = subprocess.run([assay, "submit", str(job), "--json", "--server", url, "--token", fuzzer.tokens["client"], "--state", folder + "/state", "--key",
                           folder + "/client.key"], check=True, capture_output=True, text=True)
    order = json.loads(made.stdout.splitlines()[-1])["id"]
    fuzzer.known["order"].append(order)
    _, life, _ = fuzzer.send("GET", f"/v1/orders/{order}/life", {"Authorization": "Bearer " + fuzzer.tokens["client"]}, b"")
    fuzzer.known["envelope"].append(json.loads(json.loads(life)["entries"][0])["order"])


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    assay, count = arguments[0], int(arguments[1])
    seed = int(arguments[2]) if len(arguments) > 2 else 1
    folder = tempfile.mkdtemp(prefix="assay-fuzz-", dir=os.environ.get("TMPDIR"))
    process, url, admin = start(assay, folder)
    errors = []
    drain = threading.Thread(target=lambda: errors.extend(process.stderr.readlines()), daemon=True)
    drain.start()
    failed = True
    try:
        known = {"order": [hex_of(random.Random(seed), 32)], "sha": [], "token": [], "account": ["admin"], "lease": ["1"], "envelope": []}
        fuzzer = Fuzzer(url, make_tokens(assay, url, admin), seed, known)
        seed_store(fuzzer, assay, url, folder)
        print(f"fuzz_api: {count} requests of {len(fuzzer.operations)} routes, seed {seed}", flush=True)
        began = shown = time.monotonic()
        for done in range(count):
            if time.monotonic() - shown >= PROGRESS_S:
                shown = time.monotonic()
                print(f"  {done} of {count} after {shown - began:.0f} s: {fuzzer.told()}", flush=True)
            try:
                fuzzer.step()
            except Exception as error:  # whatever it was, the request that led to it is what matters
                print(f"fuzz_api: request {done} of seed {seed}: {error!r}", file=sys.stderr)
                for request in fuzzer.recent:
                    print("   ", *request, file=sys.stderr)
                raise SystemExit(1)
        if process.poll() is not None:
            raise SystemExit(f"fuzz_api: the coordinator ended with {process.returncode}")
        health = json.loads(fuzzer.plain("GET", "/healthz"))
        if health != {"status": "ok"}:
            raise SystemExit(f"fuzz_api: the coordinator is not well: {health}")
        seconds = time.monotonic() - began
        print(f"{count} requests of {len(fuzzer.operations)} routes in {seconds:.1f} s, seed {seed}: " +
              fuzzer.told())
        missing = {200, 201, 400, 401, 403, 404} - set(fuzzer.statuses)
        if count >= 1000 and missing:
            raise SystemExit(f"fuzz_api: no request was answered with {missing}: the requests are not what they should be")
        process.terminate()
        if process.wait(TIMEOUT_S) != 0:
            raise SystemExit(f"fuzz_api: the coordinator ended with {process.returncode}")
        drain.join(5)
        if found := [line.rstrip() for line in errors if SANITIZERS.search(line)]:
            raise SystemExit(f"fuzz_api: a sanitizer says: {found[0]}")
        failed = False
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        drain.join(5)
        if failed and errors:
            sys.stderr.writelines(errors[-150:])
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

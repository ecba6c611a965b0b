"""A worker that tests play: it registers a key, takes a lease, and tells whatever telemetry it is given, as docs/formats/platform.md says. For figures that a machine
without a GPU does not have."""

import base64
import hashlib
import json
import time
import urllib.error
import urllib.request

import ed25519


class GpuWorker:
    def __init__(self, server, token, name="gpu"):
        self.server, self.token, self.seed = server, token, hashlib.sha256(name.encode()).digest()
        data = b"\x01" + ed25519.public_key(self.seed)
        named = hashlib.sha256(name.encode() + b"\n" + data).hexdigest()
        self.id = f"{name}+{named[:8]}"
        self.key = f"{self.id}+{base64.b64encode(data).decode()}"
        coordinator = json.load(urllib.request.urlopen(f"{server}/v1/coordinator"))["key"]
        self.coordinator = base64.b64decode(coordinator.split("+", 2)[2])[1:].hex()

    def call(self, method, target, body):
        data, now = json.dumps(body).encode(), str(int(time.time() * 1000))
        message = "\n".join(["assay/worker/2", method, target, now, hashlib.sha256(data).hexdigest(), self.coordinator,
                             hashlib.sha256(self.token.encode()).hexdigest(), ""])
        request = urllib.request.Request(self.server + target, method=method, data=data)
        for name, value in (("Authorization", f"Bearer {self.token}"), ("Assay-Worker", self.key), ("Assay-Time", now), ("Content-Type", "application/json"),
                            ("Assay-Signature", base64.b64encode(ed25519.sign(self.seed, message.encode())).decode())):
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            raise SystemExit(f"FAIL: {method} {target}: {error.code} {error.read().decode()}") from error

    def take_lease(self, seconds=30):
        hardware = {"device": "cuda", "name": "NVIDIA H200", "kernels": "cuda", "cores": 1, "threads": 1, "memory": 1 << 34, "disk": 1 << 34, "matmul_gflops": 1,
                    "hash_gbps": 1, "version": "test"}
        self.call("PUT", "/v1/workers", {"hardware": hardware, "recipient": ""})
        lease = self.call("POST", "/v1/work", {"wait_ms": seconds * 1000, "holding": [], "new": True})["lease"]
        self.path = f"/v1/orders/{lease['order']}/leases/{lease['lease']}"
        return lease

    def tell(self, samples):
        self.call("POST", f"{self.path}/telemetry", {"samples": samples})

    def give_back(self):
        self.call("POST", f"{self.path}/give-back", {"why": "given back", "words": "played by a test"})

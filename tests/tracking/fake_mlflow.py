"""A small MLflow tracking server: the calls that a client makes to log a run, with the limits and the errors of the real one. It keeps what it is sent, and can be told
to fail: `outage` answers with a status or cuts the connection, before or after the call has taken effect."""

import http.server
import json
import re
import threading
import urllib.parse

MAX_METRICS, MAX_PARAMS, MAX_TAGS, MAX_BYTES = 1000, 100, 100, 1_000_000
KEY = re.compile(r"[/\w.\- :]+")


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


def number(value):
    """A double of JSON as protocol buffers take it."""
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value.replace("Infinity", "inf"))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(400, "INVALID_PARAMETER_VALUE", f"value {value!r}")
    return float(value)


class Tracker:
    """What the server knows."""

    def __init__(self):
        self.experiments, self.runs, self.calls = {}, {}, []

    def experiment(self, name):
        for identity, known in self.experiments.items():
            if known == name:
                return {"experiment": {"experiment_id": identity, "name": name, "lifecycle_stage": "active"}}
        raise Refused(404, "RESOURCE_DOES_NOT_EXIST", f"Could not find experiment with name '{name}'")

    def create_experiment(self, body):
        if body["name"] in self.experiments.values():
            raise Refused(400, "RESOURCE_ALREADY_EXISTS", f"Experiment '{body['name']}' already exists.")
        identity = str(len(self.experiments) + 1)
        self.experiments[identity] = body["name"]
        return {"experiment_id": identity}

    def create_run(self, body):
        if body["experiment_id"] not in self.experiments:
            raise Refused(404, "RESOURCE_DOES_NOT_EXIST", "no such experiment")
        identity = f"{len(self.runs) + 1:032x}"
        self.runs[identity] = {"experiment": body["experiment_id"], "status": "RUNNING", "start": int(body["start_time"]), "end": None, "name": body.get("run_name"),
                               "user": body.get("user_id"), "metrics": [], "params": {}, "tags": {}}
        self.set_tags(identity, body.get("tags", []))
        return {"run": self.shown(identity)}

    def run(self, identity):
        if identity not in self.runs:
            raise Refused(404, "RESOURCE_DOES_NOT_EXIST", f"Run with id={identity} not found")
        return self.runs[identity]

    def shown(self, identity):
        run = self.run(identity)
        latest = {}
        for key, value, stamp, step in run["metrics"]:
            if key not in latest or (step, stamp) >= latest[key][:2]:
                latest[key] = (step, stamp, value)
        return {"info": {"run_id": identity, "run_uuid": identity, "experiment_id": run["experiment"], "status": run["status"], "start_time": run["start"],
                         **({"end_time": run["end"]} if run["end"] else {}), "lifecycle_stage": "active"},
                "data": {"metrics": [{"key": key, "value": value, "timestamp": stamp, "step": step} for key, (step, stamp, value) in latest.items()],
                         "params": [{"key": key, "value": value} for key, value in run["params"].items()],
                         "tags": [{"key": key, "value": value} for key, value in run["tags"].items()]}}

    def set_tags(self, identity, tags):
        for tag in tags:
            if not KEY.fullmatch(tag["key"]) or len(tag["value"]) > 5000:
                raise Refused(400, "INVALID_PARAMETER_VALUE", f"tag {tag}")
            self.run(identity)["tags"][tag["key"]] = tag["value"]

    def log_batch(self, body):
        run = self.run(body["run_id"])
        metrics, params, tags = body.get("metrics", []), body.get("params", []), body.get("tags", [])
        if len(metrics) > MAX_METRICS or len(params) > MAX_PARAMS or len(tags) > MAX_TAGS or len(metrics) + len(params) + len(tags) > 1000:
            raise Refused(400, "INVALID_PARAMETER_VALUE", f"A batch logging request can contain at most {MAX_METRICS} metrics")
        for metric in metrics:
            if not KEY.fullmatch(metric["key"]) or not isinstance(metric["timestamp"], int) or not isinstance(metric["step"], int):
                raise Refused(400, "INVALID_PARAMETER_VALUE", f"metric {metric}")
            number(metric["value"])
        for param in params:
            if not KEY.fullmatch(param["key"]) or len(param["value"]) > 6000:
                raise Refused(400, "INVALID_PARAMETER_VALUE", f"param {param}")
            if run["params"].get(param["key"], param["value"]) != param["value"]:
                raise Refused(400, "INVALID_PARAMETER_VALUE", f"Changing param values is not allowed: {param}")
        # Not one transaction: what is told twice stands twice.
        run["metrics"] += [(metric["key"], number(metric["value"]), metric["timestamp"], metric["step"]) for metric in metrics]
        run["params"].update({param["key"]: param["value"] for param in params})
        self.set_tags(body["run_id"], tags)
        return {}

    def update_run(self, body):
        run = self.run(body["run_id"])
        if body["status"] not in ("RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"):
            raise Refused(400, "INVALID_PARAMETER_VALUE", body["status"])
        run["status"], run["end"] = body["status"], int(body["end_time"]) if "end_time" in body else None
        return {"run_info": self.shown(body["run_id"])["info"]}

    def search(self, body):
        condition = re.fullmatch(r"tags\.`([^`]+)` = '([^']*)'", body.get("filter", ""))
        found = [identity for identity, run in self.runs.items() if run["experiment"] in body["experiment_ids"]
                 and (not body.get("filter") or run["tags"].get(condition.group(1)) == condition.group(2))]
        return {"runs": [self.shown(identity) for identity in found[:int(body.get("max_results", 1000))]]} if found else {}

    def answer(self, method, path, query, body):
        prefix = "/api/2.0/mlflow/"
        routes = {("GET", "experiments/get-by-name"): lambda: self.experiment(query["experiment_name"]),
                  ("POST", "experiments/create"): lambda: self.create_experiment(body),
                  ("POST", "runs/create"): lambda: self.create_run(body), ("POST", "runs/search"): lambda: self.search(body),
                  ("POST", "runs/update"): lambda: self.update_run(body), ("POST", "runs/log-batch"): lambda: self.log_batch(body),
                  ("GET", "runs/get"): lambda: {"run": self.shown(query["run_id"])}}
        route = routes.get((method, path[len(prefix):])) if path.startswith(prefix) else None
        if route is None:
            raise Refused(404, "ENDPOINT_NOT_FOUND", path)
        try:
            return route()
        except (KeyError, TypeError, ValueError) as error:
            raise Refused(400, "INVALID_PARAMETER_VALUE", repr(error)) from error


class Server:
    """On a port of its own, in threads of this process. `token`: the bearer token that it wants."""

    def __init__(self, token=None, port=0):
        self.tracker, self.token, self.lock = Tracker(), token, threading.Lock()
        self.outage = None  # None, or ("before" or "after", "cut" or a status)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.reply(*outer.handle(self.command, self.path, self.headers, raw))

            do_GET = do_POST = handle_any

            def reply(self, status, answer):
                if status == "cut":
                    self.close_connection = True
                    return
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handle(self, method, target, headers, raw):
        with self.lock:
            outage = self.outage
            if outage and outage[0] == "before":
                return outage[1], {"error_code": "TEMPORARILY_UNAVAILABLE", "message": "away"}
            try:
                url = urllib.parse.urlsplit(target)
                self.tracker.calls.append((method, url.path, raw, dict(headers)))
                if self.token and headers.get("Authorization") != f"Bearer {self.token}":
                    raise Refused(401, "UNAUTHENTICATED", "no token")
                if method == "POST" and headers.get("Content-Type") != "application/json":
                    raise Refused(400, "INVALID_PARAMETER_VALUE", "Bad Request. Content-Type must be one of ['application/json']")
                if len(raw) > MAX_BYTES:
                    raise Refused(400, "INVALID_PARAMETER_VALUE", "Batched logging API requests must be at most 1000000 bytes")
                answer = 200, self.tracker.answer(method, url.path, dict(urllib.parse.parse_qsl(url.query)), json.loads(raw) if raw else None)
            except Refused as error:
                answer = error.status, {"error_code": error.code, "message": str(error)}
            return (outage[1], {"error_code": "INTERNAL_ERROR", "message": "broken"}) if outage else answer

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

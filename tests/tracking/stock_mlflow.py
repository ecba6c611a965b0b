"""The HTTP calls that MLflow's own Python client (mlflow-skinny 2 and 3) makes to list experiments and runs and to read metrics: the same paths, methods, headers,
queries and bodies, and the same rules for what comes back. Written from what the client sends; none of its code is here.

A message goes out as the JSON of a protocol buffer: fields that are not set are left out, enums are names, and a GET has them in its query, as an HTML form would
write them. What comes back has to parse as the response's message: 64-bit integers as numbers or text, doubles as numbers or one of three words."""

import json
import urllib.error
import urllib.parse
import urllib.request

HEADERS = {"User-Agent": "mlflow-python-client/3.4.0", "X-MLflow-Client-Version": "3.4.0", "Accept-Encoding": "gzip, deflate", "Accept": "*/*",
           "Connection": "keep-alive"}
METRIC = {"key": str, "value": float, "timestamp": int, "step": int, "run_id": str}
PAIR = {"key": str, "value": str}
RUN = {"info": {"run_id": str, "run_uuid": str, "run_name": str, "experiment_id": str, "user_id": str, "status": {"RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"},
                "start_time": int, "end_time": int, "artifact_uri": str, "lifecycle_stage": str},
       "data": {"metrics": [METRIC], "params": [PAIR], "tags": [PAIR]}, "inputs": {}, "outputs": {}}
EXPERIMENT = {"experiment_id": str, "name": str, "artifact_location": str, "lifecycle_stage": str, "last_update_time": int, "creation_time": int, "tags": [PAIR]}


class RestException(Exception):
    """As the client raises it: the answer is an error of MLflow's form."""

    def __init__(self, status, answer):
        super().__init__(f"{status}: {answer}")
        self.status, self.error_code, self.message = status, answer["error_code"], answer["message"]


def parsed(value, form, where="answer"):
    """The value as its message has it; an error where it would not parse. Unknown fields are passed over."""
    if isinstance(form, dict):
        assert isinstance(value, dict), f"{where}: expected an object, got {value!r}"
        return {key: parsed(value[key], part, f"{where}.{key}") for key, part in form.items() if key in value}
    if isinstance(form, list):
        assert isinstance(value, list), f"{where}: expected a list, got {value!r}"
        return [parsed(one, form[0], f"{where}[]") for one in value]
    if isinstance(form, set):
        assert value in form, f"{where}: expected one of {form}, got {value!r}"
        return value
    if form is float:
        assert (isinstance(value, (int, float)) and not isinstance(value, bool)) or value in ("NaN", "Infinity", "-Infinity"), f"{where}: {value!r} is no double"
        return float(str(value).replace("Infinity", "inf"))
    if form is int:
        assert (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and value.lstrip("-").isdigit()), f"{where}: {value!r} is no int64"
        return int(value)
    assert isinstance(value, str), f"{where}: expected text, got {value!r}"
    return value


class Client:
    """`token`: as MLFLOW_TRACKING_TOKEN."""

    def __init__(self, uri, token):
        self.uri, self.token = uri.rstrip("/"), token

    def request(self, method, path, message, form, prefix="/api"):
        url, data = f"{self.uri}{prefix}/2.0/mlflow/{path}", None
        headers = {**HEADERS, "Authorization": f"Bearer {self.token}"}
        if method == "GET":
            query = urllib.parse.urlencode(message, doseq=True)  # a space is '+'
            url += f"?{query}" if query else ""
        else:
            data = json.dumps(message).encode()
            headers["Content-Type"] = "application/json"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method=method, data=data, headers=headers), timeout=60) as answer:
                text = answer.read().decode()
                assert answer.status == 200, f"{path}: status {answer.status}"
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            raise RestException(error.code, json.loads(text)) from error
        answer = json.loads(text)
        assert isinstance(answer, dict), f"{path}: {text!r} is no object"
        return parsed(answer, form, path)

    @staticmethod
    def message(**fields):
        return {key: value for key, value in fields.items() if value is not None}

    def search_experiments(self, max_results=1000, filter_string=None, order_by=None, page_token=None, view_type="ACTIVE_ONLY"):
        return self.request("POST", "experiments/search",
                            self.message(max_results=max_results, page_token=page_token, filter=filter_string, order_by=order_by, view_type=view_type),
                            {"experiments": [EXPERIMENT], "next_page_token": str})

    def list_experiments(self):
        return self.request("GET", "experiments/list", {"view_type": "ACTIVE_ONLY"}, {"experiments": [EXPERIMENT], "next_page_token": str})

    def get_experiment(self, experiment_id):
        return self.request("GET", "experiments/get", {"experiment_id": experiment_id}, {"experiment": EXPERIMENT})["experiment"]

    def get_experiment_by_name(self, name):
        try:
            return self.request("GET", "experiments/get-by-name", {"experiment_name": name}, {"experiment": EXPERIMENT})["experiment"]
        except RestException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise

    def search_runs(self, experiment_ids, filter_string="", order_by=None, max_results=1000, page_token=None, run_view_type="ACTIVE_ONLY"):
        answer = self.request("POST", "runs/search",
                              self.message(experiment_ids=experiment_ids, filter=filter_string, run_view_type=run_view_type, max_results=max_results,
                                           order_by=order_by or None, page_token=page_token),
                              {"runs": [RUN], "next_page_token": str})
        return answer.get("runs", []), answer.get("next_page_token") or None

    def search_all_runs(self, experiment_ids, **how):
        runs, token = self.search_runs(experiment_ids, **how)
        while token:
            more, token = self.search_runs(experiment_ids, page_token=token, **how)
            runs += more
        return runs

    def get_run(self, run_id):
        return self.request("GET", "runs/get", {"run_uuid": run_id, "run_id": run_id}, {"run": RUN})["run"]

    def get_metric_history(self, run_id, key, max_results=25000):
        history, token = [], None
        while True:
            answer = self.request("GET", "metrics/get-history",
                                  self.message(run_uuid=run_id, metric_key=key, run_id=run_id, page_token=token, max_results=max_results),
                                  {"metrics": [METRIC], "next_page_token": str})
            history += answer.get("metrics", [])
            token = answer.get("next_page_token") or None
            if token is None:
                return history

    def get_metric_history_bulk(self, run_ids, key, prefix="/ajax-api", **more):
        return self.request("GET", "metrics/get-history-bulk", {"run_id": run_ids, "metric_key": key, **more}, {"metrics": [METRIC]}, prefix)["metrics"]

    def get_metric_history_bulk_interval(self, run_ids, key, **more):
        return self.request("GET", "metrics/get-history-bulk-interval", {"run_ids": run_ids, "metric_key": key, **more}, {"metrics": [METRIC]})["metrics"]

"""A caller of the API: requests with a base URL, a token or a key, and a recorder of answers."""
import requests


class Client:
    """Methods take a path below the base URL ("/users") and the options of `requests`. An error status raises no exception."""

    def __init__(self, base_url, token=None, key=None, recorder=None, project=None):
        self.base_url = base_url
        self.project = project
        self.session = requests.Session()
        self.session.trust_env = False
        self.token = token
        self.key = key
        self.user = None
        self.refresh_token = None
        self.recorder = recorder

    def request(self, method, path, expect=None, **options):
        """`expect`: the status that the answer must have."""
        headers = {k: v for k, v in (options.pop("headers", None) or {}).items()}
        if self.token and "Authorization" not in headers:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.key and "x-api-key" not in headers:
            headers["x-api-key"] = self.key
        options.setdefault("timeout", 60)
        options.setdefault("allow_redirects", False)
        response = self.session.request(
            method, self.base_url + path, headers={k: v for k, v in headers.items() if v is not None}, **options
        )
        if self.recorder:
            self.recorder.record(self, method, path, response, streamed=bool(options.get("stream")))
        if expect is not None:
            assert response.status_code == expect, (
                f"{method} {path}: {response.status_code} instead of {expect}: {response.text[:2000]}"
            )
        return response

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def head(self, path, **options):
        return self.request("HEAD", path, **options)

    def options(self, path, **options):
        return self.request("OPTIONS", path, **options)

    def post(self, path, json=None, **options):
        return self.request("POST", path, json=json, **options)

    def put(self, path, json=None, **options):
        return self.request("PUT", path, json=json, **options)

    def patch(self, path, json=None, **options):
        return self.request("PATCH", path, json=json, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def sign_in(self, email, password):
        """Signs in, stores the tokens and the user; returns self."""
        body = self.post("/auth/v1/token", {"email": email, "password": password}, expect=200).json()
        self.token, self.refresh_token, self.user = body["access_token"], body["refresh_token"], body["user"]
        return self

    def anonymous(self):
        """A client of this base URL without credentials."""
        return Client(self.base_url, recorder=self.recorder, project=self.project)

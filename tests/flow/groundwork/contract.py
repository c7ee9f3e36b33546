"""The contract check: compares every answer of every test with the documents that GET /docs serves.

The check finds the operation of an answer by method and path: entity records in the current data model document of their
project, everything else in the platform document. The operation must document the status, and the content type and the body
must match the document. Every error must have the same shape.
"""
import json
import re
import time
import urllib.parse

from .deadline import allowed
from .schema import Checker

EPOCH_SECONDS = 2  # the service promises one second
# Statuses of HTTP itself, sent before the route is known: no operation documents them.
NO_OPERATION = {405, 417, 501, 505}
PROBLEM = {"type", "title", "status", "code", "detail", "request_id", "errors", "payment_id", "client_secret"}
# Additional members for GoTrue's clients, at the endpoints of sign-in.
SIGN_IN_PROBLEM = {"error", "error_code", "error_description", "msg"}
OPENAI_PROBLEM = {"error"}  # additional member for OpenAI's clients, below /ai/v1

# Headers with the caller's credentials, and with the version of tus.
OWN_HEADERS = {"Authorization", "x-api-key", "Tus-Resumable"}


def precedence(template):
    """Sort key: literal segments win over parameters, and the first difference decides, as in the gateway's router."""
    return template.count("{"), ["{" in segment for segment in template.split("/")]


FIRST = b'{"data_model_documentation":'


def data_model_of(body):
    """Parses only the first document, the only one that differs between projects: the others are a megabyte."""
    assert body.startswith(FIRST)
    return json.JSONDecoder().raw_decode(body[len(FIRST) :].decode())[0]


class Document:
    """An OpenAPI document, ready to be matched against request paths."""

    def __init__(self, document):
        self.document = document
        self.checker = Checker(document)
        self.patterns = []
        for template, operations in document.get("paths", {}).items():
            # Ids are numbers: .../items/{id} must not match .../items/aggregate, which another document describes.
            expression = re.sub(r"\\\{id\\\}$", r"-?\\d+", re.escape(template))
            expression = re.sub(r"\\\{[^/]+?\\\}", "[^/]+", expression)
            self.patterns.append((precedence(template), re.compile(expression), template, operations))
        self.patterns.sort(key=lambda entry: entry[0])

    def find(self, method, path):
        """Returns (template, operation) or None."""
        method = {"HEAD": "get", "PATCH": "put"}.get(method, method.lower())
        for _, expression, template, operations in self.patterns:
            if expression.fullmatch(path) and (method in operations):
                return template, operations[method]
        return None


class Recorder:
    """Records which routes were hit and what was wrong with their answers."""

    def __init__(self):
        self.enabled = True
        self.routes = []  # (method, template, expression), from --list-routes
        self.hit = {}  # (method, template) -> {status: count}
        self.complaints = []
        self.located = {}  # route -> how many of its Locations were followed
        self.checked = 0
        self.platform = None
        self.models = {}  # project id -> Document, until its model changes
        self.former = {}  # project id -> (Document, until when another process may still use it)
        self.problem_checker = Checker({})

    def load_routes(self, text):
        """Reads the output of --list-routes: METHOD PATH AUTH."""
        for line in text.splitlines():
            method, template, _ = line.split(None, 2)
            expression = re.compile(re.sub(r"\\\{[^/]+?\\\}", "[^/]+", re.escape(template)))
            self.routes.append((method, template, expression))
        self.routes.sort(key=lambda route: precedence(route[1]))

    def route_of(self, method, path):
        method = {"HEAD": "GET", "PATCH": "PUT"}.get(method, method)
        for known, template, expression in self.routes:
            if known == method and expression.fullmatch(path):
                return known, template
        return None

    def record(self, client, method, path, response, streamed=False):
        if not self.enabled or method == "OPTIONS":
            return
        whole = urllib.parse.urlsplit(client.base_url + path).path
        inside = urllib.parse.urlsplit(path).path or "/" if client.project is not None else whole
        route = self.route_of(method, inside) or self.route_of(method, whole)
        if route:
            statuses = self.hit.setdefault(route, {})
            statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
        try:
            found = list(self.check(client, method, inside, route, response, streamed))
        except (KeyError, ValueError) as error:
            found = [f"unreadable: {error!r}"]
        self.complaints += [f"{method} {inside} -> {response.status_code}: {text}" for text in found]
        if client.project is not None and response.status_code < 300 and method not in ("GET", "HEAD"):
            if re.match(r"/(entities(?!/[^/]+/items)|enums)", inside):
                self.forget(client.project.id)

    def forget(self, project_id):
        """The model has changed. Other workers than the one that changed it read the epochs once a second, so keep the former
        document until then."""
        document = self.models.pop(project_id, None) or self.former.get(project_id, (None, 0))[0]
        if document is not None:
            self.former[project_id] = (document, time.monotonic() + allowed(EPOCH_SECONDS))

    def check(self, client, method, path, route, response, streamed):
        """Yields complaints about one answer."""
        self.checked += 1
        status = response.status_code
        if "X-Request-Id" not in response.headers:
            yield "no X-Request-Id"
        if status == 500:
            yield f"internal error: {response.text[:500]}"
        if status >= 400:
            if method != "HEAD" and not streamed:
                yield from self.check_problem(response)
        if status == 201:
            yield from self.check_location(client, route, response)
        found, checker = self.operation(client, method, path) if route else (None, None)
        if not found:
            return
        documented = found[1]["responses"].get(str(status))
        if documented is None:
            if status not in NO_OPERATION:
                yield "status is not documented"
            return
        if status >= 400 or method == "HEAD" or streamed:
            return
        documented = checker.resolve(documented)
        content = documented.get("content")
        if not content:
            if response.content:
                yield f"a body of {len(response.content)} bytes where none is documented"
            return
        kind = response.headers.get("Content-Type", "").split(";")[0].strip()
        if "*/*" in content:
            return
        if kind not in content:
            yield f"content type {kind}, documented {', '.join(content)}"
        elif kind == "application/json":
            yield from self.check_times(response.json())
            complaints = checker.check(response.json(), content[kind].get("schema", {}))
            if checker is self.platform.checker:
                yield from complaints
                return
            complaints = list(self.drop_hidden(client, complaints))
            if complaints and not self.matches_new_document(client, method, path, response) \
                    and not self.matches_previous_model(client, method, path, response):
                yield from complaints

    def matches(self, document, client, method, path, response):
        found = document.find(method, path)
        content = document.checker.resolve(found[1]["responses"].get("200", {})).get("content", {}) if found else {}
        schema = content.get("application/json", {}).get("schema")
        return schema is not None and not list(self.drop_hidden(client, document.checker.check(response.json(), schema)))

    def matches_new_document(self, client, method, path, response):
        """Whether the answer matches the document that the gateway sends now: the stored document may have come from a worker that
        had not followed the last change of the model."""
        if time.monotonic() >= self.former.get(client.project.id, (None, 0))[1]:
            return False
        self.fetch(client.project)
        document = self.models.get(client.project.id)
        return document is not None and self.matches(document, client, method, path, response)

    def matches_previous_model(self, client, method, path, response):
        """Whether the answer matches the model before its last change, which may not have reached every worker yet."""
        document, until = self.former.get(client.project.id, (None, 0))
        return document is not None and time.monotonic() < until and self.matches(document, client, method, path, response)

    def check_times(self, value):
        """Yields a complaint if updated_at is before created_at."""
        if isinstance(value, dict):
            made, changed = value.get("created_at"), value.get("updated_at")
            if isinstance(made, str) and isinstance(changed, str) and changed < made:
                yield f"updated_at {changed} is before created_at {made}"
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from self.check_times(inner)

    def check_location(self, client, route, response):
        """A client that created something must be able to GET it at Location, or get 403, with the same credentials and
        protocol. Checks the first three answers of each route, and does not record these requests."""
        where = response.headers.get("Location")
        if where is None:
            yield "no Location"
            return
        path = urllib.parse.urlsplit(where).path
        inside = path.removeprefix(f"/org/{client.project.id}") if client.project is not None else path
        if not self.route_of("GET", inside) and not self.route_of("GET", path):
            yield f"Location {where} has no GET"
        elif response.headers.get("Idempotent-Replayed") is None and self.located.get(route, 0) < 3:
            self.located[route] = self.located.get(route, 0) + 1
            own = {name: value for name, value in response.request.headers.items() if name in OWN_HEADERS}
            seen = client.session.get(urllib.parse.urljoin(response.request.url, where), headers=own, timeout=60)
            if seen.status_code not in (200, 403):
                yield f"Location {where} answers {seen.status_code}"

    @staticmethod
    def drop_hidden(client, complaints):
        """Drops complaints about lacking members, unless the client is the administrator: field rules of roles hide members
        from other clients, and the document is the administrator's."""
        whole = client is getattr(client.project, "admin", None)
        return (text for text in complaints if whole or ": lacks " not in text)

    @staticmethod
    def check_problem(response):
        if response.headers.get("Content-Type") != "application/problem+json":
            yield f"error as {response.headers.get('Content-Type')}"
            return
        body = response.json()
        lacking = {"type", "title", "status", "code", "request_id"} - set(body)
        own = {"/auth/v1/": SIGN_IN_PROBLEM, "/ai/v1/": OPENAI_PROBLEM}
        known = PROBLEM.union(*(members for path, members in own.items() if path in response.request.url))
        if lacking or set(body) - known:
            yield f"error lacks {lacking or '{}'}, has {set(body) - known or '{}'} beyond the shape"
        elif body["status"] != response.status_code:
            yield f"error body says {body['status']}"
        elif body["request_id"] != response.headers.get("X-Request-Id") and not response.headers.get("Idempotent-Replayed"):
            # (A replayed answer is byte for byte that of the first request.)
            yield "request_id differs from X-Request-Id"

    def operation(self, client, method, path):
        """Returns ((template, operation), checker) from the document that covers this path, or (None, None)."""
        if client.project is None:
            return None, None
        if self.platform is None or client.project.id not in self.models:
            self.fetch(client.project)
        for document in (self.models.get(client.project.id), self.platform):
            found = document and document.find(method, path)
            if found:
                return found, document.checker
        return None, None

    def fetch(self, project):
        """Reads the project's documents as its administrator, without recording the request."""
        admin = getattr(project, "admin", None)
        if admin is None or not admin.token:
            return
        response = admin.session.get(
            f"{project.base_url}/docs", headers={"Authorization": f"Bearer {admin.token}"}, timeout=60
        )
        if response.status_code != 200:
            return
        if self.platform is not None:
            self.models[project.id] = Document(data_model_of(response.content))
            return
        body = response.json()
        self.models[project.id] = Document(body["data_model_documentation"])
        paths = {}
        documents = list(body["module_documentation"].values())
        for document in documents:
            paths.update(document["paths"])
        self.platform = Document({**documents[0], "paths": paths})

    def unrequested_routes(self):
        return [f"{method} {template}" for method, template, _ in self.routes if (method, template) not in self.hit]

    def unsuccessful_routes(self):
        """Routes that answered only with errors."""
        return [
            f"{method} {template} {sorted(statuses)}"
            for (method, template), statuses in self.hit.items()
            if all(status >= 400 for status in statuses)
        ]

    def write_results(self, path):
        """Writes the results of this process, for merge() in another process."""
        hit = [[*route, statuses] for route, statuses in self.hit.items()]
        path.write_text(json.dumps({"checked": self.checked, "hit": hit, "complaints": self.complaints}))

    def merge(self, path):
        seen = json.loads(path.read_text())
        self.checked += seen["checked"]
        self.complaints += seen["complaints"]
        for method, template, statuses in seen["hit"]:
            known = self.hit.setdefault((method, template), {})
            for status, count in statuses.items():
                known[int(status)] = known.get(int(status), 0) + count

    def report(self, path):
        """Writes everything recorded: for developers, and for the lists of uncovered statuses."""
        lines = [
            {"method": method, "path": template, "statuses": self.hit.get((method, template), {})}
            for method, template, _ in self.routes
        ]
        path.write_text(json.dumps({"checked": self.checked, "routes": lines, "complaints": self.complaints}, indent=1))

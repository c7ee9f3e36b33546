"""A schema-driven fuzzer: sends valid and invalid requests according to the documents of GET /docs, as four callers.

Each request calls a random operation, with parameters and bodies that its schemas allow and with ids and names
from earlier answers; often one part is then made invalid. The client's recorder compares each answer with the
documents; this module also reports each 5xx. The seed determines all requests, except for races of threads.
"""
import json
import random
import re
import string
import urllib.parse

# Operations that are not called, because they would end the sessions of the callers.
EXCLUDED_ROUTES = {("post", "/auth/v1/keys/rotate"), ("get", "/realtime")}  # the answer of the latter never ends

CALLS = {"none": 1, "user": 2, "key": 3, "admin": 5}
# The member of an answer that fills a path parameter, if it is not the id.
PLACES = {"entity": "name", "field": "name", "name": "name", "route": "route"}

WORDS = ["a", "orders", "x" * 300, "é", "日本語", "O'Brien", '"', "\\", "%", "_", "--", "{{ $svc.x }}", "null", "0", "-1",
         "1e400", "\u0000", "😀", "<b>", " ", "\t\n", "../..", "%00", "2026-02-30", "1,2,3", "id,", "-"]
NUMBERS = [0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, 1.5, -0.0, 1e308,
           99999999999999.99, 0.1]
ANY_VALUES = [None, True, False, "", [], {}, [[]], [None], {"": None}, {"a": {"b": [1]}}]


class Fuzzer:
    """`documents`: the numbers of the documents to use; default all. `tame`: sends only requests that the documents allow."""

    def __init__(self, project, callers, seed, documents=slice(None), tame=False):
        self.words = [word for word in WORDS if word.isalnum()] if tame else WORDS
        self.wrongs = [""] if tame else ["", "", "path", "query", "body", "head"]
        self.project, self.callers, self.which = project, callers, documents
        self.random = random.Random(seed)
        self.pool = {"id": [1, 2, 3], "name": ["orders", "customers"]}
        self.failures = []

    # --- operations ---

    def read_documents(self):
        body = self.project.admin.get("/docs", expect=200).json()
        self.documents = [body["data_model_documentation"], *body["module_documentation"].values()]
        self.operations = [
            (document, method, path, operation)
            for document in self.documents[self.which]
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
            if (method, path) not in EXCLUDED_ROUTES
        ]

    def resolve(self, document, schema):
        while "$ref" in schema:
            node = document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                node = node[part.replace("~1", "/").replace("~0", "~")]
            schema = node
        if "allOf" in schema:
            whole = {"type": "object", "properties": {}, "required": []}
            for part in schema["allOf"]:
                part = self.resolve(document, part)
                whole["properties"].update(part.get("properties", {}))
                whole["required"] += part.get("required", [])
            return whole
        return schema

    # --- values ---

    def chance(self, part):
        return self.random.random() < part

    def any_value(self):
        return self.random.choice([self.random.choice(ANY_VALUES), self.random.choice(self.words), self.random.choice(NUMBERS)])

    def value(self, document, schema, name="", depth=0):
        """A random value that the schema allows; conditions outside of the schema may be violated."""
        schema = self.resolve(document, schema)
        if schema.get("nullable") and self.chance(0.1):
            return None
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self.value(document, self.random.choice(schema[key]), name, depth + 1)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "example" in schema and self.chance(0.6):
            return schema["example"]
        kind = schema.get("type")
        if kind == "string":
            return self.text(schema, name)
        if kind in ("integer", "number"):
            return self.number(schema, name, kind)
        if kind == "boolean":
            return self.chance(0.5)
        if kind == "array":
            if depth > 4:
                return []
            count = self.random.randint(schema.get("minItems", 0), min(schema.get("maxItems", 3), schema.get("minItems", 0) + 3))
            return [self.value(document, schema.get("items", {}), name, depth + 1) for _ in range(count)]
        if kind == "object":
            return self.object(document, schema, depth)
        return self.any_value()

    def object(self, document, schema, depth):
        wanted = set(schema.get("required", []))
        made = {
            name: self.value(document, member, name, depth + 1)
            for name, member in schema.get("properties", {}).items()
            if name in wanted or (depth < 5 and self.chance(0.35))
        }
        if not schema.get("properties") and self.chance(0.5):
            made[self.random.choice(["a", "mode", "x"])] = self.any_value()
        return made

    def text(self, schema, name):
        kind = schema.get("format")
        if kind == "email":
            return f"fuzz{self.random.randint(1, 60)}@example.org"
        if kind == "date-time":
            return self.random.choice(["2026-01-31T12:00:00Z", "2099-12-31T23:59:59.999Z", "1970-01-01T00:00:00+14:00"])
        if kind == "date":
            return self.random.choice(["2026-01-31", "0001-01-01", "9999-12-31"])
        if kind in ("uri", "url"):
            return self.random.choice(["https://example.org/x", "http://127.0.0.1:1/", "https://[::1]/"])
        if "pattern" in schema or name in ("name", "entity", "field", "enum", "target", "route", "status"):
            known = self.pool.get(name, []) + self.pool["name"]
            return self.random.choice([self.random.choice(known), self.random.choice(string.ascii_lowercase) + "_x"])
        if kind == "password":
            return "correct horse battery"
        text = self.random.choice([*self.words[:12], "plain", *map(str, self.pool["name"])])
        least, most = schema.get("minLength", 0), schema.get("maxLength", 65536)
        return (text * (least // max(1, len(text)) + 1) if len(text) < least else text)[:most]

    def number(self, schema, name, kind):
        least, most = schema.get("minimum", 0), schema.get("maximum", 1000)
        if name == "id" or name.endswith(("_id", "_ids")) or name in ("userId", "author", "customer"):
            return self.random.choice(self.pool["id"])
        made = self.random.choice([least, most, self.random.randint(int(least), max(int(least), int(most)))])
        return made if kind == "integer" or self.chance(0.5) else made + 0.5

    # --- requests ---

    def corrupt(self, value, depth=0):
        """The value with one part made invalid."""
        if isinstance(value, dict) and value and depth < 4 and self.chance(0.8):
            key = self.random.choice(list(value))
            return {**value, key: self.corrupt(value[key], depth + 1)}
        if isinstance(value, dict) and self.chance(0.3):
            return {**value, self.random.choice(["id", "created_at", "x", ""]): self.any_value()}
        if isinstance(value, list) and value and depth < 4 and self.chance(0.7):
            at = self.random.randrange(len(value))
            return [*value[:at], self.corrupt(value[at], depth + 1), *value[at + 1:]]
        return self.any_value()

    def path(self, document, path, operation, wrong):
        def fill(found):
            name = found[1]
            known = self.pool.get((path[:found.start()].rstrip("/"), PLACES.get(name, "id")))
            if known and not wrong and self.chance(0.9):
                return urllib.parse.quote(str(self.random.choice(known)), safe="")
            schema = next(p["schema"] for p in operation.get("parameters", [])
                          if p.get("name") == name or p.get("$ref", "").endswith(f"/{name}"))
            made = self.random.choice(self.words) if wrong else self.value(document, schema, name)
            return urllib.parse.quote(str(made), safe="") or "-"

        return re.sub(r"\{(\w+)\}", fill, path)

    def query(self, document, operation, wrong):
        made = []
        for parameter in operation.get("parameters", []):
            parameter = self.resolve(document, parameter)
            if parameter["in"] != "query" or not self.chance(0.3):
                continue
            if parameter.get("style") == "deepObject":
                made += self.filters(document, parameter)
                continue
            value = self.random.choice(self.words) if wrong and self.chance(0.5) else self.query_value(document, parameter)
            made.append((parameter["name"], value))
        if wrong and self.chance(0.2):
            made.append((self.random.choice(["x", "limit", "filter[", "filter[a][b][c]", "sort[]"]), "1"))
        return urllib.parse.urlencode([(k, json.dumps(v) if isinstance(v, bool) else v) for k, v in made])

    def query_value(self, document, parameter):
        name = parameter["name"]
        if name in ("sort", "fields", "expand", "group_by"):
            names = [*self.members, "id", "created_at"]
            return ",".join(self.random.choice(["", "-"]) * (name == "sort") + self.random.choice(names)
                            for _ in range(self.random.randint(1, 3)))
        if name == "cursor":
            return self.random.choice(["start", *self.pool.get("next_cursor", [])])
        return self.value(document, parameter["schema"], name)

    def filters(self, document, parameter):
        members = self.resolve(document, parameter["schema"]).get("properties") or {name: {} for name in self.members}
        name = self.random.choice([*members, "id", "or"])
        operator = self.random.choice(["", "", "[ne]", "[gt]", "[lte]", "[in]", "[icontains]", "[starts_with]", "[between]", "[null]",
                                       "[x]", "[0][title]"])
        return [(f"filter[{name}]{operator}", self.value(document, members.get(name, {}), name))]

    def send(self):
        document, method, path, operation = self.random.choice(self.operations)
        self.members = list(self.documents[0]["components"].get("schemas", {}).get("orders", {}).get("properties", {})) or ["id"]
        wrong = self.random.choice(self.wrongs)
        target = self.path(document, path, operation, wrong == "path")
        query = self.query(document, operation, wrong == "query")
        headers, options = self.headers(operation, wrong == "head"), {}
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            body = self.value(document, content["application/json"]["schema"])
            options["data"] = self.body(self.corrupt(body) if wrong == "body" else body)
            headers.setdefault("Content-Type", "application/json")
        elif "multipart/form-data" in content:
            text = self.random.choice(["title,amount\na,1\n", "[]", "\x00", "title\n" + "x," * 50])
            options["files"] = {"file": ("x.csv", text, "text/csv")}
        who = self.random.choices(list(self.callers), [CALLS[who] for who in self.callers])[0]
        client = self.callers[who]
        method = {"put": "patch", "get": "head"}.get(method, method) if self.chance(0.05) else method
        answer = client.request(method.upper(), target + (f"?{query}" if query else ""), headers=headers, **options)
        self.learn(answer, path)
        # With credentials drawn at random a provider refuses calls. The answer to HEAD has no body that says so.
        refused_by_provider = answer.status_code == 502 if method == "head" else '"provider_error"' in answer.text
        if answer.status_code >= 500 and not refused_by_provider:
            self.failures.append(f"{who}: {method.upper()} {target}?{query} {options.get('data', '')!r:.600} -> {answer.status_code} {answer.text[:300]}")
        return answer

    def body(self, value):
        if len(self.wrongs) > 1 and self.chance(0.03):
            return self.random.choice([b"", b"{", b"[1,]", b'{"a":1,"a":2}', b"\xff", b'{"a":1e999}', b"[" * 2000])
        return json.dumps(value, ensure_ascii=self.chance(0.5)).encode("utf-8", "surrogatepass")

    def headers(self, operation, wrong):
        made = {}
        for parameter in operation.get("parameters", []):
            name = parameter.get("name") or {"IfMatch": "If-Match", "IfNoneMatch": "If-None-Match"}.get(parameter["$ref"].split("/")[-1])
            if parameter.get("in", "header") == "header" and name and self.chance(0.3):
                made[name] = self.random.choice(['"x"', "*", "1", *self.pool.get("etag", [])])
        if wrong:
            made[self.random.choice(["Content-Type", "Accept", "X-Group-Id", "If-Match", "Origin", "X-Lock-Token"])] = \
                self.random.choice(["text/plain", "x", "1", "*", "https://example.org", "application/json; charset=latin1"])
        return made

    # --- ids and names of answers ---

    def collect_names(self, client):
        """Collects ids and names of existing objects, so that paths name existing objects."""
        for _, method, path, operation in self.operations:
            if method == "get" and "{" not in path.replace("{entity}", "orders"):
                self.learn(client.get(path.replace("{entity}", "orders")), path)

    def learn(self, answer, path):
        if "ETag" in answer.headers:
            self.store_name("etag", answer.headers["ETag"])
        if not answer.headers.get("Content-Type", "").startswith("application/json") or len(answer.content) > 50_000:
            return
        try:
            body = answer.json()
        except ValueError:
            return
        for item in [body, *(body.get("items", []) if isinstance(body, dict) else [])]:
            if not isinstance(item, dict):
                continue
            for name in ("id", "name", "next_cursor", "code", "token", "route"):
                if not isinstance(item.get(name), (int, str)) or not item[name]:
                    continue
                if name != "id" or isinstance(item[name], int):
                    self.store_name(name, item[name])
                if not path.endswith("}"):
                    self.store_name((path, name), item[name])
                if name == "id":
                    self.store_name((path.replace("{entity}", "orders"), name), item[name])

    def store_name(self, name, value):
        known = self.pool.setdefault(name, [])
        known.append(value)
        if len(known) > 40:
            del known[self.random.randrange(len(known))]

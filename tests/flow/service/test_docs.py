"""GET /docs: the content of the two documents, by caller, and the viewer. tests/docs passes the documents to other tools."""
import concurrent.futures
import itertools
import json
import re

import pytest
from groundwork.client import Client
from groundwork.project import Project

METHODS = {"get", "put", "post", "delete"}


def documents(client, **options):
    body = client.get("/docs", expect=200, **options).json()
    return body["data_model_documentation"], body["module_documentation"]["platform"]


def model(client):
    return documents(client)[0]


def references(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolve(document, reference):
    node = document
    for part in reference.removeprefix("#/").split("/"):
        node = node[part.replace("~1", "/").replace("~0", "~")]
    return node


@pytest.fixture(scope="module")
def shop(shared_project):
    admin = shared_project.admin
    admin.post("/enums", {"name": "status", "values": ["open", "paid"]}, expect=201)
    shared_project.entity("customers", [{"name": "name", "type": "varchar", "required": True}])
    shared_project.entity(
        "orders",
        [
            {"name": "title", "type": "varchar", "required": True, "unique": True, "options": {"max_length": 40}},
            {"name": "notes", "type": "text"},
            {"name": "amount", "type": "integer", "options": {"min": 1, "max": 9}},
            {"name": "total", "type": "float"},
            {"name": "tax", "type": "decimal"},
            {"name": "active", "type": "bool", "default": True},
            {"name": "day", "type": "date"},
            {"name": "at", "type": "datetime"},
            {"name": "extra", "type": "json"},
            {"name": "status", "type": "enum", "options": {"enum": "status"}},
            {"name": "invoice", "type": "file"},
            {"name": "customer", "type": "relation", "required": True, "options": {"entity": "customers"}},
            {"name": "watchers", "type": "relation", "options": {"entity": "customers", "many": True}},
            {"name": "api_token", "type": "secret"},
        ],
        label="Orders of the shop",
    )
    return shared_project


# --- readers of the documents ---


def test_permission(project):
    project.user_with("svc_documentation:read").get("/docs", expect=200)
    refused = project.user_with("svc_users:read").get("/docs", expect=403).json()
    assert refused["code"] == "forbidden"
    project.client().get("/docs", expect=401)
    project.key(["svc_documentation:read"]).get("/docs", expect=200)
    project.key(["svc_users:read"]).get("/docs", expect=403)


def test_unknown_parameter(project):
    assert project.admin.get("/docs?x=1", expect=400).json()["code"] == "unknown_parameter"


# --- the data model document ---


def test_model_head(shop):
    document = model(shop.admin)
    assert document["openapi"] == "3.0.3"
    assert document["info"]["title"] == "Data Model API"
    assert [server["url"] for server in document["servers"]] == [shop.base_url]
    assert [scheme["type"] for scheme in document["components"]["securitySchemes"].values()] == ["http"]
    assert [tag["name"] for tag in document["tags"]] == ["customers", "orders"]
    assert set(document["components"]["schemas"]) == {"customers", "orders"}


def test_two_paths_and_five_operations(shop):
    paths = model(shop.admin)["paths"]
    assert set(paths) == {
        "/entities/customers/items", "/entities/customers/items/{id}",
        "/entities/orders/items", "/entities/orders/items/{id}",
    }
    assert set(paths["/entities/orders/items"]) == {"get", "post"}
    assert set(paths["/entities/orders/items/{id}"]) == {"get", "put", "delete"}
    names = [operation["operationId"] for operations in paths.values() for operation in operations.values()]
    assert len(names) == len(set(names)) == 10
    assert {"list_orders", "create_orders", "get_orders", "update_orders", "delete_orders"} <= set(names)


def test_field_types(shop):
    schema = model(shop.admin)["components"]["schemas"]["orders"]
    assert schema["required"] == ["title", "customer"]
    assert not {"id", "created_at", "updated_at", "created_by"} & set(schema["properties"])
    expected = {
        "title": {"type": "string", "maxLength": 40},
        "notes": {"type": "string", "nullable": True},
        "amount": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 9, "nullable": True},
        "total": {"type": "number", "format": "double", "nullable": True},
        "tax": {"type": "number", "nullable": True},
        "active": {"type": "boolean", "default": True, "nullable": True},
        "day": {"type": "string", "format": "date", "nullable": True},
        "at": {"type": "string", "format": "date-time", "nullable": True},
        "extra": {},
        "status": {"type": "string", "enum": ["open", "paid", None], "nullable": True},
        "invoice": {"type": "integer", "format": "int64", "nullable": True},
        "customer": {"type": "integer", "format": "int64"},
        "watchers": {"type": "array", "items": {"type": "integer", "format": "int64"}, "uniqueItems": True},
        "api_token": {"type": "string", "format": "password", "nullable": True, "example": "********"},
    }
    assert list(schema["properties"]) == list(expected)
    for name, wanted in expected.items():
        field = schema["properties"][name]
        assert "example" in field, name
        described = {key: value for key, value in field.items() if key not in ("description", "example")}
        assert described == {key: value for key, value in wanted.items() if key != "example"}, name
    assert schema["properties"]["api_token"]["example"] == "********"


def test_every_reference_leads_somewhere(shop):
    for document in documents(shop.admin):
        found = set(references(document))
        assert found
        for reference in found:
            resolve(document, reference)
        components = {
            f"#/components/{section}/{name}"
            for section, entries in document["components"].items() if section != "securitySchemes"
            for name in entries
        }
        assert components == found


def test_list_operation(shop):
    document = model(shop.admin)
    operation = document["paths"]["/entities/orders/items"]["get"]
    parameters = [resolve(document, p["$ref"]) if "$ref" in p else p for p in operation["parameters"]]
    named = {parameter["name"]: parameter for parameter in parameters}
    assert set(named) == {"filter", "sort", "order", "fields", "expand", "page", "limit", "count", "cursor", "X-Group-Id"}
    assert "`orders:read`" in operation["description"]
    one = document["paths"]["/entities/orders/items/{id}"]
    assert "`orders:update`" in one["put"]["description"] and "`orders:delete`" in one["delete"]["description"]
    for method, wanted in (("get", {"X-Group-Id", "If-None-Match"}), ("put", {"If-Match", "X-Lock-Token"}),
                           ("delete", {"If-Match", "X-Lock-Token"})):
        heads = [resolve(document, p["$ref"]) for p in one[method]["parameters"] if "$ref" in p]
        assert {head["name"] for head in heads if head["in"] == "header"} == wanted, method
    assert named["filter"]["style"] == "deepObject" and named["filter"]["explode"] is True
    assert "total" in named["filter"]["schema"]["properties"]
    assert not {"api_token", "extra"} & set(named["filter"]["schema"]["properties"])
    assert named["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 500, "default": 20}
    envelope = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert envelope["required"] == ["items", "total_items", "page", "page_size", "has_next_page"]


def test_records_are_as_documented(shop):
    """The client's contract check compares these answers with the document."""
    customer = shop.item("customers", name="Ada")
    order = shop.item("orders", title="first", customer=customer["id"], watchers=[customer["id"]], amount=3,
                      status="paid", day="2026-01-31", at="2026-01-31T12:00:00Z", extra={"a": [1]}, tax=1.25)
    path = f"/entities/orders/items/{order['id']}"
    assert shop.admin.get(path, expect=200).json()["watchers"] == [customer["id"]]
    shop.admin.put(path, {"amount": None, "status": None}, expect=200)
    shop.admin.get("/entities/orders/items?fields=id,title&cursor=start", expect=200)
    shop.admin.delete(path, expect=204)


def test_reads_promise_no_member(shop):
    """fields= omits members that are required in a record, and expand= returns records in place of ids."""
    customer = shop.item("customers", name="Eve")
    order = shop.item("orders", title="expanded", customer=customer["id"], watchers=[customer["id"]])
    path = "/entities/orders/items"
    for query in ("", "?fields=title", "?expand=customer", "?expand=customer,watchers&fields=watchers"):
        shop.admin.get(f"{path}/{order['id']}{query}", expect=200)
        shop.admin.get(f"{path}{query}", expect=200)
    document = model(shop.admin)
    for read in (
        document["paths"][f"{path}/{{id}}"]["get"]["responses"]["200"],
        document["paths"][path]["get"]["responses"]["200"],
    ):
        schema = read["content"]["application/json"]["schema"]
        schema = schema["properties"].get("items", {}).get("items") or schema
        assert "required" not in schema
        kinds = [part["type"] for part in schema["properties"]["customer"]["oneOf"]]
        assert kinds == ["integer", "object"]


def null_refused(node, path=""):
    """Yields the paths of schemas that are nullable but still refuse null."""
    if isinstance(node, dict):
        if node.get("nullable") and ({"allOf", "oneOf", "anyOf", "$ref"} & set(node) or "type" not in node):
            yield path
        for key, value in node.items():
            yield from null_refused(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from null_refused(value, f"{path}/{index}")


def test_what_is_nullable_takes_null(shop):
    assert [place for document in documents(shop.admin) for place in null_refused(document)] == []


def fits(operations, name, literal):
    """Whether a segment can be a value of a template's parameter, by the parameter's schema."""
    for operation in operations.values():
        schema = next(p for p in operation["parameters"] if p["name"] == name and p["in"] == "path")["schema"]
        if schema["type"] == "string" and re.search(schema.get("pattern", ""), literal):
            return True
    return False


def test_no_path_is_two_templates(shop):
    """A path matches only one of two similar templates, because of the schemas of their parameters. (Between /users/me and
    /users/{id} the literal one goes first: OpenAPI 3.0.4, Path Templating Matching.)"""
    _, platform = documents(shop.admin)
    pairs = 0
    for one, other in itertools.combinations(platform["paths"], 2):
        segments = list(zip(one.split("/"), other.split("/")))
        if one.count("/") != other.count("/") or any(a != b and "{" not in a + b for a, b in segments):
            continue
        apart = [fits(platform["paths"][one], a[1:-1], b) for a, b in segments if "{" in a and "{" not in b]
        back = [fits(platform["paths"][other], b[1:-1], a) for a, b in segments if "{" in b and "{" not in a]
        if apart and back:
            pairs += 1
            assert not all(apart + back), (one, other)
    assert pairs >= 6


def test_update_requires_nothing(shop):
    operation = model(shop.admin)["paths"]["/entities/orders/items/{id}"]["put"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert "required" not in schema and "title" in schema["properties"]


def test_no_record_appears(shop):
    customer = shop.item("customers", name="Zebulon-Unmistakable")
    shop.item("orders", title="Order-Unmistakable", customer=customer["id"], api_token="token-unmistakable")
    assert "nmistakable" not in shop.admin.get("/docs", expect=200).text


def test_follows_every_change_at_once(project):
    assert model(project.admin)["paths"] == {}
    project.entity("things", [{"name": "a", "type": "text"}])
    assert set(model(project.admin)["components"]["schemas"]["things"]["properties"]) == {"a"}
    project.admin.post("/entities/things/fields", {"name": "b", "type": "bool"}, expect=201)
    assert set(model(project.admin)["components"]["schemas"]["things"]["properties"]) == {"a", "b"}
    project.admin.delete("/entities/things", expect=204)
    assert model(project.admin)["paths"] == {}


def test_names_that_generators_fold(project):
    for name in ("order_item", "orderitem", "date", "order__item"):
        project.entity(name, [{"name": "note", "type": "text"}])
    document = model(project.admin)
    names = list(document["components"]["schemas"])
    assert "order_item" in names, "the oldest keeps its name"
    assert "orderitem" not in names and "order__item" not in names and "date" not in names
    assert len(names) == 4 and all(re.fullmatch(r"[a-z_]+(-\d+)?", name) for name in names)
    assert "/entities/orderitem/items" in document["paths"]


# --- callers ---


def test_operations_of_others_are_shown(shop):
    reader = shop.user_with("svc_documentation:read")
    document = model(reader)
    assert "/entities/orders/items" in document["paths"]
    assert document["components"]["schemas"]["orders"] == model(shop.admin)["components"]["schemas"]["orders"]
    reader.get("/entities/orders/items", expect=403)


def test_hidden_fields_are_left_out(project):
    project.entity("offers", [
        {"name": "price", "type": "float", "required": True},
        {"name": "margin", "type": "float", "required": True},
    ])
    limited = project.user_with(
        "svc_documentation:read", "offers:read", "offers:create", "offers:update",
        field_access=[{"entity": "offers", "action": action, "fields": ["price"]}
                      for action in ("read", "create", "update")],
    )
    body = limited.get("/docs", expect=200).text
    assert "margin" not in json.dumps(json.loads(body)["data_model_documentation"])
    assert model(limited)["components"]["schemas"]["offers"]["required"] == ["price"]
    assert "margin" in model(project.admin)["components"]["schemas"]["offers"]["properties"]


def test_fields_read_only_and_write_only(project):
    project.entity("offers", [
        {"name": "price", "type": "float"},
        {"name": "rating", "type": "float"},
        {"name": "note", "type": "text"},
    ])
    limited = project.user_with(
        "svc_documentation:read", "offers:read", "offers:create", "offers:update",
        field_access=[
            {"entity": "offers", "action": "read", "fields": ["price", "rating"]},
            {"entity": "offers", "action": "create", "fields": ["price", "note"]},
            {"entity": "offers", "action": "update", "fields": ["price", "note"]},
        ],
    )
    document = model(limited)
    properties = document["components"]["schemas"]["offers"]["properties"]
    assert properties["rating"].get("readOnly") and properties["note"].get("writeOnly")
    assert not {"readOnly", "writeOnly"} & set(properties["price"])
    parameters = document["paths"]["/entities/offers/items"]["get"]["parameters"]
    filters = next(p for p in parameters if p.get("name") == "filter")["schema"]["properties"]
    assert "note" not in filters and "rating" in filters


# --- the platform document ---


def test_platform_covers_every_route(shop, session_gateway):
    _, platform = documents(shop.admin)
    assert platform["openapi"] == "3.0.4"
    assert [server["url"] for server in platform["servers"]] == [shop.base_url]
    documented = {
        (method.upper(), path)
        for path, operations in platform["paths"].items()
        for method in operations
    }
    operator = ("/org", "/healthz", "/console")
    exempt = {("GET", "/auth/ui"), ("GET", "/docs/ui"), ("GET", "/docs/ui/{asset}")}
    for line in session_gateway.run("--list-routes").stdout.splitlines():
        method, path, auth = line.split(None, 2)
        if auth == "operator" or path.startswith(operator) or (method, path) in exempt:
            assert (method, path) not in documented
        elif not re.fullmatch(r"/entities/\{entity\}/items(/\{id\})?", path):
            assert (method, path) in documented, line


def test_platform_operations(shop):
    _, platform = documents(shop.admin)
    tags = {tag["name"] for tag in platform["tags"]}
    assert all(tag["description"] for tag in platform["tags"])
    seen = set()
    for path, operations in platform["paths"].items():
        assert set(operations) <= METHODS
        for operation in operations.values():
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            assert operation["summary"] and set(operation["tags"]) <= tags
            assert {"400", "429", "500"} <= set(operation["responses"])
            if operation["security"]:
                assert "401" in operation["responses"]
            if "requestBody" in operation:
                assert {"413", "415"} <= set(operation["responses"])
            named = {p["name"]: p for p in operation.get("parameters", [])}
            for name in re.findall(r"\{(\w+)\}", path):
                number = name in ("id", "userId", "version") or name.endswith("_id")
                wanted = "integer" if number and "pattern" not in named[name]["schema"] else "string"
                assert named[name]["in"] == "path" and named[name]["required"]
                assert named[name]["schema"]["type"] == wanted
    assert platform["paths"]["/auth/v1/token"]["post"]["security"] == []
    assert platform["paths"]["/users/me"]["put"]["security"] == [{"bearerAuth": []}]
    assert platform["paths"]["/users"]["get"]["security"] == [{"bearerAuth": []}, {"apiKeyAuth": []}]
    assert "svc_users:read" in platform["paths"]["/users"]["get"]["description"]


def test_idempotency_keys_are_shown(shop):
    """An operation whose body may contain an idempotency key also accepts the header."""
    _, platform = documents(shop.admin)
    told, taken = set(), set()
    for path, operations in platform["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            schema = resolve(platform, body["$ref"]) if "$ref" in body else body
            if "idempotency_key" in schema.get("properties", {}):
                taken.add((method, path))
            if any(p["name"] == "Idempotency-Key" for p in operation.get("parameters", [])):
                told.add((method, path))
    assert told == taken and len(told) >= 9


def test_error_codes_are_published(shop):
    _, platform = documents(shop.admin)
    text = platform["components"]["schemas"]["Problem"]["properties"]["code"]["description"]
    for code in ("validation_failed", "token_expired", "unique_violation", "last_administrator", "internal"):
        assert f"`{code}`" in text


# --- caching ---


def test_etag(project):
    first = project.admin.get("/docs", expect=200)
    etag = first.headers["ETag"]
    assert first.headers["Cache-Control"] == "private, no-cache"
    again = project.admin.get("/docs", expect=200)
    assert again.headers["ETag"] == etag and again.content == first.content
    same = project.admin.get("/docs", headers={"If-None-Match": etag}, expect=304)
    assert not same.content
    project.entity("fresh", [{"name": "a", "type": "text"}])
    changed = project.admin.get("/docs", headers={"If-None-Match": etag}, expect=200)
    assert changed.headers["ETag"] != etag
    assert project.admin.head("/docs", expect=200).headers["ETag"] == changed.headers["ETag"]


@pytest.mark.parametrize("host", ['x"},"y":{"a', "a b", "<script>", "example.org\\"])
def test_host_header_is_only_text(shop, host):
    # Not recorded: an invalid host is refused before the request has an id.
    unrecorded = Client(shop.base_url, token=shop.admin.token)
    answer = unrecorded.get("/docs", headers={"Host": host})
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        assert answer.json()["data_model_documentation"]["servers"] == [
            {"url": f"http://{host}/org/{shop.id}", "description": "This project"}
        ]


# --- the typed client (tests/flow/client compiles it) ---


def client_module(client):
    """The typed client's types of the project, without its constant part."""
    return client.get("/docs/client.ts", expect=200).text.split("\n}\n")[0]


def test_client_types(shop):
    types = client_module(shop.admin)
    orders = types[types.index("  /** Orders of the shop */\n  orders: {"):]
    assert orders == """  /** Orders of the shop */
  orders: {
    fields: {
      title: string;
      notes: string | null;
      amount: number | null;
      total: number | null;
      tax: Decimal | null;
      active: boolean | null;
      day: DateOnly | null;
      at: DateTime | null;
      extra: Json | null;
      status: "open" | "paid" | null;
      invoice: FileId | null;
      api_token: Secret | null;
    };
    relations: {
      customer: { to: 'customers'; many: false; null: false; hidden: true };
      watchers: { to: 'customers'; many: true; null: false; hidden: true };
    };
    required: 'title' | 'customer';
    readonly: never;
    writeonly: never;
    unique: 'title';
  };"""


def test_client_relations_that_cannot_be_followed(project):
    project.entity("notes", [{"name": "text", "type": "text"}], row_level_security=True)
    project.entity("secrets", [{"name": "text", "type": "text"}], row_level_security=False)
    project.entity("pages", [
        {"name": "note", "type": "relation", "options": {"entity": "notes"}},
        {"name": "secret", "type": "relation", "options": {"entity": "secrets"}},
    ])
    types = client_module(project.user_with("svc_documentation:read", "pages:read", "notes:read"))
    assert "note: { to: 'notes'; many: false; null: true; hidden: true };" in types
    assert "secret: { to: never; many: false; null: true };" in types
    assert "secret: { to: 'secrets'; many: false; null: true };" in client_module(project.admin)


def test_client_permission(project):
    project.client().get("/docs/client.ts", expect=401)
    project.user_with("svc_users:read").get("/docs/client.ts", expect=403)
    project.user_with("svc_documentation:read").get("/docs/client.ts", expect=200)


def test_client_of_a_caller_with_field_rules(project):
    project.entity("offers", [
        {"name": "price", "type": "float", "required": True},
        {"name": "margin", "type": "float", "required": True},
        {"name": "code", "type": "varchar", "unique": True},
        {"name": "note", "type": "text"},
        {"name": "level", "type": "integer", "required": True, "default": 1},
    ])
    limited = project.user_with(
        "svc_documentation:read", "offers:read", "offers:create", "offers:update",
        field_access=[
            {"entity": "offers", "action": "read", "fields": ["price", "code"]},
            {"entity": "offers", "action": "create", "fields": ["price", "note", "level"]},
            {"entity": "offers", "action": "update", "fields": ["price", "note"]},
        ],
    )
    types = client_module(limited)
    assert "margin" not in types
    assert "required: 'price';" in types and "unique: 'code';" in types
    assert "readonly: 'code';" in types and "writeonly: 'note' | 'level';" in types
    assert "required: 'price' | 'margin';" in client_module(project.admin)


@pytest.mark.parametrize("text", ["*/ alert(1) /*", "**/ x", "a\nb", "\u2028 `${x}` '\"\\"])
def test_client_texts_stay_texts(project, text):
    """Labels stay inside their comment, and values inside their literal."""
    project.admin.post("/enums", {"name": "odd", "values": ["plain", text.replace("\n", " ")]}, expect=201)
    project.entity("odd", [{"name": "kind", "type": "enum", "options": {"enum": "odd"}}], label=text)
    types = client_module(project.admin)
    label = next(line for line in types.split("\n") if line.startswith("  /** "))
    assert label.count("*/") == 1 and label.endswith(" */")
    values = re.search(r"kind: (\S.*) \| null;", types)[1]
    assert values == '"plain" | ' + json.dumps(text.replace("\n", " "), ensure_ascii=False)


def test_client_etag_begins_with_the_version(project):
    project.entity("items", [{"name": "a", "type": "text"}])
    first = project.admin.get("/docs/client.ts", expect=200)
    etag, version = first.headers["ETag"], re.search(r"modelVersion = '(\d+)'", first.text)[1]
    assert etag.startswith(f'"{version}-') and first.headers["Content-Type"] == "text/typescript; charset=utf-8"
    project.admin.get("/docs/client.ts", headers={"If-None-Match": etag}, expect=304)
    project.entity("more", [{"name": "a", "type": "text"}])
    changed = project.admin.get("/docs/client.ts", headers={"If-None-Match": etag}, expect=200).headers["ETag"]
    assert int(changed[1:].split("-")[0]) > int(version)
    # A user with fewer rights gets another module of the same version.
    reader = project.user_with("svc_documentation:read", "items:read", field_access=[{"entity": "items", "action": "read", "fields": []}])
    own = reader.head("/docs/client.ts", expect=200).headers["ETag"]
    assert own != changed and own.split("-")[0] == changed.split("-")[0]


# --- the viewer ---


def test_viewer_says_how_to_install_it(project):
    page = project.client().get("/docs/ui", expect=200)
    assert page.headers["Content-Type"].startswith("text/html")
    assert "make ui" in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    project.client().get("/docs/ui/swagger-ui.css", expect=404)


@pytest.fixture(scope="module")
def viewer(start_gateway, shared_project, recorder, tmp_path_factory):
    """A client of a gateway with a folder of viewer files, and that folder."""
    folder = tmp_path_factory.mktemp("ui")
    for name in ("index.html", "viewer.js", "swagger-ui.css", "secret.txt"):
        (folder / name).write_text(f"this is {name}")
    (folder / "viewer.css").symlink_to("/etc/passwd")
    (folder / "swagger-ui-bundle.js").mkdir()
    gateway = start_gateway("viewer", WORKERS=1, UI_DIR=str(folder))
    url = f"{gateway.url}/org/{shared_project.id}"
    return Client(url, recorder=recorder, project=shared_project), folder


def test_viewer_files(viewer):
    client, _ = viewer
    page = client.get("/docs/ui", expect=200)
    assert page.text == "this is index.html"
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    for header in ("Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options"):
        assert header in page.headers
    script = client.get("/docs/ui/viewer.js", expect=200)
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert script.headers["Cache-Control"].startswith("public")
    client.get("/docs/ui/viewer.js", headers={"If-None-Match": script.headers["ETag"]}, expect=304)
    assert client.head("/docs/ui/viewer.js", expect=200).headers["Content-Length"] == str(len(script.content))


@pytest.mark.parametrize("name", [
    "secret.txt", "index.html", "nothing.js", "viewer.css", "swagger-ui-bundle.js", "..", "%2e%2e",
    "..%2fsecret.txt", "viewer.js%00", "VIEWER.JS",
])
def test_viewer_serves_nothing_else(viewer, name):
    client, _ = viewer
    answer = client.get(f"/docs/ui/{name}")
    assert answer.status_code in (400, 404)
    assert "this is" not in answer.text and "root:" not in answer.text


def test_viewer_of_an_unknown_project(viewer):
    client, _ = viewer
    base = client.base_url.rsplit("/", 1)[0]
    assert Client(f"{base}/nobody").get("/docs/ui").status_code == 404


# --- size: how one project's document affects other projects ---


def wide_model(project, entities=7, values=50):
    """Creates a document of 14 megabytes with few requests: every field repeats the values of its enum."""
    project.admin.post("/enums", {"name": "wide", "values": [f"{n:03d}{'x' * 37}" for n in range(values)]}, expect=201)
    fields = [{"name": f"field_{i}", "type": "enum", "options": {"enum": "wide"}} for i in range(200)]
    for number in range(entities):
        project.entity(f"entity_{number}", fields)


def figure(daemon, expression):
    found = re.search(rf"^{expression} (\d+)$", daemon.metrics(), re.M)
    return int(found[1]) if found else 0


def pool(daemon, what, name="documents"):
    return figure(daemon, rf'groundwork_shares_{what}\{{pool="{name}"\}}')


@pytest.fixture(scope="module")
def crowd(start_gateway, operator, recorder):
    """A separate gateway, a project with a wide model on it and another project."""
    gateway = start_gateway(WORKERS=1)
    outside = Client(f"{gateway.url}/org", token=operator.token, recorder=recorder)
    wide, other = Project(gateway, outside, recorder), Project(gateway, outside, recorder)
    wide_model(wide)
    yield gateway, wide, other
    gateway.stop()


@pytest.mark.timed
def test_a_large_model_does_not_hold_the_loop(crowd):
    gateway, wide, other = crowd
    readers = [Client(wide.base_url, token=wide.admin.token) for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(len(readers)) as threads:
        answers = [threads.submit(reader.get, "/docs", expect=200) for reader in readers for _ in range(3)]
        while not all(answer.done() for answer in answers):
            other.admin.get("/users/me", expect=200)
    sizes = {len(answer.result().content) for answer in answers}
    assert len(sizes) == 1 and sizes.pop() > 10_000_000
    long = [line for line in gateway.long_runs() if '"docs_get"' in line]
    assert not long, long


def test_a_document_is_made_once(crowd):
    gateway, wide, _ = crowd
    first = wide.admin.get("/docs", expect=200)
    kept = pool(gateway, "held")
    assert 10_000_000 < kept < len(first.content)
    again = wide.admin.get("/docs", headers={"If-None-Match": first.headers["ETag"]}, expect=304)
    assert again.headers["ETag"] == first.headers["ETag"]
    wide.administrator().get("/docs", expect=200)
    assert pool(gateway, "held") == kept, "callers with the same rights do not share a document"
    wide.entity("late", [{"name": "note", "type": "text"}])
    assert "late" in model(wide.admin)["components"]["schemas"]
    assert kept < pool(gateway, "held") < kept + 100_000, "no older version is kept"


def test_documents_of_a_project_are_bounded(start_gateway, operator, recorder):
    """Different field rules make different documents: the project's oldest documents leave the cache, and those of other
    projects stay."""
    gateway = start_gateway(WORKERS=1, DOCS_CACHE_BYTES=12_000_000)
    outside = Client(f"{gateway.url}/org", token=operator.token, recorder=recorder)
    wide, other = Project(gateway, outside, recorder), Project(gateway, outside, recorder)
    wide_model(wide, entities=2)
    names = [f"entity_{n}" for n in range(2)]
    other.admin.get("/docs", expect=200)
    for field in range(4):
        rules = [{"entity": name, "action": "read", "fields": [f"field_{n}" for n in range(field, 200)]} for name in names]
        wide.user_with("svc_documentation:read", *(f"{name}:read" for name in names), field_access=rules).get("/docs", expect=200)
        assert 4_000_000 < pool(gateway, "held") <= 8_000_000
    assert pool(gateway, "owners") == 2
    wide_model_before = pool(gateway, "held")
    for number in range(2, 5):
        wide.entity(f"entity_{number}", [
            {"name": f"field_{i}", "type": "enum", "options": {"enum": "wide"}} for i in range(200)
        ])
    refused = wide.admin.get("/docs")
    assert refused.status_code == 400 and refused.json()["code"] == "too_large_answer"
    assert pool(gateway, "held") <= wide_model_before
    gateway.stop()

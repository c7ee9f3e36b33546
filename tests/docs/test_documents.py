"""GET /docs through independent tools: two strict validators, and a generated client that works."""
import json
import pathlib

import pytest
from npm import VALIDATORS, run
from groundwork.project import ADMIN_EMAIL, PASSWORD, Project

HERE = pathlib.Path(__file__).parent
GENERATED = HERE / "generated"


@pytest.fixture(scope="module")
def documented_project(session_gateway, operator, recorder):
    """A project whose model has every type of field."""
    project = Project(session_gateway, operator, recorder)
    project.admin.post("/enums", {"name": "genre", "values": ["novel", "essay"]}, expect=201)
    project.entity("authors", [{"name": "name", "type": "varchar", "required": True, "options": {"max_length": 120}}])
    project.entity(
        "books",
        [
            {"name": "title", "type": "varchar", "required": True, "unique": True, "options": {"max_length": 200}},
            {"name": "author", "type": "relation", "required": True, "options": {"entity": "authors"}},
            {"name": "translators", "type": "relation", "options": {"entity": "authors", "many": True}},
            {"name": "blurb", "type": "text"},
            {"name": "pages", "type": "integer", "options": {"min": 1, "max": 10000}},
            {"name": "price", "type": "float", "indexed": True},
            {"name": "tax", "type": "decimal"},
            {"name": "in_stock", "type": "bool", "default": True},
            {"name": "published", "type": "date"},
            {"name": "printed_at", "type": "datetime"},
            {"name": "extra", "type": "json"},
            {"name": "genre", "type": "enum", "options": {"enum": "genre"}},
            {"name": "cover", "type": "file"},
            {"name": "supplier_key", "type": "secret"},
        ],
        row_level_security=False,
    )
    # Names that code generators map to the same class name.
    project.entity("order_item", [{"name": "note", "type": "text"}])
    project.entity("orderitem", [{"name": "note", "type": "text"}])
    return project


@pytest.fixture(scope="module")
def files(documented_project):
    """The paths of the documents: model.json, platform.json (and one for each further module)."""
    body = documented_project.admin.get("/docs", expect=200).json()
    assert set(body) == {"data_model_documentation", "module_documentation"}
    GENERATED.mkdir(exist_ok=True)
    (GENERATED / "model.json").write_text(json.dumps(body["data_model_documentation"], indent=1))
    assert len(body["module_documentation"]) == 1
    for document in body["module_documentation"].values():
        (GENERATED / "platform.json").write_text(json.dumps(document, indent=1))
    return [GENERATED / "model.json", GENERATED / "platform.json"]


def test_versions_and_servers(files, documented_project):
    model, platform = (json.loads(file.read_text()) for file in files)
    assert model["openapi"] == "3.0.3"
    assert model["info"]["title"] == "Data Model API"
    assert platform["openapi"] == "3.0.4"
    for document in (model, platform):
        assert [server["url"] for server in document["servers"]] == [documented_project.base_url]
    assert [scheme["type"] for scheme in model["components"]["securitySchemes"].values()] == ["http"]


@pytest.mark.parametrize("name", ["model", "platform"])
def test_redocly_finds_nothing(name, files, validators):
    text = run(validators / "redocly", "lint", "--format", "json", "--config", "redocly.yaml", GENERATED / f"{name}.json", folder=VALIDATORS)
    assert json.loads(text)["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}, text


def test_swagger_parser_accepts(files, validators):
    assert "paths" in run("node", "validate.mjs", *files, folder=VALIDATORS)


def test_generated_client_works(files, tools, documented_project):
    for name in ("model", "platform"):
        run(tools / "openapi-typescript", f"generated/{name}.json", "-o", f"generated/{name}.d.ts")
    run(tools / "tsc", "-p", ".")
    text = run("node", "generated/out/client.js", documented_project.base_url, ADMIN_EMAIL, PASSWORD)
    assert "all right" in text


def test_documents_follow_the_model(documented_project):
    before = documented_project.admin.get("/docs", expect=200).json()["data_model_documentation"]
    assert "/entities/fresh/items" not in before["paths"]
    documented_project.entity("fresh", [{"name": "note", "type": "text"}])
    after = documented_project.admin.get("/docs", expect=200).json()["data_model_documentation"]
    assert {"/entities/fresh/items", "/entities/fresh/items/{id}"} <= set(after["paths"])
    documented_project.admin.delete("/entities/fresh")
    again = documented_project.admin.get("/docs", expect=200).json()["data_model_documentation"]
    assert "/entities/fresh/items" not in again["paths"]


def test_viewer_works(tools, start_gateway, operator, recorder, tmp_path):
    """Uses the viewer that `make ui` installs like a person would; it must load nothing from another host."""
    run(HERE.parents[1] / "scripts/ui", tmp_path)
    for name in ("index.html", "viewer.js", "viewer.css"):
        assert "//" not in (tmp_path / name).read_text().replace("// ", ""), f"{name} names a host"
    project = Project(start_gateway("viewer", UI_DIR=str(tmp_path)), operator, recorder)
    project.entity("books", [{"name": "title", "type": "text"}])
    assert "all right" in run("node", "viewer.mjs", project.base_url, ADMIN_EMAIL, PASSWORD)

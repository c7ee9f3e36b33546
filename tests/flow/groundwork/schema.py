"""Strictly checks a JSON value against a schema of an OpenAPI 3.0 document: members that the schema does not name are
complaints too."""
import re

TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
FORMATS = {
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "uri": re.compile(r"[a-z][a-z0-9+.-]*:.+", re.S),
    "uuid": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I),
}


class Checker:
    def __init__(self, document):
        self.document = document

    def resolve(self, schema):
        while "$ref" in schema:
            node = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                node = node[part.replace("~1", "/").replace("~0", "~")]
            schema = node
        return self.merge_all_of(schema) if "allOf" in schema else schema

    def merge_all_of(self, schema):
        """Returns one schema for an allOf, with the members of all parts."""
        whole = {k: v for k, v in schema.items() if k != "allOf"}
        whole["properties"] = dict(schema.get("properties", {}))
        whole["required"] = list(schema.get("required", []))
        for part in map(self.resolve, schema["allOf"]):
            whole["properties"].update(part.get("properties", {}))
            whole["required"] += part.get("required", [])
            for key, value in part.items():
                if key not in ("properties", "required"):
                    whole.setdefault(key, value)
        if not whole["properties"]:
            del whole["properties"]
        return whole

    def check(self, value, schema, where="$"):
        """Yields complaints."""
        schema = self.resolve(schema)
        if value is None:
            if schema and not schema.get("nullable") and "type" in schema:
                yield f"{where}: null, expected {schema['type']}"
            return
        for key in ("oneOf", "anyOf"):
            if key in schema and all(list(self.check(value, part, where)) for part in schema[key]):
                yield f"{where}: matches no part of {key}"
        kind = schema.get("type")
        if kind:
            if not isinstance(value, TYPES[kind]) or (kind != "boolean" and isinstance(value, bool)):
                yield f"{where}: {type(value).__name__} ({value!r:.80}), expected {kind}"
                return
        if "enum" in schema and value not in schema["enum"]:
            yield f"{where}: {value!r:.80} is none of {schema['enum']}"
        if isinstance(value, str):
            yield from self.check_string(value, schema, where)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield from self.check_number(value, schema, where)
        elif isinstance(value, list):
            if len(value) > schema.get("maxItems", len(value)) or len(value) < schema.get("minItems", 0):
                yield f"{where}: {len(value)} items"
            for index, item in enumerate(value):
                yield from self.check(item, schema.get("items", {}), f"{where}[{index}]")
        elif isinstance(value, dict):
            yield from self.check_object(value, schema, where)

    @staticmethod
    def check_string(value, schema, where):
        if len(value) > schema.get("maxLength", len(value)):
            yield f"{where}: {len(value)} characters, at most {schema['maxLength']}"
        if len(value) < schema.get("minLength", 0):
            yield f"{where}: {len(value)} characters, at least {schema['minLength']}"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where}: {value!r:.80} does not match {schema['pattern']}"
        known = FORMATS.get(schema.get("format"))
        if known and not known.fullmatch(value):
            yield f"{where}: {value!r:.80} is no {schema['format']}"

    @staticmethod
    def check_number(value, schema, where):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{where}: {value} is out of bounds"
        if schema.get("format") == "int32" and not -(2**31) <= value < 2**31:
            yield f"{where}: {value} is no int32"

    def check_object(self, value, schema, where):
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where}: lacks {name}"
        others = schema.get("additionalProperties", not properties)
        for name, member in value.items():
            if name in properties:
                yield from self.check(member, properties[name], f"{where}.{name}")
            elif isinstance(others, dict):
                yield from self.check(member, others, f"{where}.{name}")
            elif not others:
                yield f"{where}.{name}: is not documented"

"""Form bodies and queries: a[b][0]=c into nested values, and back to types by the operation's schema."""
import json
import pathlib
import re
import urllib.parse

from .errors import invalid

KEY = re.compile(r"^([^\[\]]+)((?:\[[^\[\]]*\])*)$")


def decode(text):
    """Decodes a form into nested dicts and lists of strings; raises a 400 for a malformed form."""
    tree = {}
    try:
        pairs = urllib.parse.parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict")
    except (ValueError, UnicodeDecodeError):
        raise invalid("The form cannot be read.") from None
    for name, value in pairs:
        match = KEY.match(name)
        if not match:
            raise invalid(f"Invalid parameter name: {name}", name)
        path = [match[1], *re.findall(r"\[([^\[\]]*)\]", match[2])]
        node = tree
        for part, following in zip(path, path[1:]):
            if part == "":
                part = str(len(node))
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise invalid(f"Invalid parameter: {name} has a value and members", name)
        last = path[-1] or str(len(node))
        if last in node:
            raise invalid(f"Parameter given twice: {name}", name)
        node[last] = value
    return arrays(tree)


def arrays(node):
    """Turns dicts with the keys 0..n-1 into lists."""
    if not isinstance(node, dict):
        return node
    keys = list(node)
    if keys and sorted(keys) == sorted(str(n) for n in range(len(keys))):
        return [arrays(node[str(n)]) for n in range(len(keys))]
    return {key: arrays(value) for key, value in node.items()}


class Schemas:
    """Parameter schemas of several API generations; a request must pass all of them."""

    def __init__(self, folder=None):
        self.generations = []
        for path in sorted(pathlib.Path(folder).glob("processor-operations-*.json")) if folder else []:
            data = json.loads(path.read_text())
            patterns = []
            for key, operation in data["operations"].items():
                method, template = key.split(" ", 1)
                pattern = re.compile("^" + re.sub(r"\{\w+\}", "[^/]+", template) + "$")
                patterns.append((template.count("{"), method, pattern, operation.get("params") or {}))
            patterns.sort(key=lambda entry: entry[0])  # /search before /{id}
            self.generations.append((data["api_version"], patterns, data["$defs"]))

    def check(self, method, path, params):
        """[(where, what is wrong)] over all generations; paths without a schema are not checked."""
        problems = []
        for version, patterns, defs in self.generations:
            for _, own, pattern, schema in patterns:
                if own == method and pattern.match(path):
                    problems += [(where, f"{text} ({version})") for where, text in problems_of(params, schema, defs, "")]
                    break
        return problems


def problems_of(value, schema, defs, where):
    """Checks like JSON Schema, but leaves are strings that must parse as the type."""
    while "$ref" in schema:
        schema = defs[schema["$ref"].rsplit("/", 1)[-1]]
    if "anyOf" in schema:
        tried = [problems_of(value, option, defs, where) for option in schema["anyOf"]]
        return [] if not all(tried) else min(tried, key=len)
    if "enum" in schema:
        known = [str(each).lower() if isinstance(each, bool) else str(each) for each in schema["enum"]]
        return [] if isinstance(value, str) and value in known else [(where, f"must be one of {', '.join(known)}")]
    kinds = schema.get("type")
    if kinds is None:
        return []
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if isinstance(value, dict):
        if "object" not in kinds and value:
            return [(where, "Invalid value: a map where none belongs")]
        return object_problems(value, schema, defs, where)
    if isinstance(value, list):
        if "array" not in kinds:
            return [(where, "Invalid array")]
        return [problem for n, each in enumerate(value)
                for problem in problems_of(each, schema.get("items", {}), defs, f"{where}[{n}]")]
    return [] if any(is_of_type(value, kind) for kind in kinds) else [(where, f"Invalid {' or '.join(kinds)}: {value!r}")]


def is_of_type(text, kind):
    if kind == "string":
        return True
    if kind == "integer":
        return re.fullmatch(r"-?\d+", text) is not None
    if kind == "number":
        return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None
    if kind == "boolean":
        return text in ("true", "false")
    return kind == "null" and text == ""


def object_problems(value, schema, defs, where):
    problems = []
    known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, each in value.items():
        inner = f"{where}[{name}]" if where else name
        if name in known:
            problems += problems_of(each, known[name], defs, inner)
        elif rest is False:
            problems.append((inner, "Received unknown parameter"))
        elif isinstance(rest, dict):
            problems += problems_of(each, rest, defs, inner)
    problems += [(f"{where}[{name}]" if where else name, "Missing required param")
                 for name in schema.get("required", []) if name not in value]
    return problems


class Params:
    """Typed access to a decoded form: p.int("amount"), p.sub("recurring").str("interval")."""

    def __init__(self, tree=None, prefix=""):
        self.tree = tree if isinstance(tree, dict) else {}
        self.prefix = prefix

    def name(self, key):
        return f"{self.prefix}[{key}]" if self.prefix else key

    def has(self, key):
        return key in self.tree

    def str(self, key, default=None, required=False, choices=None):
        value = self.tree.get(key)
        if value is None:
            if required:
                raise invalid(f"Missing required param: {self.name(key)}.", self.name(key), "parameter_missing")
            return default
        if not isinstance(value, str):
            raise invalid(f"Invalid string: {self.name(key)}", self.name(key))
        if required and value == "":
            raise invalid(f"You passed an empty string for '{self.name(key)}'.", self.name(key), "parameter_invalid_empty")
        if choices and value not in choices:
            raise invalid(f"Invalid {self.name(key)}: must be one of {', '.join(choices)}", self.name(key))
        return value if value != "" else None

    def int(self, key, default=None, required=False, least=None, most=None):
        text = self.str(key, required=required)
        if text is None:
            return default
        if not re.fullmatch(r"-?\d+", text):
            raise invalid(f"Invalid integer: {text}", self.name(key), "parameter_invalid_integer")
        value = int(text)
        if least is not None and value < least or most is not None and value > most:
            raise invalid(f"{self.name(key)} must be from {least} to {most}.", self.name(key), "parameter_invalid_integer")
        return value

    def number(self, key, default=None):
        text = self.str(key)
        if text is None:
            return default
        try:
            return float(text)
        except ValueError:
            raise invalid(f"Invalid decimal: {text}", self.name(key)) from None

    def bool(self, key, default=False):
        text = self.str(key)
        if text is None:
            return default
        if text not in ("true", "false"):
            raise invalid(f"Invalid boolean: {text}", self.name(key))
        return text == "true"

    def sub(self, key):
        return Params(self.tree.get(key), self.name(key))

    def subs(self, key):
        value = self.tree.get(key)
        return [Params(each, f"{self.name(key)}[{n}]") for n, each in enumerate(value)] if isinstance(value, list) else []

    def list(self, key):
        value = self.tree.get(key)
        return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

    def metadata(self, current=None):
        """The given metadata merged into `current`: an empty value removes a key, empty metadata removes all keys."""
        if self.tree.get("metadata") == "":
            return {}
        merged = dict(current or {})
        given = self.tree.get("metadata")
        if isinstance(given, list):  # keys 0, 1, 2 ...
            given = {str(n): value for n, value in enumerate(given)}
        for key, value in (given or {}).items():
            if not isinstance(value, str) or len(key) > 40 or len(value) > 500:
                raise invalid(f"Invalid metadata: {key}", f"metadata[{key}]")
            merged[key] = value
            if value == "":
                del merged[key]
        if len(merged) > 50:
            raise invalid("You may have up to 50 metadata keys.", "metadata")
        return merged

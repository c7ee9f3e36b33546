"""The operations, one file per group of objects. Importing the files fills the table of routes."""
import re

ROUTES = []


def route(method, template):
    """Registers a handler, which takes the request's context, its parameters, and the ids in the path."""
    pattern = re.compile("^" + re.sub(r"\{\w+\}", "([^/]+)", template) + "$")

    def register(run):
        ROUTES.append((method, pattern, run, template.count("{")))
        ROUTES.sort(key=lambda each: each[3])
        return run

    return register


def find(method, path):
    """(handler, ids); the handler is None when no route has that path."""
    for own, pattern, run, _ in ROUTES:
        match = pattern.match(path)
        if own == method and match:
            return run, match.groups()
    return None, ()


from . import accounts, billing, catalog, checkout, customers, intents, lists  # noqa: E402,F401

"""The operations, one file a group of objects; importing them fills the table of routes."""
import re

ROUTES = []


def route(method, template):
    """The handler takes the request's context, its parameters, and the path's ids."""
    pattern = re.compile("^" + re.sub(r"\{\w+\}", "([^/]+)", template) + "$")

    def register(run):
        ROUTES.append((method, pattern, run, template.count("{")))
        ROUTES.sort(key=lambda each: each[3])
        return run

    return register


def find(method, path):
    """(handler, ids); the handler is None when nothing has that path."""
    for own, pattern, run, _ in ROUTES:
        match = pattern.match(path)
        if own == method and match:
            return run, match.groups()
    return None, ()


from . import accounts, billing, catalog, checkout, customers, intents, lists  # noqa: E402,F401

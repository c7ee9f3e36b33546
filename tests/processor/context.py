"""The context of one request: its account, the account's objects, and the events that the request emits."""
from .errors import invalid, missing
from .render import listing, render, snapshot
from .store import new_id


class Context:
    """`account`: the owner of the objects (Stripe-Account, else the key's own account). `platform`: the key's account."""

    def __init__(self, processor, platform, account, api="dahlia", request_id=None, key=None):
        self.processor = processor
        self.store = processor.store
        self.platform = platform
        self.account = account
        self.api = api
        self.request_id = request_id
        self.key = key  # idempotency key
        self.url = processor.url

    def for_account(self, account):
        """A copy of the context for another account."""
        return Context(self.processor, self.platform, account, self.api, self.request_id, self.key)

    @property
    def is_connected(self):
        return self.account != self.platform

    def now(self):
        return self.store.now()

    def make(self, kind, **values):
        """Creates and stores an object."""
        obj = {"id": new_id(kind), "object": kind, "created": self.now(), "livemode": False, **values}
        return self.store.add(self.account, obj)

    def get(self, kind, id_, param=None):
        """An object that a parameter names."""
        found = self.store.find(self.account, kind, id_)
        if not found or found.get("deleted"):
            raise missing(kind.replace("_", " ").replace(".", " "), id_, param or kind)
        return found

    def get_by_path(self, kind, id_):
        """An object that the path names."""
        found = self.store.find(self.account, kind, id_)
        if not found or found.get("deleted"):
            raise missing(kind.replace("_", " ").replace(".", " "), id_, in_path=True)
        return found

    def emit(self, type_, obj, previous=None):
        """Emits an event of this account to the webhook endpoints."""
        self.store.changed = True
        return self.processor.webhooks.emit(self, type_, snapshot(obj), previous)

    def show(self, obj, p=None):
        return render(self.store, self.account, obj, self.api, p.list("expand") if p else ())

    def page(self, kind, p, url, keep=lambda obj: True):
        """A page of a list, newest first."""
        limit = p.int("limit", 10, least=1, most=100)
        found = [obj for obj in reversed(self.store.all(self.account, kind)) if not obj.get("deleted") and keep(obj)]
        created = p.sub("created")
        for name, test in (("gt", lambda a, b: a > b), ("gte", lambda a, b: a >= b), ("lt", lambda a, b: a < b),
                           ("lte", lambda a, b: a <= b)):
            bound = created.int(name)
            if bound is not None:
                found = [obj for obj in found if test(obj["created"], bound)]
        ids = [obj["id"] for obj in found]
        after, before = p.str("starting_after"), p.str("ending_before")
        for name, given in (("starting_after", after), ("ending_before", before)):
            if given and given not in ids:
                raise invalid(f"No such {kind}: '{given}'", name, "resource_missing")
        if after:
            found = found[ids.index(after) + 1 :]
            page, more = found[:limit], len(found) > limit
        elif before:
            found = found[: ids.index(before)]
            page, more = found[-limit:], len(found) > limit
        else:
            page, more = found[:limit], len(found) > limit
        inner = [path.removeprefix("data.") for path in p.list("expand") if path.startswith("data.")]
        return listing([render(self.store, self.account, obj, self.api, inner) for obj in page], url, more)

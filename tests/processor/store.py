"""All state of the test processor: objects by account, keys, idempotent results, events, endpoints."""
import json
import os
import secrets
import string
import threading
import time

ALPHABET = string.ascii_letters + string.digits
PREFIXES = {
    "account": "acct_", "customer": "cus_", "payment_intent": "pi_", "charge": "ch_", "refund": "re_",
    "setup_intent": "seti_", "payment_method": "pm_", "product": "prod_", "price": "price_", "coupon": "coupon_",
    "checkout.session": "cs_test_", "subscription": "sub_", "subscription_item": "si_", "invoice": "in_",
    "invoice_payment": "inpay_", "balance_transaction": "txn_", "event": "evt_", "application_fee": "fee_",
    "line_item": "il_", "dispute": "dp_", "billing_portal.session": "bps_",
}


def new_id(kind):
    length = {"account": 16, "checkout.session": 58, "customer": 14, "product": 14}.get(kind, 24)
    return PREFIXES[kind] + "".join(secrets.choice(ALPHABET) for _ in range(length))


class Store:
    """The state. Hold .lock for every access. `path`: a JSON file that stores the state across restarts."""

    def __init__(self, path=None):
        self.lock = threading.RLock()
        self.path = path
        self.changed = False
        self.offset = 0          # seconds that the clock was advanced
        self.keys = {}           # secret key -> account of the platform
        self.parents = {}        # connected account -> platform
        self.spaces = {}         # account -> object kind -> id -> object
        self.results = {}        # "<account> <key>" -> idempotent result
        self.endpoints = []
        self.deliveries = []     # deliveries that are not finished
        self.links = {}          # onboarding links
        if path and path.exists():
            kept = json.loads(path.read_text())
            for name, value in kept.items():
                setattr(self, name, value)

    SAVED_MEMBERS = ("offset", "keys", "parents", "spaces", "results", "endpoints", "deliveries", "links")

    def save(self):
        """Writes the changes since the last call, atomically."""
        with self.lock:
            if not self.path or not self.changed:
                return
            self.changed = False
            text = json.dumps({name: getattr(self, name) for name in self.SAVED_MEMBERS})
        new = self.path.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(text)
        os.replace(new, self.path)

    def now(self):
        return int(time.time()) + self.offset

    # --- objects ---

    def space(self, account):
        return self.spaces.setdefault(account, {})

    def add(self, account, obj):
        self.space(account).setdefault(obj["object"], {})[obj["id"]] = obj
        self.changed = True
        return obj

    def find(self, account, kind, id_):
        return self.spaces.get(account, {}).get(kind, {}).get(id_)

    def find_any(self, account, id_):
        """An object of any kind, for `expand`."""
        for objects in self.spaces.get(account, {}).values():
            if id_ in objects:
                return objects[id_]
        return None

    def all(self, account, kind):
        """All objects of a kind, oldest first."""
        return list(self.spaces.get(account, {}).get(kind, {}).values())

    def find_owner(self, kind, id_):
        """(account, object) in any account; (None, None) when no account has the object."""
        for account, kinds in self.spaces.items():
            if id_ in kinds.get(kind, {}):
                return account, kinds[kind][id_]
        return None, None

    def remove(self, account, obj):
        self.space(account)[obj["object"]].pop(obj["id"], None)
        self.changed = True

    def platform_of(self, account):
        return self.parents.get(account, account)

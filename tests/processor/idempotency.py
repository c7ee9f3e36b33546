"""Idempotency keys: one result per key for 24 hours, also when it was an error."""
import hashlib
import json

from .errors import ApiError, invalid

RETENTION_SECONDS = 86400


class Results:
    """The results in the store, by account and key. Call the methods under the store's lock."""

    def __init__(self, store):
        self.store = store

    def begin(self, account, key, method, path, tree):
        """The stored (status, body) of this key, or None: then this request holds the key until end() or forget()."""
        if len(key) > 255:
            raise invalid("Idempotency keys are at most 255 characters.")
        self.remove_expired()
        digest = hashlib.sha256(json.dumps([method, path, tree], sort_keys=True).encode()).hexdigest()
        place = f"{account} {key}"
        kept = self.store.results.get(place)
        if kept:
            if kept["digest"] != digest:
                raise ApiError(400, "idempotency_error", "Keys for idempotent requests can only be used with the same "
                               f"parameters they were first used with. Try using a key other than '{key}' if you meant to "
                               "execute a different request.")
            if kept["status"] is None:
                raise ApiError(409, "invalid_request_error", "There is currently another in-progress request using this "
                               f"Idempotency Key ({key}).", "idempotency_key_in_use")
            return kept["status"], kept["body"]
        self.store.results[place] = {"digest": digest, "status": None, "body": None, "at": self.store.now()}
        return None

    def end(self, account, key, status, body):
        self.store.results[f"{account} {key}"].update(status=status, body=body)
        self.store.changed = True

    def forget(self, account, key):
        self.store.results.pop(f"{account} {key}", None)

    def remove_expired(self):
        oldest = self.store.now() - RETENTION_SECONDS
        for place in [place for place, kept in self.store.results.items() if kept["at"] < oldest]:
            del self.store.results[place]

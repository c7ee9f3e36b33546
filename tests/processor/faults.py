"""Faults that tests can cause, by request."""
import fnmatch
import threading

KINDS = ("status", "timeout", "reset", "delay", "garbage")


class Faults:
    """Each fault meets the next `times` requests that match it.

    kind      status   answers `status` (500)            timeout  never answers (closes the connection after `seconds`)
              reset    closes with a TCP reset           delay    waits `seconds` or until clear(), with the idempotency key in use
              garbage  200 with a body that is not JSON
    act       the fault happens after the work is done (default True for timeout, reset, garbage)
    stored    the answer is stored for the idempotency key (default for `status`: only a 500)
    header    value of Stripe-Should-Retry
    method, path (with * and ?), account, skip (how many matching requests pass first)
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.cleared = threading.Condition(self.lock)
        self.clearings = 0
        self.list = []

    def add(self, kind, times=1, method="*", path="*", account=None, status=500, seconds=None, act=None, stored=None,
            header=None, skip=0):
        assert kind in KINDS, kind
        if act is None:
            act = kind in ("timeout", "reset", "garbage", "delay")
        if stored is None:
            stored = kind != "status" or status == 500
        if seconds is None:
            seconds = 1.0 if kind == "delay" else 120.0
        with self.lock:
            self.list.append({"kind": kind, "times": times, "method": method, "path": path, "account": account,
                              "status": status, "seconds": seconds, "act": act, "stored": stored, "header": header,
                              "skip": skip})

    def clear(self):
        with self.lock:
            self.list.clear()
            self.clearings += 1
            self.cleared.notify_all()

    def wait(self, fault):
        """Waits for the time of a delay."""
        with self.lock:
            self.cleared.wait_for(lambda: self.clearings > fault["clearings"], fault["seconds"])

    def remaining(self):
        with self.lock:
            return [dict(each) for each in self.list]

    def claim(self, method, path, account):
        with self.lock:
            for fault in self.list:
                if not fnmatch.fnmatchcase(method, fault["method"]) or not fnmatch.fnmatchcase(path, fault["path"]):
                    continue
                if fault["account"] not in (None, account):
                    continue
                if fault["skip"]:
                    fault["skip"] -= 1
                    continue
                fault["times"] -= 1
                if not fault["times"]:
                    self.list.remove(fault)
                return {**fault, "clearings": self.clearings}
        return None

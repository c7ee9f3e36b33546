"""Faults of both simulated push providers that tests can cause, by request."""
import concurrent.futures
import fnmatch
import threading


class Faults:
    """Each fault meets the next `times` requests (None: all) that match it.

    kind      status   answers `status` with the provider's error and `code`; `html=True`: with an HTML page instead;
                       `retry_after`: sets that header
              garbage  200 with a page
              delay    does the work after `seconds`
              hold     does the work when release() or clear() is called, which completes the future `held`
              hang     never answers
              drop     closes the connection without an answer; `act=True`: the work is done first
              further kinds: see fcm.py and webpush.py
    on        "send" or "token" (FCM's token endpoint)
    token     of the device or the id of the subscription, with * and ?
    skip      how many matching requests pass first
    """

    COMMON = ("status", "garbage", "delay", "hold", "hang", "drop")

    def __init__(self, *more):
        self.kinds = (*self.COMMON, *more)
        self.lock = threading.Lock()
        self.list = []
        self.held = concurrent.futures.Future()

    def add(self, kind, times=1, on="send", token="*", status=500, code=None, html=False, retry_after=None, seconds=1.0,
            act=False, skip=0):
        assert kind in self.kinds, f"{kind} is none of {self.kinds}"
        with self.lock:
            self.list.append({"kind": kind, "times": times, "on": on, "token": token, "status": status, "code": code,
                              "html": html, "retry_after": retry_after, "seconds": seconds, "act": act, "skip": skip})

    def release_held(self):
        """Continues the held requests; later requests are held."""
        with self.lock:
            held, self.held = self.held, concurrent.futures.Future()
        held.set_result(None)

    def clear(self):
        with self.lock:
            self.list.clear()
        self.release_held()

    def remaining(self):
        with self.lock:
            return [dict(each) for each in self.list]

    def claim(self, on, token):
        with self.lock:
            for fault in self.list:
                if fault["on"] != on or not fnmatch.fnmatchcase(token or "", fault["token"]):
                    continue
                if fault["skip"]:
                    fault["skip"] -= 1
                    continue
                if fault["times"] is not None:
                    fault["times"] -= 1
                    if not fault["times"]:
                        self.list.remove(fault)
                return {**fault, "held": self.held}
        return None

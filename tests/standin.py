"""The client of a stand-in (a simulated external service) that runs in another process."""
import json
import time
import urllib.error
import urllib.request


class Remote:
    """Remote(url).complete(session="cs_...") posts to /_control/complete, Remote(url, "fcm").fault(...) to /_control/fcm/fault."""

    def __init__(self, url, part=""):
        self.base = f"{url}/_control/{part}/" if part else f"{url}/_control/"

    def __getattr__(self, name):
        def call(**arguments):
            request = urllib.request.Request(self.base + name, json.dumps(arguments).encode(), method="POST")
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.loads(answer.read())["result"]
            except urllib.error.HTTPError as error:
                raise AssertionError(f"{name}: {error.code} {error.read().decode(errors='replace')}") from None

        return call

    def wait(self, seconds=60):
        """Waits until the stand-in answers."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self.ping()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

"""What is promised within a second: asked again until it holds. Every keep-alive connection stays with one
worker, so a change made through one client may reach the worker of another a moment later."""
import time

PROMISE = 1.0  # seconds within which every gateway follows a change
SLACK = 0.5    # for a test machine that does other things too
SETTLED = 2.0  # seconds after which every worker has followed, on such a machine too


def settle():
    """Until every gateway and runner follows what was just changed, where nothing tells that it does."""
    time.sleep(SETTLED)


def soon(call, status, within=PROMISE + SLACK):
    """Repeats `call` until its answer has the status (or one of several); returns the answer."""
    wanted = status if isinstance(status, (tuple, set, list)) else (status,)
    end = time.monotonic() + within
    while True:
        response = call()
        if response.status_code in wanted:
            return response
        assert time.monotonic() < end, (
            f"{response.request.method} {response.url}: still {response.status_code} after {within} s, "
            f"expected {status}: {response.text[:1000]}"
        )
        time.sleep(0.02)

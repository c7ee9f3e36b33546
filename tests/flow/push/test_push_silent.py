"""Push services that never answer, or whose answers never end (D15): a request takes at most as long as the dispatcher's settings allow."""
import json

import pytest


@pytest.mark.parametrize("fault", [dict(kind="hang"), dict(kind="drip", seconds=0.1)], ids=lambda fault: fault["kind"])
def test_web_push_that_is_silent(pushing, start_dispatcher, push_service, fault):
    daemon = start_dispatcher(PUSH_TIMEOUT_MS=5000)
    subscription, device = pushing.browser()
    good, _ = pushing.browser()
    push_service.fault(token=json.loads(subscription)["endpoint"].rpartition("/")[2], times=2, **fault)
    log = pushing.ended(pushing.send(), 20)
    assert (log["status"], log["first_error"], log["web_delivered"], log["web_failed"]) == ("Partial", "TIMEOUT", 1, 1)
    assert pushing.live(device) and push_service.messages(good)
    daemon.stop()

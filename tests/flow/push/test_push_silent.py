"""Push services that never answer, or whose answers never end (D15): a request takes at most as long as the dispatcher's settings allow."""
import json

import pytest


@pytest.mark.parametrize("fault", [dict(kind="hang"), dict(kind="drip", seconds=0.1)], ids=lambda fault: fault["kind"])
def test_web_push_that_is_silent(push_project, start_dispatcher, push_service, fault):
    daemon = start_dispatcher(PUSH_TIMEOUT_MS=5000)
    subscription, device = push_project.browser()
    good, _ = push_project.browser()
    push_service.fault(token=json.loads(subscription)["endpoint"].rpartition("/")[2], times=2, **fault)
    log = push_project.wait_ended(push_project.send(), 20)
    assert (log["status"], log["first_error"], log["web_delivered"], log["web_failed"]) == ("Partial", "TIMEOUT", 1, 1)
    assert push_project.is_live(device) and push_service.messages(good)
    daemon.stop()

"""Error answers of the processor."""


class ApiError(Exception):
    """`executed`: the work had begun, so the answer is stored for the idempotency key."""

    def __init__(self, status, type_, message, code=None, param=None, executed=False, **more):
        super().__init__(message)
        self.status = status
        self.executed = executed
        self.error = {"type": type_, "message": message}
        if code:
            self.error["code"] = code
            self.error["doc_url"] = f"https://stripe.com/docs/error-codes/{code.replace('_', '-')}"
        if param:
            self.error["param"] = param
        self.error.update({key: value for key, value in more.items() if value is not None})

    def body(self):
        return {"error": self.error}


def invalid(message, param=None, code=None, status=400, executed=False, **more):
    return ApiError(status, "invalid_request_error", message, code, param, executed, **more)


def missing(what, id_, param=None, in_path=False):
    """The account has no such object: 404 when the path names the object, else 400."""
    return invalid(f"No such {what}: '{id_}'", "id" if in_path else param, "resource_missing", 404 if in_path else 400)


def unexpected_state(message, **more):
    return invalid(message, code="payment_intent_unexpected_state", executed=True, **more)


def declined(code, message, decline_code=None, **more):
    return ApiError(402, "card_error", message, code, executed=True, decline_code=decline_code, **more)


STATUS_ERRORS = {  # the error of each status that a fault can cause
    400: ("invalid_request_error", "parameter_invalid", "As asked: a bad request."),
    401: ("invalid_request_error", None, "As asked: a bad key."),
    402: ("card_error", "card_declined", "Your card was declined."),
    403: ("invalid_request_error", "account_invalid", "As asked: not this account's."),
    404: ("invalid_request_error", "resource_missing", "As asked: no such object."),
    409: ("invalid_request_error", "lock_timeout", "As asked: another request holds this object."),
    424: ("api_error", None, "As asked: somebody else's fault."),
    429: ("invalid_request_error", "rate_limit", "As asked: too many requests."),
}


def status_error(status):
    type_, code, message = STATUS_ERRORS.get(status, ("api_error", None, "As asked: an error of the processor."))
    return ApiError(status, type_, message, code)

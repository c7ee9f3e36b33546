"""Customers, their payment methods, and setting up methods without a charge."""
from . import route
from .. import cards
from ..errors import invalid, missing
from ..store import new_id

FIELDS = ("email", "name", "phone", "description")


@route("POST", "/v1/customers")
def create(ctx, p):
    customer = ctx.make(
        "customer", **{name: p.str(name) for name in FIELDS}, metadata=p.metadata(), balance=0, currency=None,
        address=None, default_source=None, delinquent=False, discount=None, preferred_locales=[], shipping=None,
        invoice_prefix=new_id("event")[4:12].upper(), tax_exempt="none", next_invoice_sequence=1, test_clock=None,
        invoice_settings={"custom_fields": None, "default_payment_method": None, "footer": None})
    if p.has("payment_method"):
        attach(ctx, find_method(ctx, p.str("payment_method")), customer)
    ctx.emit("customer.created", customer)
    return ctx.show(customer, p)


@route("GET", "/v1/customers/{id}")
def get(ctx, p, id_):
    found = ctx.store.find(ctx.account, "customer", id_)
    if found and found.get("deleted"):
        return {"id": id_, "object": "customer", "deleted": True}
    return ctx.show(ctx.get_by_path("customer", id_), p)


@route("POST", "/v1/customers/{id}")
def update(ctx, p, id_):
    customer = ctx.get_by_path("customer", id_)
    for name in FIELDS:
        if p.has(name):
            customer[name] = p.str(name)
    customer["metadata"] = p.metadata(customer["metadata"])
    default = p.sub("invoice_settings").str("default_payment_method")
    if default:
        customer["invoice_settings"]["default_payment_method"] = ctx.get("payment_method", default)["id"]
    ctx.emit("customer.updated", customer)
    return ctx.show(customer, p)


@route("DELETE", "/v1/customers/{id}")
def delete(ctx, _p, id_):
    customer = ctx.get_by_path("customer", id_)
    customer["deleted"] = True
    ctx.emit("customer.deleted", customer)
    return {"id": id_, "object": "customer", "deleted": True}


@route("GET", "/v1/customers")
def list_customers(ctx, p):
    email = p.str("email")  # exact, with its case
    return ctx.page("customer", p, "/v1/customers", lambda each: email is None or each["email"] == email)


# --- payment methods -------------------------------------------------------------------------------


def make_method(ctx, text, email=None):
    """A new method of a test card (a number or a name); None when there is no such card."""
    found = cards.find(text)
    if not found:
        return None
    number, brand, behaviour = found
    values = {"type": "card", "billing_details": {"email": email, "name": None, "phone": None, "address": None},
              "customer": None, "metadata": {}, "allow_redisplay": "unspecified", "_behaviour": behaviour, "_set_up": False}
    if brand == "us_bank_account":
        values.update(type=brand, us_bank_account={"last4": number[-4:], "bank_name": "STRIPE TEST BANK",
                                                   "account_type": "checking", "account_holder_type": "individual"})
    else:
        values["card"] = {"brand": brand, "last4": number[-4:], "exp_month": 12, "exp_year": 2034, "funding": "credit",
                          "country": "US", "fingerprint": f"fp{number[-8:]}", "wallet": None, "display_brand": brand,
                          "checks": {"cvc_check": "pass"}, "networks": {"available": [brand], "preferred": None},
                          "three_d_secure_usage": {"supported": True}, "generated_from": None}
    return ctx.make("payment_method", **values)


def find_method(ctx, id_, param="payment_method"):
    """The payment method that a parameter names: a method of this account, or a test card by its name."""
    method = ctx.store.find(ctx.account, "payment_method", id_) or make_method(ctx, id_)
    if not method:
        raise missing("PaymentMethod", id_, param)
    if method.get("_detached"):
        raise invalid("This PaymentMethod was previously used without being attached to a Customer or was detached "
                      "from a Customer, and may not be used again.", param)
    return method


def attach(ctx, method, customer):
    if method["customer"] == customer["id"]:
        return method
    if method["customer"]:
        raise invalid("The payment method you provided has already been attached to a customer.", "payment_method")
    if method["_behaviour"] in cards.DECLINES:
        raise cards.decline(method["_behaviour"])
    method["customer"] = customer["id"]
    ctx.emit("payment_method.attached", method)
    return method


@route("GET", "/v1/payment_methods/{id}")
def get_method(ctx, p, id_):
    return ctx.show(ctx.get_by_path("payment_method", id_), p)


@route("POST", "/v1/payment_methods/{id}")
def update_method(ctx, p, id_):
    method = ctx.get_by_path("payment_method", id_)
    method["metadata"] = p.metadata(method["metadata"])
    ctx.emit("payment_method.updated", method)
    return ctx.show(method, p)


@route("GET", "/v1/payment_methods")
def list_methods(ctx, p):
    return methods_of(ctx, p, p.str("customer"), "/v1/payment_methods")


@route("GET", "/v1/customers/{id}/payment_methods")
def list_of_customer(ctx, p, id_):
    ctx.get_by_path("customer", id_)
    return methods_of(ctx, p, id_, f"/v1/customers/{id_}/payment_methods")


def methods_of(ctx, p, customer, url):
    type_ = p.str("type")
    return ctx.page("payment_method", p, url, lambda each: each["customer"] and (not customer or each["customer"] == customer)
                    and (not type_ or each["type"] == type_))


@route("GET", "/v1/customers/{customer}/payment_methods/{id}")
def get_of_customer(ctx, p, customer, id_):
    ctx.get_by_path("customer", customer)
    method = ctx.get_by_path("payment_method", id_)
    if method["customer"] != customer:
        raise missing("PaymentMethod", id_, in_path=True)
    return ctx.show(method, p)


@route("POST", "/v1/payment_methods/{id}/attach")
def attach_method(ctx, p, id_):
    customer = ctx.get("customer", p.str("customer", required=True))
    return ctx.show(attach(ctx, find_method(ctx, id_, "id"), customer), p)


@route("POST", "/v1/payment_methods/{id}/detach")
def detach_method(ctx, p, id_):
    method = ctx.get_by_path("payment_method", id_)
    if not method["customer"]:
        raise invalid("The payment method you provided is not attached to a customer so detachment is impossible.")
    previous, method["customer"], method["_detached"] = method["customer"], None, True
    ctx.emit("payment_method.detached", method, {"customer": previous})
    return ctx.show(method, p)


# --- setup intents ---------------------------------------------------------------------------------


@route("POST", "/v1/setup_intents")
def create_setup(ctx, p):
    customer = p.str("customer")
    if customer:
        ctx.get("customer", customer)
    intent = new_setup(ctx, customer, p.metadata(), p.str("usage", "off_session", choices=("off_session", "on_session")))
    if p.has("payment_method"):
        intent["payment_method"] = find_method(ctx, p.str("payment_method"))["id"]
        intent["status"] = "requires_confirmation"
    if p.bool("confirm"):
        confirm(ctx, intent)
    return ctx.show(intent, p)


def new_setup(ctx, customer, metadata, usage="off_session"):
    intent = ctx.make("setup_intent", customer=customer, status="requires_payment_method", usage=usage, metadata=metadata,
                      payment_method=None, last_setup_error=None, next_action=None, description=None, latest_attempt=None,
                      cancellation_reason=None, payment_method_types=["card"], automatic_payment_methods={"enabled": True},
                      mandate=None, application=None, on_behalf_of=None)
    intent["client_secret"] = f"{intent['id']}_secret_{new_id('event')[4:]}"
    ctx.emit("setup_intent.created", intent)
    return intent


@route("GET", "/v1/setup_intents/{id}")
def get_setup(ctx, p, id_):
    return ctx.show(ctx.get_by_path("setup_intent", id_), p)


@route("POST", "/v1/setup_intents/{id}")
def update_setup(ctx, p, id_):
    intent = ctx.get_by_path("setup_intent", id_)
    intent["metadata"] = p.metadata(intent["metadata"])
    return ctx.show(intent, p)


@route("POST", "/v1/setup_intents/{id}/confirm")
def confirm_setup(ctx, p, id_):
    intent = ctx.get_by_path("setup_intent", id_)
    if intent["status"] in ("succeeded", "canceled"):
        raise invalid(f"You cannot confirm this SetupIntent because it has a status of {intent['status']}.",
                      code="setup_intent_unexpected_state", executed=True)
    if p.has("payment_method"):
        intent["payment_method"] = find_method(ctx, p.str("payment_method"))["id"]
    confirm(ctx, intent)
    return ctx.show(intent, p)


@route("POST", "/v1/setup_intents/{id}/cancel")
def cancel_setup(ctx, p, id_):
    intent = ctx.get_by_path("setup_intent", id_)
    if intent["status"] in ("succeeded", "canceled"):
        raise invalid("This SetupIntent cannot be canceled.", code="setup_intent_unexpected_state", executed=True)
    intent.update(status="canceled", cancellation_reason=p.str("cancellation_reason"))
    ctx.emit("setup_intent.canceled", intent)
    return ctx.show(intent, p)


def confirm(ctx, intent):
    """Sets up the intent's method: attaches it to its customer, or raises the card's error."""
    if not intent["payment_method"]:
        raise invalid("You cannot confirm this SetupIntent because it's missing a payment method.", "payment_method")
    method = ctx.get("payment_method", intent["payment_method"])
    if method["_behaviour"] in cards.DECLINES:
        error = cards.decline(method["_behaviour"])
        fail(ctx, intent, error.error, method)
        raise error
    succeed(ctx, intent, method)


def succeed(ctx, intent, method):
    method["_set_up"] = True
    intent.update(status="succeeded", payment_method=method["id"], last_setup_error=None, next_action=None)
    if intent["customer"]:
        attach(ctx, method, ctx.get("customer", intent["customer"]))
    ctx.emit("setup_intent.succeeded", intent)


def fail(ctx, intent, error, method):
    intent.update(status="requires_payment_method", payment_method=None,
                  last_setup_error={**error, "payment_method": ctx.show(method)})
    ctx.emit("setup_intent.setup_failed", intent)

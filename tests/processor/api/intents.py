"""Payment intents, and their charges and refunds."""
from . import route
from .catalog import currency
from .customers import attach, find_method
from .. import cards
from ..errors import ApiError, invalid, unexpected_state
from ..store import new_id

SMALLEST = {"usd": 50, "eur": 50, "gbp": 30, "jpy": 50, "cad": 50, "aud": 50, "chf": 50, "sgd": 50, "mxn": 1000}
LARGEST = 99999999
OPEN = ("requires_payment_method", "requires_confirmation", "requires_action")
METHOD_MISSING = "You cannot confirm this PaymentIntent because it's missing a payment method."


def check_amount(amount, code, param="amount"):
    if amount < SMALLEST.get(code, 1):
        raise invalid("Amount must convert to at least 50 cents.", param, "amount_too_small")
    if amount > LARGEST:
        raise invalid("Amount must be no more than $999,999.99.", param, "amount_too_large")
    if code in ("isk", "ugx") and amount % 100 or code in ("bhd", "jod", "kwd", "omr", "tnd") and amount % 10:
        raise invalid(f"Invalid amount for {code}: its last digits must be zero.", param, "parameter_invalid_integer")
    return amount


def check_fee(ctx, fee, amount, param="application_fee_amount"):
    """An application's fee: only on behalf of a connected account, at most the amount."""
    if fee is None:
        return None
    if not ctx.is_connected:
        raise invalid("Can only apply an application_fee_amount when the PaymentIntent is attempting a direct payment "
                      "(using an OAuth key or Stripe-Account header) or destination payment.", param)
    if fee < 1 or fee > amount:
        raise invalid("The application fee must be positive and cannot exceed the amount.", param)
    return fee


def check_account(ctx):
    """Fails unless the account has completed its onboarding; only then it can accept payments."""
    account = ctx.store.find(ctx.account, "account", ctx.account)
    if account and not account["charges_enabled"]:
        raise invalid("Your account cannot currently make charges: its onboarding is not complete.",
                      code="account_invalid", status=403)


def new_intent(ctx, amount, code, **values):
    check_account(ctx)
    intent = ctx.make("payment_intent", **{
        "amount": amount, "amount_capturable": 0, "amount_received": 0, "amount_details": {"tip": {}},
        "currency": code, "customer": None, "description": None, "metadata": {}, "payment_method": None,
        "payment_method_types": ["card"], "payment_method_options": {}, "receipt_email": None,
        "automatic_payment_methods": {"enabled": True, "allow_redirects": "always"}, "application": None,
        "application_fee_amount": None, "canceled_at": None, "cancellation_reason": None, "capture_method": "automatic",
        "confirmation_method": "automatic", "last_payment_error": None, "latest_charge": None, "next_action": None,
        "on_behalf_of": None, "processing": None, "review": None, "setup_future_usage": None, "shipping": None,
        "statement_descriptor": None, "statement_descriptor_suffix": None, "status": "requires_payment_method",
        "transfer_data": None, "transfer_group": None, "_key": ctx.key, **values})
    intent["client_secret"] = f"{intent['id']}_secret_{new_id('event')[4:]}"
    ctx.emit("payment_intent.created", intent)
    return intent


@route("POST", "/v1/payment_intents")
def create(ctx, p):
    amount = p.int("amount", required=True)
    code = currency(p)
    check_amount(amount, code)
    customer = p.str("customer") and ctx.get("customer", p.str("customer"))["id"]
    if p.bool("off_session") and not p.bool("confirm"):
        raise invalid("You can only set off_session when confirming.", "off_session")
    method = find_method(ctx, p.str("payment_method")) if p.str("payment_method") else None
    check_method(customer, method)
    values = dict(customer=customer, description=p.str("description"), metadata=p.metadata(),
                  application_fee_amount=check_fee(ctx, p.int("application_fee_amount"), amount),
                  capture_method=p.str("capture_method", "automatic", choices=("automatic", "automatic_async", "manual")),
                  receipt_email=p.str("receipt_email"), setup_future_usage=p.str("setup_future_usage"))
    if p.bool("confirm") and not method:
        raise invalid(METHOD_MISSING, "payment_method", "parameter_missing")
    intent = new_intent(ctx, amount, code, **values)
    if method:
        intent.update(payment_method=method["id"], status="requires_confirmation")
    if p.bool("confirm"):
        confirm(ctx, intent, off_session=p.bool("off_session"), return_url=p.str("return_url"))
    return ctx.show(intent, p)


def check_method(customer, method):
    if method and method["customer"] and method["customer"] != customer:
        raise invalid("The provided PaymentMethod belongs to another Customer (or you did not name its Customer). "
                      "Please include the Customer in the `customer` parameter.", "payment_method")


@route("GET", "/v1/payment_intents/{id}")
def get(ctx, p, id_):
    return ctx.show(ctx.get_by_path("payment_intent", id_), p)


@route("GET", "/v1/payment_intents")
def list_intents(ctx, p):
    customer = p.str("customer")
    return ctx.page("payment_intent", p, "/v1/payment_intents", lambda each: not customer or each["customer"] == customer)


@route("POST", "/v1/payment_intents/{id}")
def update(ctx, p, id_):
    intent = ctx.get_by_path("payment_intent", id_)
    if p.has("amount"):
        if intent["status"] not in OPEN:
            raise unexpected_state("This PaymentIntent's amount could not be updated because it has a status of "
                                   f"{intent['status']}.")
        intent["amount"] = check_amount(p.int("amount"), intent["currency"])
    for name in ("description", "receipt_email"):
        if p.has(name):
            intent[name] = p.str(name)
    intent["metadata"] = p.metadata(intent["metadata"])
    if p.str("payment_method"):
        intent["payment_method"] = find_method(ctx, p.str("payment_method"))["id"]
    ctx.store.changed = True
    return ctx.show(intent, p)


@route("POST", "/v1/payment_intents/{id}/confirm")
def confirm_intent(ctx, p, id_):
    intent = ctx.get_by_path("payment_intent", id_)
    if intent["status"] not in OPEN:
        raise unexpected_state("You cannot confirm this PaymentIntent because it has already "
                               f"{'succeeded' if intent['status'] == 'succeeded' else 'been ' + intent['status']}.",
                               payment_intent=ctx.show(intent))
    if p.str("payment_method"):
        method = find_method(ctx, p.str("payment_method"))
        check_method(intent["customer"], method)
        intent["payment_method"] = method["id"]
    if not intent["payment_method"]:
        raise invalid(METHOD_MISSING, "payment_method", "parameter_missing")
    confirm(ctx, intent, off_session=p.bool("off_session"), return_url=p.str("return_url"))
    return ctx.show(intent, p)


@route("POST", "/v1/payment_intents/{id}/capture")
def capture_intent(ctx, p, id_):
    intent = ctx.get_by_path("payment_intent", id_)
    if intent["status"] != "requires_capture":
        raise unexpected_state(f"This PaymentIntent could not be captured because it has a status of {intent['status']}. "
                               "Only a PaymentIntent with one of the following statuses may be captured: requires_capture.",
                               payment_intent=ctx.show(intent))
    amount = p.int("amount_to_capture", intent["amount_capturable"], least=1)
    if amount > intent["amount_capturable"]:
        raise invalid("The amount to capture is above the amount that can be captured.", "amount_to_capture",
                      "amount_too_large")
    fee = p.int("application_fee_amount", intent["application_fee_amount"])
    intent["application_fee_amount"] = check_fee(ctx, fee, amount)
    charge = ctx.get("charge", intent["latest_charge"])
    settle_charge(ctx, intent, charge, amount)
    ctx.emit("charge.captured", charge)
    ctx.emit("payment_intent.succeeded", intent)
    return ctx.show(intent, p)


@route("POST", "/v1/payment_intents/{id}/cancel")
def cancel_intent(ctx, p, id_):
    intent = ctx.get_by_path("payment_intent", id_)
    if intent["status"] not in (*OPEN, "requires_capture", "processing"):
        raise unexpected_state(f"You cannot cancel this PaymentIntent because it has a status of {intent['status']}.",
                               payment_intent=ctx.show(intent))
    intent.update(status="canceled", canceled_at=ctx.now(), amount_capturable=0, next_action=None,
                  cancellation_reason=p.str("cancellation_reason"))
    charge = intent["latest_charge"] and ctx.store.find(ctx.account, "charge", intent["latest_charge"])
    if charge and not charge["captured"]:
        charge.update(refunded=True, amount_refunded=charge["amount"])
    ctx.emit("payment_intent.canceled", intent)
    return ctx.show(intent, p)


# --- charging --------------------------------------------------------------------------------------


def confirm(ctx, intent, off_session=False, return_url=None, authenticated=False):
    """Charges the intent's method: succeeded, requires_capture, processing, requires_action, or a card error."""
    check_account(ctx)
    method = ctx.get("payment_method", intent["payment_method"])
    behaviour = method["_behaviour"]
    if behaviour == "authenticate_once":
        behaviour = "ok" if method["_set_up"] else "authenticate"
    if behaviour == "authenticate" and not authenticated:
        if off_session:
            refuse(ctx, intent, method, authentication_required())
        intent.update(status="requires_action", _return_url=return_url, next_action={
            "type": "redirect_to_url",
            "redirect_to_url": {"url": f"{ctx.url}/authenticate/{intent['id']}", "return_url": return_url}})
        ctx.emit("payment_intent.requires_action", intent)
        return
    if cards.declines_charge(behaviour):
        refuse(ctx, intent, method, cards.decline(behaviour))
    if behaviour == "processing":
        intent.update(status="processing", next_action=None)
        ctx.emit("payment_intent.processing", intent)
        return
    charge_now(ctx, intent, method)


def authentication_required():
    return ApiError(402, "card_error", "Your card was declined. This transaction requires authentication.",
                    "authentication_required", executed=True, decline_code="authentication_required")


def refuse(ctx, intent, method, error):
    """Records a failed charge, after which the intent waits for another method; raises the error."""
    charge = new_charge(ctx, intent, method, "failed")
    charge.update(failure_code=error.error["code"], failure_message=error.error["message"])
    shown = {key: value for key, value in error.error.items() if key != "payment_intent"}
    intent.update(status="requires_payment_method", payment_method=None, latest_charge=charge["id"], next_action=None,
                  last_payment_error={**shown, "charge": charge["id"], "payment_method": ctx.show(method)})
    ctx.emit("charge.failed", charge)
    ctx.emit("payment_intent.payment_failed", intent)
    error.error.update(charge=charge["id"], payment_intent=ctx.show(intent), payment_method=ctx.show(method))
    raise error


def new_charge(ctx, intent, method, status):
    return ctx.make(
        "charge", amount=intent["amount"], amount_captured=0, amount_refunded=0, application=None, application_fee=None,
        application_fee_amount=intent["application_fee_amount"], balance_transaction=None,
        billing_details=method["billing_details"], captured=False, currency=intent["currency"],
        customer=intent["customer"], description=intent["description"], disputed=False, failure_code=None,
        failure_message=None, metadata=dict(intent["metadata"]), paid=status == "succeeded",
        payment_intent=intent["id"], payment_method=method["id"],
        payment_method_details={"type": method["type"], method["type"]: method.get(method["type"])},
        receipt_email=intent["receipt_email"], receipt_url=f"{ctx.url}/receipts/{intent['id']}", refunded=False,
        refunds=None, status=status, outcome={"network_status": "approved_by_network", "type": "authorized"},
        _key=ctx.key)


def charge_now(ctx, intent, method):
    charge = new_charge(ctx, intent, method, "succeeded")
    intent.update(latest_charge=charge["id"], next_action=None, last_payment_error=None)
    if intent["setup_future_usage"] and intent["customer"]:
        method["_set_up"] = True
        attach(ctx, method, ctx.get("customer", intent["customer"]))
    if intent["capture_method"] == "manual":
        intent.update(status="requires_capture", amount_capturable=intent["amount"])
        ctx.emit("charge.succeeded", charge)
        ctx.emit("payment_intent.amount_capturable_updated", intent)
        return
    settle_charge(ctx, intent, charge, intent["amount"])
    ctx.emit("charge.succeeded", charge)
    ctx.emit("payment_intent.succeeded", intent)


def settle_charge(ctx, intent, charge, amount):
    fee = (amount * 290 + 5000) // 10000 + 30
    application_fee = intent["application_fee_amount"] or 0
    details = [{"amount": fee, "currency": intent["currency"], "type": "stripe_fee", "application": None,
                "description": "Stripe processing fees"}]
    if application_fee:
        details.append({"amount": application_fee, "currency": intent["currency"], "type": "application_fee",
                        "application": None, "description": "Application fee"})
        paid = ctx.make("application_fee", account=ctx.account, amount=application_fee, amount_refunded=0,
                        charge=charge["id"], currency=intent["currency"], refunded=False)
        charge["application_fee"] = paid["id"]
    transaction = ctx.make("balance_transaction", amount=amount, fee=fee + application_fee,
                           net=amount - fee - application_fee, currency=intent["currency"], exchange_rate=None,
                           fee_details=details, source=charge["id"], status="pending", type="charge",
                           available_on=ctx.now() + 172800, reporting_category="charge", description=intent["description"])
    charge.update(captured=True, amount_captured=amount, balance_transaction=transaction["id"],
                  application_fee_amount=intent["application_fee_amount"])
    intent.update(status="succeeded", amount_capturable=0, amount_received=amount)


def settle(ctx, intent, ok=True):
    """Ends a payment with a delayed method."""
    method = ctx.get("payment_method", intent["payment_method"])
    if ok:
        charge_now(ctx, intent, method)
    else:
        try:
            refuse(ctx, intent, method, cards.decline("insufficient_funds"))
        except ApiError:
            pass


@route("GET", "/v1/charges/{id}")
def get_charge(ctx, p, id_):
    return ctx.show(ctx.get_by_path("charge", id_), p)


# --- refunds ---------------------------------------------------------------------------------------


@route("POST", "/v1/refunds")
def create_refund(ctx, p):
    if p.str("payment_intent"):
        intent = ctx.get("payment_intent", p.str("payment_intent"))
        if not intent["latest_charge"]:
            raise invalid(f"This PaymentIntent ({intent['id']}) does not have a successful charge to refund.",
                          "payment_intent", executed=True)
        charge = ctx.get("charge", intent["latest_charge"])
    else:
        charge = ctx.get("charge", p.str("charge", required=True))
    left = charge["amount_captured"] - charge["amount_refunded"]
    if left <= 0:
        raise invalid(f"Charge {charge['id']} has already been refunded.", code="charge_already_refunded", executed=True)
    amount = p.int("amount", left, least=1)
    if amount > left:
        raise invalid(f"Refund amount ({amount}) is greater than unrefunded amount on charge ({left}).", "amount",
                      executed=True)
    refund = ctx.make("refund", amount=amount, charge=charge["id"], payment_intent=charge["payment_intent"],
                      currency=charge["currency"], metadata=p.metadata(), status="succeeded", balance_transaction=None,
                      reason=p.str("reason", choices=("duplicate", "fraudulent", "requested_by_customer")),
                      receipt_number=None, source_transfer_reversal=None, transfer_reversal=None, _key=ctx.key)
    charge["amount_refunded"] += amount
    charge["refunded"] = charge["amount_refunded"] == charge["amount_captured"]
    ctx.emit("refund.created", refund)
    ctx.emit("charge.refunded", charge)
    return ctx.show(refund, p)


@route("GET", "/v1/refunds/{id}")
def get_refund(ctx, p, id_):
    return ctx.show(ctx.get_by_path("refund", id_), p)


def fail_refund(ctx, refund):
    """Fails a refund: the payer's bank returns the money, and the charge counts it as not refunded."""
    charge = ctx.get("charge", refund["charge"])
    refund.update(status="failed", failure_reason="lost_or_stolen_card")
    before = {"amount_refunded": charge["amount_refunded"], "refunded": charge["refunded"]}
    charge["amount_refunded"] -= refund["amount"]
    charge["refunded"] = False
    ctx.emit("refund.failed", refund)
    ctx.emit("refund.updated", refund, {"status": "succeeded"})
    ctx.emit("charge.refund.updated", refund, {"status": "succeeded"})
    ctx.emit("charge.updated", charge, before)


def dispute(ctx, charge):
    charge["disputed"] = True
    ctx.emit("charge.dispute.created", ctx.make(
        "dispute", amount=charge["amount"], charge=charge["id"], payment_intent=charge["payment_intent"],
        currency=charge["currency"], reason="fraudulent", status="needs_response", metadata={}))

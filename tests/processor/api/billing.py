"""Subscriptions, their invoices, and the payments of the invoices."""
import calendar
import datetime

from . import route
from .catalog import apply_discounts, new_price, apply_coupon
from .customers import attach, find_method
from .intents import check_account, confirm, new_intent
from .. import cards
from ..errors import ApiError, invalid
from ..store import new_id

FINAL = ("canceled", "incomplete_expired")
INCOMPLETE_SECONDS = 23 * 3600


def add_interval(at, interval, count):
    """`at` (seconds) plus whole intervals; the 31st becomes the last day of a shorter month."""
    if interval in ("day", "week"):
        return at + count * (86400 if interval == "day" else 604800)
    when = datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
    months = when.year * 12 + when.month - 1 + count * (12 if interval == "year" else 1)
    year, month = divmod(months, 12)
    day = min(when.day, calendar.monthrange(year, month + 1)[1])
    return int(when.replace(year=year, month=month + 1, day=day).timestamp())


def check_percent(ctx, percent, param="application_fee_percent"):
    if percent is None:
        return None
    if not ctx.is_connected:
        raise invalid("Can only apply an application_fee_percent when the request is made on behalf of another account.",
                      param)
    if not 0 <= percent <= 100 or round(percent, 2) != percent:
        raise invalid("The application fee percentage is from 0 to 100 with at most two decimals.", param)
    return percent


# --- subscriptions ---------------------------------------------------------------------------------


def new_subscription(ctx, customer, price, quantity=1, metadata=None, trial_days=0, method=None, percent=None,
                     coupons=(), behavior="allow_incomplete"):
    """Creates a subscription and charges it, unless it begins with a trial. An ApiError of the card leaves it incomplete."""
    check_account(ctx)
    if not price["recurring"]:
        raise invalid("The price specified is set to `type=one_time` but this field only accepts prices with "
                      "`type=recurring`.", "items[0][price]")
    if not price["active"]:
        raise invalid(f"The price specified is inactive: {price['id']}.", "items[0][price]", "price_inactive")
    now = ctx.now()
    trial_end = now + trial_days * 86400 if trial_days else None
    end = trial_end or add_interval(now, price["recurring"]["interval"], price["recurring"]["interval_count"])
    subscription = ctx.make(
        "subscription", application=None, application_fee_percent=percent, automatic_tax={"enabled": False},
        billing_cycle_anchor=end if trial_end else now, billing_mode={"type": "classic"}, cancel_at=None,
        cancel_at_period_end=False, canceled_at=None, cancellation_details={"comment": None, "feedback": None, "reason": None},
        collection_method="charge_automatically", currency=price["currency"], customer=customer["id"],
        default_payment_method=method["id"] if method else None, description=None,
        discounts=[coupon["id"] for coupon in coupons], ended_at=None, items=None, latest_invoice=None,
        metadata=dict(metadata or {}), pause_collection=None, pending_setup_intent=None, schedule=None, start_date=now,
        status="trialing" if trial_end else "incomplete", trial_end=trial_end, trial_start=now if trial_end else None,
        _coupons=[[coupon["id"], periods_of(coupon)] for coupon in coupons])
    item = {"id": new_id("subscription_item"), "object": "subscription_item", "created": now, "metadata": {},
            "price": ctx.show(price), "plan": {"id": price["id"], "object": "plan", "active": True,
                                               "amount": price["unit_amount"], "currency": price["currency"],
                                               "interval": price["recurring"]["interval"],
                                               "interval_count": price["recurring"]["interval_count"],
                                               "product": price["product"]},
            "quantity": quantity, "subscription": subscription["id"], "tax_rates": [], "discounts": [],
            "current_period_start": now, "current_period_end": end}
    subscription["items"] = {"object": "list", "data": [item], "has_more": False,
                             "url": f"/v1/subscription_items?subscription={subscription['id']}"}
    ctx.emit("customer.subscription.created", subscription)
    invoice = new_invoice(ctx, subscription, "subscription_create", 0 if trial_end else None)
    if trial_end or behavior == "default_incomplete" and not method:
        if trial_end:
            finish_invoice(ctx, invoice, None)
        return subscription
    pay_invoice(ctx, invoice, subscription)
    return subscription


def periods_of(coupon):
    """The number of invoices that a coupon applies to; -1: all."""
    return {"once": 1, "forever": -1}.get(coupon["duration"], coupon["duration_in_months"] or 1)


def method_of(ctx, subscription):
    customer = ctx.get("customer", subscription["customer"])
    id_ = subscription["default_payment_method"] or customer["invoice_settings"]["default_payment_method"]
    method = id_ and ctx.store.find(ctx.account, "payment_method", id_)
    return method if method and not method.get("_detached") else None


def set_status(ctx, subscription, status, type_="customer.subscription.updated", **changes):
    previous = {name: subscription.get(name) for name in ("status", *changes)}
    subscription.update(status=status, **changes)
    ctx.emit(type_, subscription, {k: v for k, v in previous.items() if subscription.get(k) != v})


def price_of(ctx, item):
    """The price that an item names, or a new price that the item describes for a product."""
    if not item.has("price_data"):
        return ctx.get("price", item.str("price", required=True), item.name("price"))
    data = item.sub("price_data")
    return new_price(ctx, data, ctx.get("product", data.str("product", required=True), data.name("product")))


@route("POST", "/v1/subscriptions")
def create(ctx, p):
    customer = ctx.get("customer", p.str("customer", required=True))
    items = p.subs("items")
    if len(items) != 1:
        raise invalid("Missing required param: items.", "items", "parameter_missing")
    price = price_of(ctx, items[0])
    method = find_method(ctx, p.str("default_payment_method")) if p.str("default_payment_method") else None
    if method and not method["customer"]:
        attach(ctx, method, customer)
    behavior = p.str("payment_behavior", "allow_incomplete",
                     choices=("allow_incomplete", "default_incomplete", "error_if_incomplete", "pending_if_incomplete"))
    _, coupons = apply_discounts(ctx, price["unit_amount"], p.subs("discounts"))
    trial = p.int("trial_period_days", 0, least=1, most=730)
    usable = method or method_of(ctx, {"customer": customer["id"], "default_payment_method": None})
    if not usable and not trial and behavior != "default_incomplete":
        raise invalid("This customer has no attached payment source or default payment method.", code="resource_missing")
    if behavior == "error_if_incomplete" and not trial and cards.declines_charge(usable["_behaviour"]):
        refusal = cards.decline(usable["_behaviour"])
        # The error names the payment intent of the first invoice, which vanishes together with the refused subscription.
        refusal.error.update(payment_intent={
            "id": new_id("payment_intent"), "object": "payment_intent", "status": "requires_payment_method", "amount": price["unit_amount"],
            "currency": price["currency"], "customer": customer["id"], "metadata": {}})
        raise refusal
    try:
        subscription = new_subscription(ctx, customer, price, items[0].int("quantity", 1, least=1), p.metadata(), trial,
                                        method, check_percent(ctx, p.number("application_fee_percent")), coupons, behavior)
    except ApiError as error:
        if error.status != 402:
            raise
        subscription = ctx.store.all(ctx.account, "subscription")[-1]
    return ctx.show(subscription, p)


@route("GET", "/v1/subscriptions/{id}")
def get(ctx, p, id_):
    return ctx.show(ctx.get_by_path("subscription", id_), p)


@route("GET", "/v1/subscriptions")
def list_subscriptions(ctx, p):
    customer, price, status = p.str("customer"), p.str("price"), p.str("status")

    def keep(each):
        if status in (None, "") and each["status"] == "canceled":
            return False
        if status not in (None, "", "all") and each["status"] != status:
            return False
        return (not customer or each["customer"] == customer) and (
            not price or each["items"]["data"][0]["price"]["id"] == price)

    return ctx.page("subscription", p, "/v1/subscriptions", keep)


@route("POST", "/v1/subscriptions/{id}")
def update(ctx, p, id_):
    subscription = ctx.get_by_path("subscription", id_)
    if subscription["status"] in FINAL:
        raise invalid("A canceled subscription can only update its cancellation_details and metadata.", executed=True)
    previous = {"metadata": subscription["metadata"]}
    subscription["metadata"] = p.metadata(subscription["metadata"])
    if p.has("cancel_at_period_end"):
        wanted = p.bool("cancel_at_period_end")
        previous["cancel_at_period_end"] = subscription["cancel_at_period_end"]
        end = subscription["items"]["data"][0]["current_period_end"]
        subscription.update(cancel_at_period_end=wanted, cancel_at=end if wanted else None,
                            canceled_at=ctx.now() if wanted else None)
        subscription["cancellation_details"]["reason"] = "cancellation_requested" if wanted else None
    if p.str("default_payment_method"):
        method = attach(ctx, find_method(ctx, p.str("default_payment_method")), ctx.get("customer", subscription["customer"]))
        subscription["default_payment_method"] = method["id"]
    for given in p.subs("items"):
        replace_price(ctx, subscription, given, p.str("proration_behavior", "create_prorations"))
    if p.str("trial_end") == "now" and subscription["status"] == "trialing":
        end_trial(ctx, subscription)
    if p.has("pause_collection"):
        behavior = p.sub("pause_collection").str("behavior")
        subscription["pause_collection"] = {"behavior": behavior, "resumes_at": None} if behavior else None
    ctx.emit("customer.subscription.updated", subscription,
             {name: value for name, value in previous.items() if subscription[name] != value})
    return ctx.show(subscription, p)


def replace_price(ctx, subscription, given, proration):
    """Replaces the price of an item; the difference is added to the next invoice, or charged immediately."""
    item = subscription["items"]["data"][0]
    if given.str("id") not in (None, item["id"]):
        raise invalid(f"No such subscription_item: '{given.str('id')}'", given.name("id"), "resource_missing")
    item["quantity"] = given.int("quantity", item["quantity"], least=1)
    if not given.str("price"):
        return
    price = ctx.get("price", given.str("price"), given.name("price"))
    if not price["recurring"] or price["currency"] != subscription["currency"]:
        raise invalid("The price does not fit this subscription.", given.name("price"))
    old, item["price"] = item["price"], ctx.show(price)
    item["plan"].update(id=price["id"], amount=price["unit_amount"], interval=price["recurring"]["interval"],
                        interval_count=price["recurring"]["interval_count"], product=price["product"])
    if (old["recurring"]["interval"], old["recurring"]["interval_count"]) != (
            price["recurring"]["interval"], price["recurring"]["interval_count"]) and subscription["status"] != "trialing":
        item["current_period_start"] = ctx.now()
        item["current_period_end"] = add_interval(ctx.now(), price["recurring"]["interval"], price["recurring"]["interval_count"])
    if proration == "always_invoice" and price["unit_amount"] > old["unit_amount"]:
        pay_invoice(ctx, new_invoice(ctx, subscription, "subscription_update",
                                     price["unit_amount"] - old["unit_amount"]), subscription)


@route("DELETE", "/v1/subscriptions/{id}")
def delete(ctx, p, id_):
    subscription = ctx.get_by_path("subscription", id_)
    if subscription["status"] in FINAL:
        raise invalid(f"No such subscription: '{id_}'", "id", "resource_missing", 404)
    cancel(ctx, subscription, "cancellation_requested")
    return ctx.show(subscription, p)


def cancel(ctx, subscription, reason):
    now = ctx.now()
    subscription["cancellation_details"]["reason"] = reason
    set_status(ctx, subscription, "canceled", "customer.subscription.deleted", ended_at=now,
               canceled_at=subscription["canceled_at"] or now)


@route("POST", "/v1/subscriptions/{id}/resume")
def resume(ctx, p, id_):
    subscription = ctx.get_by_path("subscription", id_)
    if subscription["status"] != "paused":
        raise invalid("This subscription is not paused.", executed=True)
    set_status(ctx, subscription, "active", pause_collection=None)
    ctx.emit("customer.subscription.resumed", subscription)
    return ctx.show(subscription, p)


# --- time ------------------------------------------------------------------------------------------


def end_trial(ctx, subscription):
    subscription["trial_end"] = min(subscription["trial_end"], ctx.now())
    renew(ctx, subscription)


def renew(ctx, subscription):
    """Ends the period: cancels the subscription if that was requested, else begins and charges the next period."""
    if subscription["status"] in FINAL:
        raise invalid(f"This subscription is {subscription['status']}.")
    if subscription["cancel_at_period_end"]:
        cancel(ctx, subscription, "cancellation_requested")
        return
    item = subscription["items"]["data"][0]
    recurring = item["price"]["recurring"]
    start = subscription["trial_end"] if subscription["status"] == "trialing" else item["current_period_end"]
    item.update(current_period_start=start, current_period_end=add_interval(start, recurring["interval"], recurring["interval_count"]))
    set_status(ctx, subscription, "active" if subscription["status"] == "trialing" else subscription["status"])
    try:
        pay_invoice(ctx, new_invoice(ctx, subscription, "subscription_cycle"), subscription)
    except ApiError:
        pass  # past_due now


def apply_due_changes(ctx):
    """Applies the changes that are due by the clock in this account."""
    now = ctx.now()
    for subscription in ctx.store.all(ctx.account, "subscription"):
        while subscription["status"] in ("active", "trialing", "past_due") and (
                subscription["items"]["data"][0]["current_period_end"] <= now):
            renew(ctx, subscription)
        if subscription["status"] == "incomplete" and subscription["created"] + INCOMPLETE_SECONDS <= now:
            set_status(ctx, subscription, "incomplete_expired", ended_at=now)


# --- invoices --------------------------------------------------------------------------------------


def new_invoice(ctx, subscription, reason, amount=None):
    item = subscription["items"]["data"][0]
    due = item["price"]["unit_amount"] * item["quantity"] if amount is None else amount
    for entry in subscription["_coupons"]:
        coupon = ctx.store.find(ctx.account, "coupon", entry[0])
        if amount is None and coupon and entry[1]:
            due, entry[1] = apply_coupon(due, coupon), entry[1] - 1 if entry[1] > 0 else -1
    customer = ctx.get("customer", subscription["customer"])
    invoice = ctx.make(
        "invoice", account_country="US", amount_due=due, amount_paid=0, amount_remaining=due, attempt_count=0,
        attempted=False, auto_advance=True, billing_reason=reason, collection_method="charge_automatically",
        currency=subscription["currency"], customer=customer["id"], customer_email=customer["email"],
        customer_name=customer["name"], default_payment_method=None, description=None, discounts=[], due_date=None,
        hosted_invoice_url=None, invoice_pdf=None, metadata={}, number=None, period_start=item["current_period_start"],
        period_end=item["current_period_end"], status="open", subtotal=due, total=due,
        status_transitions={"finalized_at": ctx.now(), "marked_uncollectible_at": None, "paid_at": None, "voided_at": None},
        parent={"type": "subscription_details", "quote_details": None, "subscription_details": {
            "subscription": subscription["id"], "metadata": dict(subscription["metadata"])}})
    number = ctx.get("customer", customer["id"])
    invoice.update(number=f"{number['invoice_prefix']}-{number['next_invoice_sequence']:04d}",
                   hosted_invoice_url=f"{ctx.url}/invoices/{invoice['id']}")
    number["next_invoice_sequence"] += 1
    invoice["lines"] = {"object": "list", "has_more": False, "url": f"/v1/invoices/{invoice['id']}/lines", "data": [{
        "id": new_id("line_item"), "object": "line_item", "amount": due, "currency": invoice["currency"],
        "description": None, "invoice": invoice["id"], "quantity": item["quantity"], "metadata": {},
        "period": {"start": item["current_period_start"], "end": item["current_period_end"]},
        "parent": {"type": "subscription_item_details", "subscription_item_details": {
            "subscription": subscription["id"], "subscription_item": item["id"], "proration": reason == "subscription_update"}},
        "pricing": {"type": "price_details", "unit_amount_decimal": item["price"]["unit_amount_decimal"],
                    "price_details": {"price": item["price"]["id"], "product": item["price"]["product"]}}}]}
    subscription["latest_invoice"] = invoice["id"]
    ctx.emit("invoice.created", invoice)
    ctx.emit("invoice.finalized", invoice)
    return invoice


def pay_invoice(ctx, invoice, subscription, method=None):
    """Charges the invoice; raises the card's error after it has updated the subscription."""
    if invoice["amount_due"] == 0:
        finish_invoice(ctx, invoice, None)
        entered(ctx, subscription)
        return
    method = method or method_of(ctx, subscription)
    invoice.update(attempted=True, attempt_count=invoice["attempt_count"] + 1)
    payment = next((each for each in ctx.store.all(ctx.account, "invoice_payment") if each["invoice"] == invoice["id"]), None)
    if payment:
        intent = ctx.get("payment_intent", payment["payment"]["payment_intent"])
    else:
        percent = subscription["application_fee_percent"]
        fee = int(invoice["amount_due"] * percent / 100 + 0.5) if percent else 0
        intent = new_intent(ctx, invoice["amount_due"], invoice["currency"], customer=invoice["customer"],
                            description="Subscription update" if invoice["billing_reason"] == "subscription_cycle"
                            else "Subscription creation", application_fee_amount=fee or None, _invoice=invoice["id"])
        payment = ctx.make("invoice_payment", amount_paid=None, amount_requested=invoice["amount_due"],
                           currency=invoice["currency"], invoice=invoice["id"], is_default=True, status="open",
                           payment={"type": "payment_intent", "payment_intent": intent["id"]},
                           status_transitions={"canceled_at": None, "paid_at": None})
    if not method:
        mark_failed(ctx, invoice, subscription)
        return
    intent["payment_method"] = method["id"]
    try:
        confirm(ctx, intent, off_session=invoice["billing_reason"] == "subscription_cycle")
    except ApiError:
        mark_failed(ctx, invoice, subscription)
        raise
    if intent["status"] == "succeeded":
        finish_invoice(ctx, invoice, payment)
        entered(ctx, subscription)


def mark_failed(ctx, invoice, subscription):
    ctx.emit("invoice.payment_failed", invoice)
    if subscription["status"] in ("active", "trialing"):
        set_status(ctx, subscription, "past_due")


def entered(ctx, subscription):
    if subscription["status"] in ("incomplete", "past_due", "unpaid"):
        set_status(ctx, subscription, "active")


def finish_invoice(ctx, invoice, payment):
    invoice.update(status="paid", amount_paid=invoice["amount_due"], amount_remaining=0)
    invoice["status_transitions"]["paid_at"] = ctx.now()
    if payment:
        payment.update(status="paid", amount_paid=invoice["amount_due"])
        payment["status_transitions"]["paid_at"] = ctx.now()
    ctx.emit("invoice.paid", invoice)
    ctx.emit("invoice.payment_succeeded", invoice)
    if payment:
        ctx.emit("invoice_payment.paid", payment)


@route("GET", "/v1/invoices/{id}")
def get_invoice(ctx, p, id_):
    return ctx.show(ctx.get_by_path("invoice", id_), p)


@route("GET", "/v1/invoices")
def list_invoices(ctx, p):
    customer, subscription, status = p.str("customer"), p.str("subscription"), p.str("status")
    return ctx.page("invoice", p, "/v1/invoices", lambda each: (not customer or each["customer"] == customer)
                    and (not status or each["status"] == status) and (
                        not subscription or each["parent"]["subscription_details"]["subscription"] == subscription))


@route("POST", "/v1/invoices/{id}/pay")
def pay(ctx, p, id_):
    invoice = ctx.get_by_path("invoice", id_)
    if invoice["status"] == "paid":
        raise invalid("Invoice is already paid", code="invoice_already_paid", executed=True)
    method = find_method(ctx, p.str("payment_method")) if p.str("payment_method") else None
    pay_invoice(ctx, invoice, ctx.get("subscription", invoice["parent"]["subscription_details"]["subscription"]), method)
    return ctx.show(invoice, p)


@route("GET", "/v1/invoice_payments/{id}")
def get_invoice_payment(ctx, p, id_):
    return ctx.show(ctx.get_by_path("invoice_payment", id_), p)


@route("GET", "/v1/invoice_payments")
def list_invoice_payments(ctx, p):
    invoice, intent = p.str("invoice"), p.sub("payment").str("payment_intent")
    return ctx.page("invoice_payment", p, "/v1/invoice_payments", lambda each: (not invoice or each["invoice"] == invoice)
                    and (not intent or each["payment"]["payment_intent"] == intent))

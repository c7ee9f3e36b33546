"""Checkout sessions: the contents of a hosted page, and the effects of completing or abandoning the page."""
from . import route
from .billing import check_percent, new_subscription
from .catalog import currency, apply_discounts, new_price
from .customers import attach, fail, make_method, new_setup, succeed
from .customers import create as create_customer
from .intents import check_account, check_amount, check_fee, confirm, new_intent
from .. import cards
from ..errors import invalid
from ..forms import Params
from ..render import listing

DAY = 86400


@route("POST", "/v1/checkout/sessions")
def create(ctx, p):
    check_account(ctx)
    mode = p.str("mode", required=True, choices=("payment", "subscription", "setup"))
    p.str("success_url", required=True)
    customer = p.str("customer") and ctx.get("customer", p.str("customer"))["id"]
    if customer and p.str("customer_email"):
        raise invalid("You may only specify one of these parameters: customer, customer_email.", "customer_email")
    if p.has("customer_creation") and (mode != "payment" or customer):
        raise invalid("`customer_creation` can only be used in `payment` mode without a customer.", "customer_creation")
    for data, own in (("payment_intent_data", "payment"), ("subscription_data", "subscription"), ("setup_intent_data", "setup")):
        if p.has(data) and mode != own:
            raise invalid(f"You can not pass `{data}` in `{mode}` mode.", data)
    lines, total = ([], 0) if mode == "setup" else line_items(ctx, p, mode)
    code = lines[0]["currency"] if lines else currency(p)
    subtotal = total
    total, coupons = apply_discounts(ctx, total, p.subs("discounts"))
    if mode == "payment" and total:
        check_amount(total, code, "line_items")
        check_fee(ctx, p.sub("payment_intent_data").int("application_fee_amount"), total,
                  "payment_intent_data[application_fee_amount]")
    trial = p.sub("subscription_data").int("trial_period_days", 0, least=1, most=730)
    check_percent(ctx, p.sub("subscription_data").number("application_fee_percent"),
                  "subscription_data[application_fee_percent]")
    for data in ("subscription_data", "payment_intent_data", "setup_intent_data"):
        p.sub(data).metadata()
    session = ctx.make(
        "checkout.session", mode=mode, status="open", payment_status="no_payment_required" if mode == "setup" else "unpaid",
        amount_subtotal=None if mode == "setup" else subtotal,
        amount_total=None if mode == "setup" else 0 if trial else total, currency=code, customer=customer,
        customer_email=p.str("customer_email"), customer_creation=p.str("customer_creation") or (
            "always" if mode == "subscription" else "if_required"), customer_details=None,
        client_reference_id=p.str("client_reference_id"), metadata=p.metadata(), payment_intent=None, subscription=None,
        setup_intent=None, invoice=None, success_url=p.str("success_url"), cancel_url=p.str("cancel_url"),
        expires_at=p.int("expires_at") or ctx.now() + DAY, locale=None, payment_method_types=["card"],
        payment_method_collection=p.str("payment_method_collection", "always"), ui_mode="hosted_page",
        total_details={"amount_discount": subtotal - total, "amount_shipping": 0, "amount_tax": 0}, discounts=[],
        collected_information=None, _given=p.tree, _lines=lines, _total=total, _trial=trial,
        _coupons=[coupon["id"] for coupon in coupons])
    session["url"] = f"{ctx.url}/checkout/{session['id']}"
    return ctx.show(session, p)


def line_items(ctx, p, mode):
    lines, total = [], 0
    for item in p.subs("line_items"):
        if item.str("price"):
            price = ctx.get("price", item.str("price"), item.name("price"))
        else:
            data = item.sub("price_data")
            product = ctx.get("product", data.str("product"), data.name("product")) if data.has("product") else ctx.make(
                "product", name=data.sub("product_data").str("name", required=True), active=True, description=None,
                default_price=None, images=[], metadata={}, type="service", updated=ctx.now())
            price = new_price(ctx, data, product)
        if not price["active"]:
            raise invalid("The price specified is inactive. This field only accepts active prices.", item.name("price"),
                          "price_inactive")
        if (mode == "subscription") != bool(price["recurring"]):
            raise invalid(f"You cannot use this price in `{mode}` mode.", item.name("price"))
        quantity = item.int("quantity", required=True, least=1)
        total += price["unit_amount"] * quantity
        product = ctx.store.find(ctx.account, "product", price["product"])
        lines.append({"price": price["id"], "quantity": quantity, "currency": price["currency"],
                      "amount": price["unit_amount"] * quantity, "name": product["name"] if product else ""})
    if not lines:
        raise invalid("You must provide at least one item.", "line_items", "parameter_missing")
    if len({line["currency"] for line in lines}) > 1:
        raise invalid("All prices of a session have one currency.", "line_items")
    return lines, total


@route("GET", "/v1/checkout/sessions/{id}")
def get(ctx, p, id_):
    return ctx.show(ctx.get_by_path("checkout.session", id_), p)


@route("GET", "/v1/checkout/sessions")
def list_sessions(ctx, p):
    wanted = {name: p.str(name) for name in ("payment_intent", "subscription", "customer", "status") if p.str(name)}
    return ctx.page("checkout.session", p, "/v1/checkout/sessions",
                    lambda each: all(each[name] == value for name, value in wanted.items()))


@route("GET", "/v1/checkout/sessions/{id}/line_items")
def get_lines(ctx, _p, id_):
    session = ctx.get_by_path("checkout.session", id_)
    return listing([{"id": f"li_{id_[8:20]}{n}", "object": "item", "amount_total": line["amount"], "currency": line["currency"],
                     "description": line["name"], "quantity": line["quantity"],
                     "price": ctx.show(ctx.get("price", line["price"]))} for n, line in enumerate(session["_lines"])],
                   f"/v1/checkout/sessions/{id_}/line_items")


@route("POST", "/v1/checkout/sessions/{id}/expire")
def expire_session(ctx, p, id_):
    session = ctx.get_by_path("checkout.session", id_)
    if session["status"] != "open":
        raise invalid(f"Only Checkout Sessions with a status in [\"open\"] can be expired. This one is {session['status']}.",
                      executed=True)
    expire(ctx, session)
    return ctx.show(session, p)


def expire(ctx, session):
    session.update(status="expired", url=None)
    ctx.emit("checkout.session.expired", session)


def expire_due_sessions(ctx):
    for session in ctx.store.all(ctx.account, "checkout.session"):
        if session["status"] == "open" and session["expires_at"] <= ctx.now():
            expire(ctx, session)


# --- completing ------------------------------------------------------------------------------------


def complete(ctx, session, card="4242424242424242", email=None):
    """The payer has filled in the page. A card error leaves the session open."""
    if session["status"] != "open":
        raise invalid(f"This session is {session['status']}.")
    cards.of_number(card)
    given = Params(session["_given"])
    customer = payer(ctx, session, email)
    email = email or session["customer_email"] or (customer and customer["email"]) or "payer@example.com"
    method = make_method(ctx, card, email)
    {"payment": complete_payment, "subscription": complete_subscription, "setup": complete_setup}[session["mode"]](
        ctx, session, given, customer, method)
    session.update(status="complete", url=None, customer_details={
        "email": email, "name": None, "phone": None, "tax_exempt": "none", "tax_ids": [], "address": None})
    ctx.emit("checkout.session.completed", session)
    return session


def payer(ctx, session, email):
    if session["customer"]:
        return ctx.get("customer", session["customer"])
    if session["mode"] == "payment" and session["customer_creation"] != "always":
        return None
    customer = ctx.store.find(ctx.account, "customer", session.get("_customer"))
    if not customer:
        made = create_customer(ctx, Params({"email": email or session["customer_email"] or "payer@example.com"}))
        session["_customer"] = made["id"]
        customer = ctx.get("customer", made["id"])
    elif email:
        customer["email"] = email  # after an attempt that was declined
    return customer


def complete_payment(ctx, session, given, customer, method):
    if session["_total"] == 0:
        session["payment_status"] = "no_payment_required"
        return
    data = given.sub("payment_intent_data")
    intent = ctx.store.find(ctx.account, "payment_intent", session["payment_intent"] or "")
    if not intent:
        intent = new_intent(
            ctx, session["_total"], session["currency"], customer=customer and customer["id"], metadata=data.metadata(),
            description=data.str("description"), receipt_email=data.str("receipt_email"),
            capture_method=data.str("capture_method", "automatic"), setup_future_usage=data.str("setup_future_usage"),
            application_fee_amount=data.int("application_fee_amount"), _session=session["id"])
        session["payment_intent"] = intent["id"]
    intent["payment_method"] = method["id"]
    confirm(ctx, intent, authenticated=True)
    session.update(customer=customer["id"] if customer else None,
                   payment_status="paid" if intent["status"] == "succeeded" else "unpaid")


def complete_subscription(ctx, session, given, customer, method):
    if cards.declines_charge(method["_behaviour"]) and session["_total"]:
        raise cards.decline(method["_behaviour"])  # the page shows the decline; no object is created
    attach(ctx, method, customer)
    method["_set_up"] = True
    data = given.sub("subscription_data")
    line = session["_lines"][0]
    subscription = new_subscription(
        ctx, customer, ctx.get("price", line["price"]), line["quantity"], data.metadata(), session["_trial"], method,
        data.number("application_fee_percent"), [ctx.get("coupon", each) for each in session["_coupons"]])
    session.update(subscription=subscription["id"], customer=customer["id"], invoice=subscription["latest_invoice"],
                   payment_status="no_payment_required" if session["_trial"] or not session["_total"] else "paid")


def complete_setup(ctx, session, given, customer, method):
    intent = new_setup(ctx, customer["id"], given.sub("setup_intent_data").metadata())
    session["setup_intent"] = intent["id"]
    if method["_behaviour"] in cards.DECLINES:
        error = cards.decline(method["_behaviour"])
        fail(ctx, intent, error.error, method)
        raise error
    succeed(ctx, intent, method)
    session["customer"] = customer["id"]


def settle_session(ctx, intent):
    """A delayed payment of a session has ended."""
    session = ctx.store.find(ctx.account, "checkout.session", intent.get("_session") or "")
    if not session:
        return
    ok = intent["status"] == "succeeded"
    session["payment_status"] = "paid" if ok else "unpaid"
    ctx.emit(f"checkout.session.async_payment_{'succeeded' if ok else 'failed'}", session)

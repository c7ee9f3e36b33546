"""Products, prices, coupons."""
import functools
import pathlib
import subprocess
import sys

from . import route
from ..errors import invalid
from ..store import new_id

MOST_INTERVALS = {"day": 1095, "week": 156, "month": 36, "year": 3}
PLAIN = ("name", "description", "url", "unit_label", "statement_descriptor", "tax_code")


@route("POST", "/v1/products")
def create_product(ctx, p):
    id_ = p.str("id")
    if id_ and ctx.store.find(ctx.account, "product", id_):
        raise invalid(f"Product already exists: {id_}", "id", "resource_already_exists")
    values = {name: p.str(name) for name in PLAIN}
    values["name"] = p.str("name", required=True)
    product = ctx.make("product", **values, **({"id": id_} if id_ else {}), active=p.bool("active", True),
                       default_price=None, images=[], marketing_features=[], metadata=p.metadata(),
                       package_dimensions=None, shippable=None, type="service", updated=ctx.now())
    if p.has("default_price_data"):
        product["default_price"] = new_price(ctx, p.sub("default_price_data"), product)["id"]
    ctx.emit("product.created", product)
    return ctx.show(product, p)


@route("GET", "/v1/products/{id}")
def get_product(ctx, p, id_):
    return ctx.show(ctx.get_by_path("product", id_), p)


@route("POST", "/v1/products/{id}")
def update_product(ctx, p, id_):
    product = ctx.get_by_path("product", id_)
    for name in PLAIN:
        if p.has(name):
            product[name] = p.str(name, required=name == "name")
    product["active"] = p.bool("active", product["active"])
    product["metadata"] = p.metadata(product["metadata"])
    if p.has("default_price"):
        product["default_price"] = p.str("default_price") and ctx.get("price", p.str("default_price"), "default_price")["id"]
    product["updated"] = ctx.now()
    ctx.emit("product.updated", product)
    return ctx.show(product, p)


@route("DELETE", "/v1/products/{id}")
def delete_product(ctx, _p, id_):
    product = ctx.get_by_path("product", id_)
    if any(price["product"] == id_ for price in ctx.store.all(ctx.account, "price")):
        raise invalid("This product cannot be deleted because it has one or more user-created prices.")
    product["deleted"] = True
    return {"id": id_, "object": "product", "deleted": True}


@route("GET", "/v1/products")
def list_products(ctx, p):
    active = p.bool("active", None)
    return ctx.page("product", p, "/v1/products", lambda each: active is None or each["active"] == active)


def new_price(ctx, p, product):
    amount = p.int("unit_amount", least=0)
    if amount is None and p.str("unit_amount_decimal") is None and not p.has("custom_unit_amount"):
        raise invalid("Prices require an `unit_amount` or `unit_amount_decimal` parameter to be set.", "unit_amount")
    if amount is not None and amount > 99999999:
        raise invalid("Amount must be no more than 99999999.", p.name("unit_amount"), "amount_too_large")
    recurring = None
    if p.has("recurring"):
        given = p.sub("recurring")
        interval = given.str("interval", required=True, choices=tuple(MOST_INTERVALS))
        count = given.int("interval_count", 1, least=1)
        if count > MOST_INTERVALS[interval]:
            raise invalid("The maximum interval is three years.", given.name("interval_count"))
        recurring = {"interval": interval, "interval_count": count, "meter": None, "trial_period_days": None,
                     "usage_type": given.str("usage_type", "licensed")}
    lookup = p.str("lookup_key")
    if lookup:
        for other in ctx.store.all(ctx.account, "price"):
            if other["lookup_key"] == lookup:
                if not p.bool("transfer_lookup_key"):
                    raise invalid(f"A price (`{other['id']}`) already uses that lookup key.", "lookup_key",
                                  "resource_already_exists")
                other["lookup_key"] = None
    price = ctx.make(
        "price", product=product["id"], active=p.bool("active", True), currency=currency(p), unit_amount=amount,
        unit_amount_decimal=None if amount is None else str(amount), recurring=recurring,
        type="recurring" if recurring else "one_time", billing_scheme="per_unit", custom_unit_amount=None,
        lookup_key=lookup, nickname=p.str("nickname"), metadata=p.metadata(), tax_behavior="unspecified",
        tiers_mode=None, transform_quantity=None)
    ctx.emit("price.created", price)
    return price


@functools.cache
def currencies():
    """The currencies with which the gateway is built."""
    script = pathlib.Path(__file__).parents[3] / "scripts/currencies"
    return set(subprocess.run([sys.executable, script, "--codes"], check=True, capture_output=True, text=True).stdout.split())


def currency(p, key="currency"):
    code = p.str(key, required=True)
    if len(code) != 3 or not code.isalpha():
        raise invalid(f"Invalid currency: {code}", p.name(key), "parameter_invalid_string_blank")
    if code.lower() not in currencies():
        raise invalid(f"Invalid currency: {code}. The currency is not in ISO 4217.", p.name(key))
    if code != code.lower():
        raise invalid(f"Invalid currency: {code}. Currencies are written in lower case here.", p.name(key))
    return code


@route("POST", "/v1/prices")
def create_price(ctx, p):
    if p.has("product_data"):
        product = ctx.make("product", name=p.sub("product_data").str("name", required=True), active=True, description=None,
                           default_price=None, images=[], metadata=p.sub("product_data").metadata(), type="service",
                           updated=ctx.now())
    else:
        product = ctx.get("product", p.str("product", required=True), "product")
    return ctx.show(new_price(ctx, p, product), p)


@route("GET", "/v1/prices/{id}")
def get_price(ctx, p, id_):
    return ctx.show(ctx.get_by_path("price", id_), p)


@route("POST", "/v1/prices/{id}")
def update_price(ctx, p, id_):
    price = ctx.get_by_path("price", id_)
    active = p.bool("active", price["active"])
    product = ctx.store.find(ctx.account, "product", price["product"])
    if not active and product and product["default_price"] == id_:
        raise invalid("This price cannot be archived because it is the default price of its product.", "active")
    price["active"] = active
    price["metadata"] = p.metadata(price["metadata"])
    if p.has("nickname"):
        price["nickname"] = p.str("nickname")
    if p.has("lookup_key"):
        price["lookup_key"] = p.str("lookup_key")
    ctx.emit("price.updated", price)
    return ctx.show(price, p)


@route("GET", "/v1/prices")
def list_prices(ctx, p):
    active, product, keys = p.bool("active", None), p.str("product"), p.list("lookup_keys")
    return ctx.page("price", p, "/v1/prices", lambda each: (active is None or each["active"] == active)
                    and (not product or each["product"] == product) and (not keys or each["lookup_key"] in keys))


@route("POST", "/v1/coupons")
def create_coupon(ctx, p):
    percent, amount = p.number("percent_off"), p.int("amount_off", least=1)
    if (percent is None) == (amount is None):
        raise invalid("You must pass either percent_off or amount_off.", "percent_off")
    if percent is not None and not 0 < percent <= 100:
        raise invalid("percent_off must be above 0 and at most 100.", "percent_off")
    duration = p.str("duration", "once", choices=("once", "repeating", "forever"))
    months = p.int("duration_in_months", least=1)
    if (duration == "repeating") != (months is not None):
        raise invalid("duration_in_months belongs to duration=repeating.", "duration_in_months")
    id_ = p.str("id") or new_id("coupon").removeprefix("coupon_")[:8]
    if ctx.store.find(ctx.account, "coupon", id_):
        raise invalid("Coupon already exists.", "id", "resource_already_exists")
    coupon = ctx.make("coupon", id=id_, percent_off=percent, amount_off=amount, duration=duration,
                      currency=currency(p) if amount else None, duration_in_months=months, name=p.str("name"),
                      max_redemptions=p.int("max_redemptions", least=1), redeem_by=p.int("redeem_by"),
                      metadata=p.metadata(), times_redeemed=0, valid=True)
    return ctx.show(coupon, p)


@route("GET", "/v1/coupons/{id}")
def get_coupon(ctx, p, id_):
    return ctx.show(ctx.get_by_path("coupon", id_), p)


@route("DELETE", "/v1/coupons/{id}")
def delete_coupon(ctx, _p, id_):
    ctx.get_by_path("coupon", id_)["deleted"] = True
    return {"id": id_, "object": "coupon", "deleted": True}


def apply_discounts(ctx, amount, discounts):
    """The amount after the coupons of a `discounts` parameter, and the coupons."""
    coupons = []
    for each in discounts:
        id_ = each.str("coupon")
        if not id_:
            continue
        coupon = ctx.get("coupon", id_, each.name("coupon"))
        coupons.append(coupon)
        amount = apply_coupon(amount, coupon)
    return amount, coupons


def apply_coupon(amount, coupon):
    if coupon["percent_off"] is not None:
        return amount - int(amount * coupon["percent_off"] / 100 + 0.5)
    return max(0, amount - coupon["amount_off"])

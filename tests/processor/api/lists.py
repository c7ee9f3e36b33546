"""Events, balance transactions, application fees and portal sessions: things that are only read."""
from . import route
from ..store import new_id


@route("GET", "/v1/events/{id}")
def get_event(ctx, p, id_):
    return ctx.show(ctx.get_by_path("event", id_), p)


@route("GET", "/v1/events")
def list_events(ctx, p):
    type_, types = p.str("type"), p.list("types")
    return ctx.page("event", p, "/v1/events",
                    lambda each: (not type_ or matches(each["type"], type_)) and (not types or each["type"] in types))


def matches(type_, wanted):
    return type_ == wanted or wanted.endswith("*") and type_.startswith(wanted[:-1])


@route("GET", "/v1/balance_transactions/{id}")
def get_balance_transaction(ctx, p, id_):
    return ctx.show(ctx.get_by_path("balance_transaction", id_), p)


@route("GET", "/v1/application_fees/{id}")
def get_application_fee(ctx, p, id_):
    return ctx.show(ctx.get_by_path("application_fee", id_), p)


@route("POST", "/v1/billing_portal/sessions")
def portal(ctx, p):
    customer = ctx.get("customer", p.str("customer", required=True))
    session = ctx.make("billing_portal.session", customer=customer["id"], return_url=p.str("return_url"), locale=None,
                       url=f"{ctx.url}/portal/{new_id('event')}")
    return ctx.show(session, p)

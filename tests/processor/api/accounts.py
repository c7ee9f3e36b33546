"""Connected accounts and their onboarding, on a page that a person or a test completes."""
from . import route
from ..errors import invalid, missing
from ..store import new_id

CONTROLLER = {"losses": ("payments", ("stripe", "application")), "fees": ("payer", ("account", "application")),
              "stripe_dashboard": ("type", ("full", "express", "none"))}
DUE = ["business_profile.url", "external_account", "tos_acceptance.date", "tos_acceptance.ip"]


def own_account(ctx, id_):
    """The platform's own account or one connected to it."""
    account = ctx.store.find(id_, "account", id_)
    if not account or ctx.store.platform_of(id_) != ctx.platform:
        raise invalid(f"The provided key does not have access to account '{id_}' (or that account does not exist).",
                      code="account_invalid", status=403)
    return account


def requirements(due):
    return {"alternatives": [], "current_deadline": None, "currently_due": list(due), "eventually_due": list(due),
            "past_due": [], "pending_verification": [], "errors": [],
            "disabled_reason": "requirements.past_due" if due else None}


def new_account(store, id_, country="US", email=None, ready=False, **more):
    state = "active" if ready else "inactive"
    account = {
        "id": id_, "object": "account", "created": store.now(), "country": country, "email": email,
        "business_type": None, "type": "standard", "default_currency": "usd", "charges_enabled": ready,
        "payouts_enabled": ready, "details_submitted": ready, "metadata": {},
        "capabilities": {"card_payments": state, "transfers": state},
        "controller": {"type": "application", "is_controller": True, "losses": {"payments": "stripe"},
                       "fees": {"payer": "account"}, "requirement_collection": "stripe",
                       "stripe_dashboard": {"type": "full"}},
        "requirements": requirements([] if ready else DUE), "future_requirements": requirements([]),
        "settings": {"payouts": {"schedule": {"delay_days": 2, "interval": "daily"}}}, **more,
    }
    return store.add(id_, account)


@route("POST", "/v1/accounts")
def create(ctx, p):
    if ctx.is_connected:
        raise invalid("A connected account cannot create accounts.", status=403)
    if p.has("type") and p.has("controller"):
        raise invalid("You may not specify both `type` and `controller`.", "type")
    given = p.sub("controller")
    controller = {"type": "application", "is_controller": True, "requirement_collection":
                  given.str("requirement_collection", "stripe", choices=("stripe", "application"))}
    for name, (member, choices) in CONTROLLER.items():
        controller[name] = {member: given.sub(name).str(member, choices[0], choices=choices)}
    if controller["losses"]["payments"] == "application" and controller["fees"]["payer"] != "application":
        raise invalid("When the application is liable for losses it pays the fees.", "controller[fees][payer]")
    id_ = new_id("account")
    ctx.store.parents[id_] = ctx.platform
    capabilities = p.tree.get("capabilities") or {}
    account = new_account(
        ctx.store, id_, p.str("country", "US"), p.str("email"), business_type=p.str("business_type"),
        type=p.str("type", "none" if p.has("controller") else "standard"), controller=controller,
        metadata=p.metadata(), capabilities={name: "inactive" for name in capabilities})
    return ctx.show(account, p)


@route("GET", "/v1/account")
def get_own(ctx, p):
    return ctx.show(ctx.store.find(ctx.account, "account", ctx.account), p)


@route("GET", "/v1/accounts/{id}")
def get(ctx, p, id_):
    return ctx.show(own_account(ctx, id_), p)


@route("POST", "/v1/accounts/{id}")
def update(ctx, p, id_):
    account = own_account(ctx, id_)
    for name in ("email", "business_type"):
        if p.has(name):
            account[name] = p.str(name)
    account["metadata"] = p.metadata(account["metadata"])
    emit_update(ctx, account)
    return ctx.show(account, p)


@route("POST", "/v1/accounts/{id}/login_links")
def login_link(ctx, _p, id_):
    account = own_account(ctx, id_)
    if account["controller"]["stripe_dashboard"]["type"] != "express":
        raise invalid("Cannot create a login link for an account without the express dashboard.")
    return {"object": "login_link", "created": ctx.now(), "url": f"{ctx.url}/dashboard/{id_}"}


@route("POST", "/v1/account_links")
def link(ctx, p):
    account = own_account(ctx, p.str("account", required=True))
    type_ = p.str("type", required=True, choices=("account_onboarding", "account_update"))
    for name in ("refresh_url", "return_url"):
        if type_ == "account_onboarding":
            p.str(name, required=True)
    token = new_id("event").removeprefix("evt_")
    ctx.store.links[token] = {"account": account["id"], "expires_at": ctx.now() + 300, "used": False,
                              "refresh_url": p.str("refresh_url"), "return_url": p.str("return_url")}
    return {"object": "account_link", "created": ctx.now(), "expires_at": ctx.now() + 300,
            "url": f"{ctx.url}/setup/{account['id']}/{token}"}


def emit_update(ctx, account, previous=None):
    inner = ctx.for_account(account["id"])
    inner.emit("account.updated", account, previous)


def onboard(ctx, id_, charges=True, payouts=True, due=()):
    """The account has submitted the required information; with `due` the processor requires more."""
    account = ctx.store.find(id_, "account", id_)
    if not account:
        raise missing("account", id_, in_path=True)
    previous = {name: account[name] for name in ("charges_enabled", "payouts_enabled", "details_submitted")}
    account.update(charges_enabled=charges, payouts_enabled=payouts, details_submitted=True,
                   requirements=requirements(due))
    for name in account["capabilities"]:
        account["capabilities"][name] = "active" if charges else "inactive"
    emit_update(ctx, account, previous)
    return account

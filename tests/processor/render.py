"""Objects as clients see them: without internal members, in the requested API generation, with expanded references."""
import copy

from .errors import invalid

OLD = "acacia"   # up to 2025-02-24
NEW = "dahlia"   # 2025-03-31 and later, as far as the objects here differ
VERSIONS = {"acacia": "2025-02-24.acacia", "basil": "2025-08-27.basil", "dahlia": "2026-03-25.dahlia",
            "endive": "2026-10-28.endive"}


def generation(version):
    """The API generation of a Stripe-Version header (dates compare as texts)."""
    return OLD if version and version[:10] < "2025-03-31" else NEW


def public_copy(value):
    """A deep copy without members that begin with an underscore."""
    if isinstance(value, dict):
        return {key: public_copy(each) for key, each in value.items() if not key.startswith("_")}
    if isinstance(value, list):
        return [public_copy(each) for each in value]
    return value


def render(store, account, obj, api=NEW, expand=()):
    shown = public_copy(obj)
    for path in expand:
        parts = path.split(".")
        if len(parts) > 4:
            raise invalid("You cannot expand more than 4 levels.", "expand")
        expand_into(store, account, shown, parts, path)
    return to_old_generation(store, account, shown) if api == OLD else shown


def expand_into(store, account, node, parts, path):
    if node.get("object") == "invoice" and parts[0] == "payments":
        payments = [public_copy(each) for each in store.all(account, "invoice_payment") if each["invoice"] == node["id"]]
        node["payments"] = listing(payments, f"/v1/invoice_payments?invoice={node['id']}")
    if parts[0] not in node:
        raise invalid(f"This property cannot be expanded ({path}).", "expand")
    value = node[parts[0]]
    if isinstance(value, str):
        found = store.find_any(account, value)
        if not found:
            raise invalid(f"This property cannot be expanded ({path}).", "expand")
        value = node[parts[0]] = public_copy(found)
    if len(parts) > 1 and isinstance(value, dict):
        if value.get("object") == "list" and parts[1] == "data":
            for each in value["data"]:
                if len(parts) > 2:
                    expand_into(store, account, each, parts[2:], path)
        else:
            expand_into(store, account, value, parts[1:], path)


def listing(data, url, has_more=False):
    return {"object": "list", "url": url, "has_more": has_more, "data": data}


# --- the older generation --------------------------------------------------------------------------


def to_old_generation(store, account, node):
    """The object in the form of acacia and before: members that have moved since then are at their old place."""
    if isinstance(node, list):
        return [to_old_generation(store, account, each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {key: to_old_generation(store, account, value) for key, value in node.items()}
    convert = {"subscription": older_subscription, "invoice": older_invoice, "payment_intent": older_intent,
               "charge": older_intent, "checkout.session": older_session}.get(node.get("object"))
    if convert:
        convert(store, account, node)
    return node


def older_subscription(_store, _account, node):
    items = node["items"]["data"]
    node["current_period_start"] = min(item.pop("current_period_start") for item in items)
    node["current_period_end"] = max(item.pop("current_period_end") for item in items)
    node["discount"] = None
    node["plan"] = items[0]["plan"] if items and "plan" in items[0] else None
    node.pop("billing_mode", None)


def older_invoice(store, account, node):
    details = ((node.pop("parent", None) or {}).get("subscription_details")) or {}
    node["subscription"] = details.get("subscription")
    node["subscription_details"] = {"metadata": details.get("metadata")}
    node["paid"] = node["status"] == "paid"
    node["payment_intent"] = node["charge"] = None
    node.pop("payments", None)
    for payment in store.all(account, "invoice_payment"):
        if payment["invoice"] == node["id"]:
            node["payment_intent"] = payment["payment"].get("payment_intent")
            intent = store.find(account, "payment_intent", node["payment_intent"])
            node["charge"] = intent and intent["latest_charge"]


def older_intent(store, account, node):
    intent_id = node["id"] if node["object"] == "payment_intent" else node.get("payment_intent")
    node["invoice"] = None
    for payment in store.all(account, "invoice_payment"):
        if payment["payment"].get("payment_intent") == intent_id:
            node["invoice"] = payment["invoice"]


def older_session(_store, _account, node):
    collected = node.pop("collected_information", None) or {}
    node["shipping_details"] = collected.get("shipping_details")
    node["ui_mode"] = {"hosted_page": "hosted", "embedded_page": "embedded"}.get(node["ui_mode"], node["ui_mode"])


def snapshot(obj):
    """A copy that later changes do not affect."""
    return copy.deepcopy(obj)

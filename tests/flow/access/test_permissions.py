"""GET /permissions: the 92 system permissions, and four permissions of each entity."""
import pytest

# resource: actions, by the holder in a new project.
CRUD = ("read", "create", "update", "delete")
STANDARD = {
    "svc_documentation": ("read",),
    "svc_entities": CRUD,
    "svc_fields": CRUD,
    "svc_workflows": (*CRUD, "trigger"),
    "svc_files": CRUD,
    "svc_secrets": CRUD,
    "svc_integrations": CRUD,
    "svc_ai_chat": CRUD,
    "svc_dashboards": CRUD,
    "svc_tenant_devices": ("create",),
    "svc_modules": CRUD,
    "svc_search": ("read",),
    "svc_realtime": ("read",),
    "svc_exports": ("create",),
}
ADMINISTRATOR = {
    "svc_menus": CRUD,
    "svc_roles": CRUD,
    "svc_permissions": CRUD,
    "svc_users": CRUD,
    "svc_user_profiles": ("read", "update"),
    "svc_payments": ("read", "create", "update"),
    "svc_subscription_plans": ("read",),
    "svc_subscriptions": CRUD,
    "svc_offers": CRUD,
    "svc_balances": ("read", "update"),
    "svc_ai_config": ("read", "update"),
    "svc_tenant_push_categories": ("update",),
    "svc_api_keys": CRUD,
    "svc_payment_methods": ("read", "create", "delete"),
    "svc_audit_log": ("read",),
    "svc_webhook_events": ("read", "update"),
}
OPT_IN = {"svc_groups": CRUD, "svc_group_data": ("read",)}


def names(table):
    return {f"{resource}:{action}" for resource, actions in table.items() for action in actions}


def listed(client):
    return client.get("/permissions", params={"limit": 500}, expect=200).json()


def test_92_system_permissions(admin):
    items = [item for item in listed(admin)["items"] if item["is_system"]]
    by_holder = {}
    for item in items:
        assert item["name"] == f"{item['resource']}:{item['action']}"
        by_holder.setdefault(item["default_holder"], set()).add(item["name"])
    assert len(items) == 92
    assert by_holder == {
        "standard": names(STANDARD), "administrator": names(ADMINISTRATOR), "opt_in": names(OPT_IN),
    }
    assert [len(by_holder[kind]) for kind in ("standard", "administrator", "opt_in")] == [42, 45, 5]


def test_default_roles_hold_what_they_are_promised(project):
    assert set(project.role_named("Standard User")["permissions"]) == names(STANDARD)
    administrator = project.role_named("Admin User")
    assert administrator["is_admin"] and administrator["permissions"] == []


def test_an_entity_brings_four_permissions_and_takes_them_along(project):
    project.entity("orders")
    added = {"orders:read", "orders:create", "orders:update", "orders:delete"}
    now = listed(project.admin)
    assert {item["name"] for item in now["items"] if not item["is_system"]} == added
    assert now["total_items"] == 96
    role = project.role(permissions=sorted(added))
    key = project.key(["orders:read", "svc_files:read"])
    assert project.role_named("Standard User")["permissions"] == sorted(names(STANDARD)), "given to administrators only"
    project.admin.delete("/entities/orders", expect=204)
    assert listed(project.admin)["total_items"] == 92
    assert project.admin.get(f"/roles/{role['id']}", expect=200).json()["permissions"] == []
    keys = project.admin.get("/api-keys", expect=200).json()["items"]
    assert next(item for item in keys if item["id"] == key.info["id"])["permissions"] == ["svc_files:read"]
    project.entity("orders")
    assert project.admin.get(f"/roles/{role['id']}", expect=200).json()["permissions"] == []


def test_a_renamed_entity_keeps_its_holders(project):
    project.entity("orders")
    role = project.role(permissions=["orders:read"])
    project.admin.put("/entities/orders", {"name": "sales"}, expect=200)
    assert project.admin.get(f"/roles/{role['id']}", expect=200).json()["permissions"] == ["sales:read"]


@pytest.mark.parametrize("limit", [1, 10, 91, 92, 93, 500])
def test_pages(shared_project, limit):
    seen, page = [], 1
    while True:
        answer = shared_project.admin.get("/permissions", params={"limit": limit, "page": page}, expect=200).json()
        assert answer["page"] == page and answer["page_size"] == limit
        seen += [item["name"] for item in answer["items"]]
        if not answer["has_next_page"] or page > 4:
            break
        page += 1
    whole = [item["name"] for item in listed(shared_project.admin)["items"]]
    assert seen == whole[: len(seen)] and len(seen) == min(len(whole), limit * page)


def test_fixed_order(shared_project):
    shared_project.admin.get("/permissions", params={"sort": "name"}, expect=400)

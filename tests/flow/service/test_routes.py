"""The gateway has the specified routes: the list below is compared with the routes that the gateway lists, and with the list
of all specified routes, if that file exists next to the checkout."""
import pytest

from groundwork.servers import ROOT

SPECIFIED = """
GET /entities/{entity}/items {entity}:read
GET /entities/{entity}/items/{id} {entity}:read
POST /entities/{entity}/items {entity}:create
PUT /entities/{entity}/items/{id} {entity}:update
DELETE /entities/{entity}/items/{id} {entity}:delete
POST /entities/{entity}/items/bulk {entity}:create
DELETE /entities/{entity}/items {entity}:delete
POST /entities/{entity}/items/import {entity}:create
POST /entities/{entity}/items/{id}/lock {entity}:update
DELETE /entities/{entity}/items/{id}/lock {entity}:update
GET /entities/{entity}/public/items public
GET /entities/{entity}/public/items/{id} public
GET /entities/{entity}/items/{id}/rls-users admin
PUT /entities/{entity}/items/{id}/rls-users admin
DELETE /entities/{entity}/items/{id}/rls-users admin
GET /entities/{entity}/items/{id}/rls-groups admin
PUT /entities/{entity}/items/{id}/rls-groups admin
DELETE /entities/{entity}/items/{id}/rls-groups admin
GET /entities svc_entities:read
POST /entities svc_entities:create
GET /entities/{entity} svc_entities:read
PUT /entities/{entity} svc_entities:update
DELETE /entities/{entity} svc_entities:delete
GET /entities/{entity}/fields svc_fields:read
POST /entities/{entity}/fields svc_fields:create
PUT /entities/{entity}/fields/{field} svc_fields:update
DELETE /entities/{entity}/fields/{field} svc_fields:delete
GET /docs svc_documentation:read
POST /auth/v1/token public
POST /auth/v1/refresh public
GET /auth/v1/google/authorize public
POST /auth/v1/google/callback public
GET /users svc_users:read
GET /users/me user
GET /users/{id} svc_users:read
POST /users svc_users:create
PUT /users/{id} svc_users:update
DELETE /users/{id} svc_users:delete
GET /roles svc_roles:read
POST /roles svc_roles:create
PUT /roles/{id} svc_roles:update
DELETE /roles/{id} svc_roles:delete
GET /permissions svc_permissions:read
GET /workflows svc_workflows:read
GET /workflows/{id} svc_workflows:read
POST /workflows svc_workflows:create
PUT /workflows/{id} svc_workflows:update
DELETE /workflows/{id} svc_workflows:delete
POST /workflows/{id}/trigger svc_workflows:trigger
POST /workflows/api/{route} svc_workflows:trigger
POST /workflows/endpoint/{route} svc_workflows:trigger
PUT / admin
POST /cors/clear-cache admin
GET /integrations/svcpay/payments svc_payments:read
GET /integrations/svcpay/payments/{id} svc_payments:read
GET /integrations/svcpay/payments/status/{status} svc_payments:read
POST /integrations/svcpay/payments svc_payments:create
POST /integrations/svcpay/payments/charge-payment-method svc_payments:create
POST /integrations/svcpay/payments/payment-intent/{id}/confirm svc_payments:update
POST /integrations/svcpay/payments/payment-intent/{id}/capture svc_payments:update
GET /integrations/svcpay/payments/payment-intent/{id} svc_payments:read
GET /integrations/svcpay/payment-methods svc_payments:read
GET /integrations/svcpay/payment-methods/{id} svc_payments:read
POST /integrations/svcpay/payment-methods/setup-intent svc_payments:create
DELETE /integrations/svcpay/payment-methods/{id} svc_payments:update
GET /integrations/svcpay/processor-connect admin
POST /integrations/svcpay/processor-connect admin
POST /integrations/svcpay/processor-connect/onboarding admin
GET /integrations/svcpay/processor-connect/fees admin
GET /integrations/svcpay/processor-connect/processor-fees admin
POST /integrations/svcpay/processor-connect/fees/calculate admin
GET /integrations/svcpay/payment-options svc_subscription_plans:read
POST /integrations/svcpay/subscription-plans admin
POST /integrations/svcpay/subscriptions svc_payments:create
GET /integrations/svcpay/subscriptions/me/entitlement svc_subscription_plans:read
GET /integrations/svcpay/subscriptions/by-user/{userId} admin
GET /integrations/svcpay/iap-store/credentials admin
POST /integrations/svcpay/iap-store/test-notification admin
PUT /push/credentials/fcm admin
PUT /push/credentials/web-push admin
GET /push/credentials admin
DELETE /push/credentials/{provider} admin
PUT /push/credentials/fcm/device-source admin
GET /push/vapid-public-key public
POST /push/devices svc_tenant_devices:create
GET /push/devices admin
DELETE /push/devices/{id} admin
GET /push/templates admin
POST /push/templates admin
POST /push/test admin
GET /push/categories admin
PUT /push/categories admin
POST /push/categories/sync svc_tenant_push_categories:update
POST /push/action-events public
GET /push/send-logs admin
GET /push/send-logs/{id} admin
GET /search user
GET /search/public public
POST /search/rehydrate admin
POST /search/rehydrate/{entity} admin
DELETE /search/purge admin
DELETE /search/purge/{entity} admin
GET /search/status admin
GET /files svc_files:read
GET /files/{id} svc_files:read
GET /files/{id}/get svc_files:read
GET /files/{id}/public public
POST /files svc_files:create
DELETE /files/{id} svc_files:delete
DELETE /files svc_files:delete
GET /storage admin
GET /email-templates admin
GET /email-templates/{type} admin
PUT /email-templates/{type} admin
""".split("\n")[1:-1]

# Complete lists of the routes without credentials, and of the routes for administrators only.
PUBLIC = {
    "GET /healthz",
    "GET /console",
    "POST /auth/v1/token",
    "POST /auth/v1/refresh",
    "GET /auth/v1/.well-known/jwks.json",
    "GET /auth/v1/google/authorize",
    "POST /auth/v1/google/callback",
    "GET /entities/{entity}/public/items",
    "GET /entities/{entity}/public/items/{id}",
    "GET /.well-known/openid-configuration",
    "GET /auth/v1/.well-known/openid-configuration",
    "GET /auth/ui",
    "GET /auth/v1/settings",
    "GET /docs/ui",
    "GET /docs/ui/{asset}",
    "GET /push/vapid-public-key",
    "POST /push/action-events",
    "GET /search/public",
    "GET /files/{id}/public",
    "GET /files/{id}/shared",
    "GET /mail/previews/{token}",
    "POST /auth/v1/recover",
    "POST /auth/v1/magic-link",
    "POST /auth/v1/verify",
    "POST /auth/v1/email-change/confirm",
}
ADMINISTRATOR = {
    "GET /",
    "PUT /",
    "POST /cors/clear-cache",
    "POST /permissions/simulate",
    "POST /auth/v1/keys/rotate",
    "GET /entities/{entity}/items/{id}/rls-users",
    "PUT /entities/{entity}/items/{id}/rls-users",
    "DELETE /entities/{entity}/items/{id}/rls-users",
    "GET /entities/{entity}/items/{id}/rls-groups",
    "PUT /entities/{entity}/items/{id}/rls-groups",
    "DELETE /entities/{entity}/items/{id}/rls-groups",
    "GET /integrations/svcpay/processor-connect",
    "POST /integrations/svcpay/processor-connect",
    "POST /integrations/svcpay/processor-connect/onboarding",
    "GET /integrations/svcpay/processor-connect/credentials",
    "PUT /integrations/svcpay/processor-connect/credentials",
    "DELETE /integrations/svcpay/processor-connect/credentials",
    "GET /integrations/svcpay/processor-connect/fees",
    "PUT /integrations/svcpay/processor-connect/fees",
    "GET /integrations/svcpay/processor-connect/processor-fees",
    "PUT /integrations/svcpay/processor-connect/processor-fees",
    "POST /integrations/svcpay/processor-connect/fees/calculate",
    "GET /integrations/svcpay/settings",
    "PUT /integrations/svcpay/settings",
    "POST /integrations/svcpay/subscription-plans",
    "PUT /integrations/svcpay/subscription-plans/{id}",
    "DELETE /integrations/svcpay/subscription-plans/{id}",
    "POST /integrations/svcpay/subscription-templates",
    "PUT /integrations/svcpay/subscription-templates/{id}",
    "DELETE /integrations/svcpay/subscription-templates/{id}",
    "GET /integrations/svcpay/iap-store/credentials",
    "PUT /integrations/svcpay/iap-store/credentials",
    "DELETE /integrations/svcpay/iap-store/credentials",
    "POST /integrations/svcpay/iap-store/test-notification",
    "GET /integrations/svcpay/iap-store/test-notification/{token}",
    "PUT /integrations/svcpay/subscriptions/{id}/users",
    "DELETE /integrations/svcpay/subscriptions/{id}/users/{user_id}",
    "GET /integrations/svcpay/subscriptions/by-user/{userId}",
    "GET /push/credentials",
    "PUT /push/credentials/fcm",
    "DELETE /push/credentials/fcm",
    "PUT /push/credentials/fcm/device-source",
    "PUT /push/credentials/web-push",
    "DELETE /push/credentials/web-push",
    "POST /push/credentials/web-push/rotate",
    "DELETE /push/credentials/{provider}",
    "GET /push/devices",
    "GET /push/devices/{id}",
    "DELETE /push/devices/{id}",
    "GET /push/templates",
    "POST /push/templates",
    "GET /push/templates/{template_type}",
    "PUT /push/templates/{template_type}",
    "DELETE /push/templates/{template_type}",
    "GET /push/categories",
    "PUT /push/categories",
    "POST /push/test",
    "GET /push/send-logs",
    "GET /push/send-logs/{id}",
    "GET /push/send-logs/{id}/deliveries",
    "POST /push/send-logs/{id}/cancel",
    "GET /search/status",
    "POST /search/rehydrate",
    "POST /search/rehydrate/{entity}",
    "DELETE /search/purge",
    "DELETE /search/purge/{entity}",
    "GET /search/settings",
    "PUT /search/settings",
    "GET /storage",
    "GET /email-templates",
    "GET /email-templates/shell",
    "PUT /email-templates/shell",
    "DELETE /email-templates/shell",
    "GET /email-templates/{type}",
    "PUT /email-templates/{type}",
    "DELETE /email-templates/{type}",
    "POST /email-templates/{type}/preview",
    "POST /email-templates/{type}/test",
    "GET /tenant-domains",
    "POST /tenant-domains",
    "GET /tenant-domains/{id}",
    "POST /tenant-domains/{id}/verify",
    "DELETE /tenant-domains/{id}",
    "GET /tenant-sender-addresses",
    "POST /tenant-sender-addresses",
    "GET /tenant-sender-addresses/{id}",
    "PUT /tenant-sender-addresses/{id}",
    "POST /tenant-sender-addresses/{id}/default",
    "PUT /tenant-sender-addresses/{id}/avatar",
    "DELETE /tenant-sender-addresses/{id}",
    "GET /mail/log",
    "GET /mail/log/{id}",
}
OPERATOR = {"GET /org", "POST /org", "GET /org/{project_id}", "DELETE /org/{project_id}"}
TOKEN_ONLY = {"POST /auth/v1/logout", "GET /auth/v1/user", "PUT /auth/v1/user", "PUT /users/me", "GET /push/devices/my",
              "DELETE /push/devices/my/{id}", "POST /auth/v1/email-change", "POST /auth/v1/redirect",
              "GET /users/me/sessions", "DELETE /users/me/sessions/{session_id}"}
USER = {"GET /users/me", "GET /permissions/explain", "GET /tasks", "GET /tasks/{id}", "GET /menus/my"}
# Specified for each user, but closed to a user whose roles lost a permission that Standard User has.
PERMITTED = {"GET /search user": "GET /search svc_search:read"}
AREAS = {"entities", "rls", "model", "docs", "auth", "users", "roles", "permissions", "workflows", "project", "payments",
         "push", "search", "files", "email"}


@pytest.fixture(scope="module")
def listed(session_gateway):
    done = session_gateway.run("--list-routes")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def by_auth(listed, auth):
    return {line.rsplit(" ", 1)[0] for line in listed if line.rsplit(" ", 1)[1] == auth}


def test_every_specified_endpoint_is_there_with_its_authorisation(listed):
    assert {PERMITTED.get(line, line) for line in SPECIFIED} - set(listed) == set()


def test_no_route_is_listed_twice(listed):
    names = [line.rsplit(" ", 1)[0] for line in listed]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("auth, expected", [("public", PUBLIC), ("admin", ADMINISTRATOR), ("operator", OPERATOR),
                                            ("token-only", TOKEN_ONLY), ("user", USER)])
def test_whoever_needs_no_permission_is_listed_here(listed, auth, expected):
    assert by_auth(listed, auth) == expected


def test_other_routes_ask_for_permissions_that_exist(listed, shared_project):
    items = shared_project.admin.get("/permissions", params={"limit": 500}, expect=200).json()["items"]
    known = {item["name"] for item in items} | {f"{{entity}}:{action}" for action in ("read", "create", "update", "delete")}
    asked = {line.rsplit(" ", 1)[1] for line in listed} - {"public", "admin", "operator", "token-only", "user"}
    assert asked - known == set()


def test_the_list_above_is_the_promised_one():
    path = ROOT.parent / "shared/spec/endpoints.tsv"
    if not path.exists():
        pytest.skip("the file does not exist next to this checkout")
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    wanted = {f"{method} {where} {auth}" for area, method, where, auth, _ in rows if area.rstrip("*") in AREAS}
    assert wanted == set(SPECIFIED)

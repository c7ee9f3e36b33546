"""The authorization matrix: every route that the gateway lists, for every kind of caller. A route without a row below fails,
and so does a row without a route."""
import json
import pathlib
import re

import pytest

from groundwork.client import Client
from groundwork.project import Project
from groundwork.soon import soon
from objects import Shared, filled, free_of_limits

ROOT = pathlib.Path(__file__).parents[3]
NONE = 424242  # an id that no object has
THING = "/entities/things"
ITEM = f"{THING}/items/{NONE}"
PAY = "/integrations/svcpay"

# "METHOD PATH": (an example path, a body or None). When success of the request would break other rows, the example names
# something that does not exist.
ROWS = {
    "GET /healthz": ("/healthz", None),
    "GET /org": ("/org", None),
    "POST /org": ("/org", {"project_id": "UPPER"}),
    "GET /org/{project_id}": ("/org/no-such-project", None),
    "DELETE /org/{project_id}": ("/org/no-such-project", None),
    "GET /": ("/", None),
    "PUT /": ("/", {"name": "Matrix"}),
    "POST /cors/clear-cache": ("/cors/clear-cache", None),
    "POST /auth/v1/token": ("/auth/v1/token", {"email": "nobody@example.org", "password": "wrong password"}),
    "POST /auth/v1/refresh": ("/auth/v1/refresh", {"refresh_token": "nothing"}),
    "POST /auth/v1/logout": ("/auth/v1/logout?scope=others", None),
    "GET /auth/v1/.well-known/jwks.json": ("/auth/v1/.well-known/jwks.json", None),
    "GET /auth/v1/user": ("/auth/v1/user", None),
    "PUT /auth/v1/user": ("/auth/v1/user", {"data": {}}),
    "GET /.well-known/openid-configuration": ("/.well-known/openid-configuration", None),
    "GET /auth/v1/.well-known/openid-configuration": ("/auth/v1/.well-known/openid-configuration", None),
    "POST /auth/v1/keys/rotate": ("/auth/v1/keys/rotate", None),
    "GET /auth/v1/google/authorize": ("/auth/v1/google/authorize?redirect_to=https://example.org", None),
    "POST /auth/v1/google/callback": ("/auth/v1/google/callback", {"code": "x", "state": "y"}),
    "GET /users": ("/users", None),
    "GET /users/me": ("/users/me", None),
    "PUT /users/me": ("/users/me", {"metadata": {}}),
    "GET /users/{id}": (f"/users/{NONE}", None),
    "POST /users": ("/users", {"email": "no address"}),
    "PUT /users/{id}": (f"/users/{NONE}", {"metadata": {}}),
    "DELETE /users/{id}": (f"/users/{NONE}", None),
    "POST /users/{id}/confirm": (f"/users/{NONE}/confirm", None),
    "GET /user-profiles": ("/user-profiles", None),
    "GET /user-profiles/{user_id}": (f"/user-profiles/{NONE}", None),
    "PUT /user-profiles/{user_id}": (f"/user-profiles/{NONE}", {"display_name": "x"}),
    "GET /roles": ("/roles", None),
    "GET /roles/{id}": (f"/roles/{NONE}", None),
    "POST /roles": ("/roles", {"name": ""}),
    "PUT /roles/{id}": (f"/roles/{NONE}", {"description": "x"}),
    "DELETE /roles/{id}": (f"/roles/{NONE}", None),
    "GET /permissions": ("/permissions", None),
    "GET /permissions/explain": ("/permissions/explain?path=/users/me", None),
    "POST /permissions/simulate": ("/permissions/simulate", {"role_ids": []}),
    "GET /realtime": ("/realtime?entities=nothing", None),
    "POST /realtime/ticket": ("/realtime/ticket", None),
    "GET /api-keys": ("/api-keys", None),
    "GET /api-keys/{id}": (f"/api-keys/{NONE}", None),
    "POST /api-keys": ("/api-keys", {"name": "k", "permissions": []}),
    "POST /api-keys/{id}/rotate": (f"/api-keys/{NONE}/rotate", None),
    "DELETE /api-keys/{id}": (f"/api-keys/{NONE}", None),
    "GET /groups": ("/groups", None),
    "GET /groups/my": ("/groups/my", None),
    "GET /groups/{id}": (f"/groups/{NONE}", None),
    "POST /groups": ("/groups", {"name": ""}),
    "PUT /groups/{id}": (f"/groups/{NONE}", {"description": "x"}),
    "DELETE /groups/{id}": (f"/groups/{NONE}", None),
    "GET /groups/{id}/members": (f"/groups/{NONE}/members", None),
    "POST /groups/{id}/members": (f"/groups/{NONE}/members", {"user_ids": [1]}),
    "DELETE /groups/{id}/members/{user_id}": (f"/groups/{NONE}/members/1", None),
    "GET /secrets": ("/secrets", None),
    "POST /secrets": ("/secrets", {"name": ""}),
    "GET /secrets/{name}": ("/secrets/NONE", None),
    "PUT /secrets/{name}": ("/secrets/NONE", {"value": "value"}),
    "DELETE /secrets/{name}": ("/secrets/NONE", None),
    "GET /integrations/svcpay/processor-connect": (f"{PAY}/processor-connect", None),
    "POST /integrations/svcpay/processor-connect": (f"{PAY}/processor-connect", {"country": "US"}),
    "POST /integrations/svcpay/processor-connect/onboarding": (f"{PAY}/processor-connect/onboarding", {"return_url": "x"}),
    "GET /integrations/svcpay/payments": (f"{PAY}/payments", None),
    "GET /integrations/svcpay/payments/status/{status}": (f"{PAY}/payments/status/succeeded", None),
    "GET /integrations/svcpay/payments/{id}": (f"{PAY}/payments/{NONE}", None),
    "POST /integrations/svcpay/payments": (f"{PAY}/payments", {"type": "one_off", "amount": 5, "currency": "usd"}),
    "POST /integrations/svcpay/payments/charge-payment-method":
        (f"{PAY}/payments/charge-payment-method", {"payment_method_id": NONE, "amount": 5, "currency": "usd"}),
    "GET /integrations/svcpay/payments/payment-intent/{id}": (f"{PAY}/payments/payment-intent/{NONE}", None),
    "POST /integrations/svcpay/payments/payment-intent/{id}/confirm": (f"{PAY}/payments/payment-intent/{NONE}/confirm", None),
    "POST /integrations/svcpay/payments/payment-intent/{id}/capture": (f"{PAY}/payments/payment-intent/{NONE}/capture", None),
    "POST /integrations/svcpay/payments/payment-intent/{id}/cancel": (f"{PAY}/payments/payment-intent/{NONE}/cancel", None),
    "POST /integrations/svcpay/payments/{id}/refund": (f"{PAY}/payments/{NONE}/refund", None),
    "GET /integrations/svcpay/payment-methods": (f"{PAY}/payment-methods", None),
    "GET /integrations/svcpay/payment-methods/{id}": (f"{PAY}/payment-methods/{NONE}", None),
    "POST /integrations/svcpay/payment-methods/setup-intent": (f"{PAY}/payment-methods/setup-intent", {}),
    "DELETE /integrations/svcpay/payment-methods/{id}": (f"{PAY}/payment-methods/{NONE}", None),
    "GET /integrations/svcpay/processor-connect/credentials": (f"{PAY}/processor-connect/credentials", None),
    "PUT /integrations/svcpay/processor-connect/credentials": (f"{PAY}/processor-connect/credentials", {"mode": "x"}),
    "DELETE /integrations/svcpay/processor-connect/credentials": (f"{PAY}/processor-connect/credentials", None),
    "GET /integrations/svcpay/processor-connect/fees": (f"{PAY}/processor-connect/fees", None),
    "PUT /integrations/svcpay/processor-connect/fees": (f"{PAY}/processor-connect/fees", {"percent": 2}),
    "GET /integrations/svcpay/processor-connect/processor-fees": (f"{PAY}/processor-connect/processor-fees", None),
    "PUT /integrations/svcpay/processor-connect/processor-fees": (f"{PAY}/processor-connect/processor-fees", {"rows": None}),
    "POST /integrations/svcpay/processor-connect/fees/calculate":
        (f"{PAY}/processor-connect/fees/calculate", {"amount": 10, "currency": "usd"}),
    "GET /integrations/svcpay/iap-store/credentials": (f"{PAY}/iap-store/credentials", None),
    "PUT /integrations/svcpay/iap-store/credentials": (f"{PAY}/iap-store/credentials", {"issuer_id": "x"}),
    "DELETE /integrations/svcpay/iap-store/credentials": (f"{PAY}/iap-store/credentials", None),
    "POST /integrations/svcpay/iap-store/test-notification": (f"{PAY}/iap-store/test-notification?environment=x", None),
    "GET /integrations/svcpay/iap-store/test-notification/{token}":
        (f"{PAY}/iap-store/test-notification/NONE?environment=x", None),
    "GET /integrations/svcpay/iap-store/account-token": (f"{PAY}/iap-store/account-token", None),
    "GET /integrations/svcpay/settings": (f"{PAY}/settings", None),
    "PUT /integrations/svcpay/settings": (f"{PAY}/settings", {"grace_days": 3}),
    "GET /integrations/svcpay/offers": (f"{PAY}/offers", None),
    "POST /integrations/svcpay/offers": (f"{PAY}/offers", {"name": ""}),
    "GET /integrations/svcpay/offers/{id}": (f"{PAY}/offers/{NONE}", None),
    "PUT /integrations/svcpay/offers/{id}": (f"{PAY}/offers/{NONE}", {"is_active": False}),
    "DELETE /integrations/svcpay/offers/{id}": (f"{PAY}/offers/{NONE}", None),
    "GET /integrations/svcpay/offers/{id}/codes": (f"{PAY}/offers/{NONE}/codes", None),
    "POST /integrations/svcpay/offers/{id}/codes": (f"{PAY}/offers/{NONE}/codes", {}),
    "PUT /integrations/svcpay/offers/{id}/codes/{code_id}": (f"{PAY}/offers/{NONE}/codes/1", {"is_active": False}),
    "DELETE /integrations/svcpay/offers/{id}/codes/{code_id}": (f"{PAY}/offers/{NONE}/codes/1", None),
    "GET /integrations/svcpay/offers/{id}/redemptions": (f"{PAY}/offers/{NONE}/redemptions", None),
    "GET /integrations/svcpay/offers/me/codes": (f"{PAY}/offers/me/codes", None),
    "POST /integrations/svcpay/offers/me/redeem": (f"{PAY}/offers/me/redeem", {"code": "NONE"}),
    "GET /integrations/svcpay/balances": (f"{PAY}/balances", None),
    "GET /integrations/svcpay/balances/{user_id}": (f"{PAY}/balances/{NONE}", None),
    "GET /integrations/svcpay/balances/{user_id}/history": (f"{PAY}/balances/{NONE}/history", None),
    "POST /integrations/svcpay/balances/{user_id}/adjust": (f"{PAY}/balances/{NONE}/adjust", {"amount": 0}),
    "GET /integrations/svcpay/webhook-events": (f"{PAY}/webhook-events", None),
    "GET /integrations/svcpay/webhook-events/{id}": (f"{PAY}/webhook-events/{NONE}", None),
    "POST /integrations/svcpay/webhook-events/{id}/replay": (f"{PAY}/webhook-events/{NONE}/replay", None),
    "GET /audit-log": ("/audit-log", None),
    "GET /entities": ("/entities", None),
    "POST /entities": ("/entities", {"name": "Not A Name"}),
    "GET /entities/{entity}": (THING, None),
    "PUT /entities/{entity}": (THING, {"label": "Things"}),
    "DELETE /entities/{entity}": ("/entities/nothing", None),
    "GET /entities/{entity}/fields": (f"{THING}/fields", None),
    "POST /entities/{entity}/fields": (f"{THING}/fields", {"name": "Not A Name", "type": "text"}),
    "GET /entities/{entity}/fields/{field}": (f"{THING}/fields/name", None),
    "PUT /entities/{entity}/fields/{field}": (f"{THING}/fields/nothing", {"indexed": True}),
    "DELETE /entities/{entity}/fields/{field}": (f"{THING}/fields/nothing", None),
    "GET /enums": ("/enums", None),
    "POST /enums": ("/enums", {"name": "Not A Name", "values": ["a"]}),
    "GET /enums/{name}": ("/enums/nothing", None),
    "PUT /enums/{name}": ("/enums/nothing", {"values": ["a"]}),
    "DELETE /enums/{name}": ("/enums/nothing", None),
    "GET /entities/{entity}/items": (f"{THING}/items", None),
    "GET /entities/{entity}/items/aggregate": (f"{THING}/items/aggregate?count=*", None),
    "GET /entities/{entity}/items/{id}": (ITEM, None),
    "POST /entities/{entity}/items": (f"{THING}/items", {"name": "made"}),
    "PUT /entities/{entity}/items/{id}": (ITEM, {"name": "x"}),
    "DELETE /entities/{entity}/items/{id}": (ITEM, None),
    "POST /entities/{entity}/items/{id}/lock": (f"{ITEM}/lock", {"ttl_seconds": 1}),
    "DELETE /entities/{entity}/items/{id}/lock": (f"{ITEM}/lock", None),
    "POST /entities/{entity}/items/bulk": (f"{THING}/items/bulk", {"items": [{"name": "made"}]}),
    "POST /entities/{entity}/items/delete-many": (f"{THING}/items/delete-many", {"ids": [NONE]}),
    "DELETE /entities/{entity}/items": (f"{THING}/items", {"ids": [NONE]}),
    "POST /entities/{entity}/items/import": (f"{THING}/items/import", None),
    "GET /entities/{entity}/items/deleted": (f"{THING}/items/deleted", None),
    "GET /entities/{entity}/items/{id}/history": (f"{ITEM}/history", None),
    "POST /entities/{entity}/items/{id}/history/{version}/restore": (f"{ITEM}/history/1/restore", None),
    "GET /entities/{entity}/items/export": (f"{THING}/items/export?format=jsonl", None),
    "GET /entities/{entity}/public/items": (f"{THING}/public/items", None),
    "GET /entities/{entity}/public/items/{id}": (f"{THING}/public/items/{NONE}", None),
    "GET /entities/{entity}/items/{id}/rls-users": (f"{ITEM}/rls-users", None),
    "PUT /entities/{entity}/items/{id}/rls-users": (f"{ITEM}/rls-users", {"items": []}),
    "DELETE /entities/{entity}/items/{id}/rls-users": (f"{ITEM}/rls-users", None),
    "GET /entities/{entity}/items/{id}/rls-groups": (f"{ITEM}/rls-groups", None),
    "PUT /entities/{entity}/items/{id}/rls-groups": (f"{ITEM}/rls-groups", {"items": []}),
    "DELETE /entities/{entity}/items/{id}/rls-groups": (f"{ITEM}/rls-groups", None),
    "GET /workflows": ("/workflows", None),
    "POST /workflows": ("/workflows", {"name": ""}),
    "GET /workflows/{id}": (f"/workflows/{NONE}", None),
    "PUT /workflows/{id}": (f"/workflows/{NONE}", {"name": "x"}),
    "DELETE /workflows/{id}": (f"/workflows/{NONE}", None),
    "GET /workflows/{id}/versions": (f"/workflows/{NONE}/versions", None),
    "GET /workflows/{id}/versions/{version}": (f"/workflows/{NONE}/versions/1", None),
    # Bodies of these three may be any JSON value, or may be missing.
    "POST /workflows/{id}/trigger": (f"/workflows/{NONE}/trigger", None),
    "POST /workflows/api/{route}": ("/workflows/api/nothing", None),
    "POST /workflows/endpoint/{route}": ("/workflows/endpoint/nothing", None),
    "GET /workflows/jobs": ("/workflows/jobs", None),
    "GET /workflows/{id}/jobs": (f"/workflows/{NONE}/jobs", None),
    "GET /workflows/jobs/{id}": (f"/workflows/jobs/{NONE}", None),
    "POST /workflows/jobs/{id}/cancel": (f"/workflows/jobs/{NONE}/cancel", None),
    "POST /workflows/jobs/retry": ("/workflows/jobs/retry", {"ids": [NONE]}),
    "POST /workflows/jobs/{id}/retry": (f"/workflows/jobs/{NONE}/retry", {"from_step": "x"}),
    "GET /files": ("/files", None),
    "GET /files/{id}": (f"/files/{NONE}", None),
    "PUT /files/{id}": (f"/files/{NONE}", {"filename": "x"}),
    "DELETE /files/{id}": (f"/files/{NONE}", None),
    "DELETE /files": ("/files", {"ids": [NONE]}),
    "POST /files/{id}/probe": (f"/files/{NONE}/probe", None),
    "POST /files/{id}/link": (f"/files/{NONE}/link", None),
    "POST /files": ("/files", None),
    "PUT /files/upload/{filename}": ("/files/upload/matrix.txt", None),
    "POST /files/tus": ("/files/tus", None),
    "GET /files/tus/{id}": ("/files/tus/none", None),
    "PUT /files/tus/{id}": ("/files/tus/none", None),
    "DELETE /files/tus/{id}": ("/files/tus/none", None),
    "GET /files/{id}/get": (f"/files/{NONE}/get", None),
    "GET /files/{id}/public": (f"/files/{NONE}/public", None),
    "GET /files/{id}/shared": (f"/files/{NONE}/shared?token=x", None),
    "GET /folders": ("/folders", None),
    "POST /folders": ("/folders", {"name": ""}),
    "GET /folders/{id}": (f"/folders/{NONE}", None),
    "PUT /folders/{id}": (f"/folders/{NONE}", {"name": "x"}),
    "DELETE /folders/{id}": (f"/folders/{NONE}", None),
    "GET /storage": ("/storage", None),
    "GET /tasks": ("/tasks", None),
    "GET /tasks/{id}": (f"/tasks/{NONE}", None),
    "GET /integrations/svcpay/subscription-plans": (f"{PAY}/subscription-plans", None),
    "POST /integrations/svcpay/subscription-plans": (f"{PAY}/subscription-plans", {"name": ""}),
    "GET /integrations/svcpay/subscription-plans/{id}": (f"{PAY}/subscription-plans/{NONE}", None),
    "PUT /integrations/svcpay/subscription-plans/{id}": (f"{PAY}/subscription-plans/{NONE}", {"name": "x"}),
    "DELETE /integrations/svcpay/subscription-plans/{id}": (f"{PAY}/subscription-plans/{NONE}", None),
    "GET /integrations/svcpay/subscription-templates": (f"{PAY}/subscription-templates", None),
    "POST /integrations/svcpay/subscription-templates": (f"{PAY}/subscription-templates", {"name": ""}),
    "GET /integrations/svcpay/subscription-templates/{id}": (f"{PAY}/subscription-templates/{NONE}", None),
    "PUT /integrations/svcpay/subscription-templates/{id}": (f"{PAY}/subscription-templates/{NONE}", {"name": "x"}),
    "DELETE /integrations/svcpay/subscription-templates/{id}": (f"{PAY}/subscription-templates/{NONE}", None),
    "GET /integrations/svcpay/subscriptions": (f"{PAY}/subscriptions", None),
    "POST /integrations/svcpay/subscriptions": (f"{PAY}/subscriptions", {"name": ""}),
    "GET /integrations/svcpay/subscriptions/{id}": (f"{PAY}/subscriptions/{NONE}", None),
    "PUT /integrations/svcpay/subscriptions/{id}": (f"{PAY}/subscriptions/{NONE}", {"metadata": {}}),
    "POST /integrations/svcpay/subscriptions/{id}/cancel": (f"{PAY}/subscriptions/{NONE}/cancel", {"at_period_end": False}),
    "POST /integrations/svcpay/subscriptions/{id}/resume": (f"{PAY}/subscriptions/{NONE}/resume", None),
    "GET /integrations/svcpay/subscriptions/{id}/users": (f"{PAY}/subscriptions/{NONE}/users", None),
    "PUT /integrations/svcpay/subscriptions/{id}/users": (f"{PAY}/subscriptions/{NONE}/users", {"user_ids": []}),
    "DELETE /integrations/svcpay/subscriptions/{id}/users/{user_id}": (f"{PAY}/subscriptions/{NONE}/users/1", None),
    "GET /integrations/svcpay/subscriptions/me/entitlement": (f"{PAY}/subscriptions/me/entitlement", None),
    "GET /integrations/svcpay/subscriptions/by-user/{userId}": (f"{PAY}/subscriptions/by-user/{NONE}", None),
    "GET /integrations/svcpay/payment-options": (f"{PAY}/payment-options?platform=ios", None),
    "GET /push/credentials": ("/push/credentials", None),
    "PUT /push/credentials/fcm": ("/push/credentials/fcm", {"service_account_json": "{}"}),
    "DELETE /push/credentials/fcm": ("/push/credentials/fcm", None),
    "PUT /push/credentials/fcm/device-source": ("/push/credentials/fcm/device-source", {}),
    "PUT /push/credentials/web-push": ("/push/credentials/web-push", {"subject": "x"}),
    "DELETE /push/credentials/web-push": ("/push/credentials/web-push", None),
    "POST /push/credentials/web-push/rotate": ("/push/credentials/web-push/rotate", None),
    "DELETE /push/credentials/{provider}": ("/push/credentials/nothing", None),
    "GET /push/vapid-public-key": ("/push/vapid-public-key", None),
    "POST /push/devices": ("/push/devices", {"provider": "fcm", "token": ""}),
    "GET /push/devices": ("/push/devices", None),
    "GET /push/devices/my": ("/push/devices/my", None),
    "DELETE /push/devices/my/{id}": (f"/push/devices/my/{NONE}", None),
    "GET /push/devices/{id}": (f"/push/devices/{NONE}", None),
    "DELETE /push/devices/{id}": (f"/push/devices/{NONE}", None),
    "GET /push/templates": ("/push/templates", None),
    "POST /push/templates": ("/push/templates", {"template_type": ""}),
    "GET /push/templates/{template_type}": ("/push/templates/nothing", None),
    "PUT /push/templates/{template_type}": ("/push/templates/nothing", {"title": "x"}),
    "DELETE /push/templates/{template_type}": ("/push/templates/nothing", None),
    "GET /push/categories": ("/push/categories", None),
    "PUT /push/categories": ("/push/categories", {"category": ""}),
    "POST /push/categories/sync": ("/push/categories/sync", {"categories": []}),
    "POST /push/test": ("/push/test", {"title": "x"}),
    "POST /push/action-events": ("/push/action-events", {"category": "x"}),
    "GET /push/send-logs": ("/push/send-logs", None),
    "GET /push/send-logs/{id}": (f"/push/send-logs/{NONE}", None),
    "GET /push/send-logs/{id}/deliveries": (f"/push/send-logs/{NONE}/deliveries", None),
    "POST /push/send-logs/{id}/cancel": (f"/push/send-logs/{NONE}/cancel", None),
    "GET /search": ("/search?q=thing", None),
    "GET /search/public": ("/search/public?q=thing", None),
    "GET /search/suggest": ("/search/suggest?q=thi", None),
    "GET /search/status": ("/search/status", None),
    "POST /search/rehydrate": ("/search/rehydrate", None),
    "POST /search/rehydrate/{entity}": ("/search/rehydrate/nothing", None),
    "DELETE /search/purge": ("/search/purge", None),
    "DELETE /search/purge/{entity}": ("/search/purge/nothing", None),
    "GET /search/settings": ("/search/settings", None),
    "PUT /search/settings": ("/search/settings", {"stop_words": ["the"]}),
    "POST /users/{id}/send-invite": (f"/users/{NONE}/send-invite", None),
    "POST /users/{id}/send-confirmation": (f"/users/{NONE}/send-confirmation", None),
    "POST /auth/v1/recover": ("/auth/v1/recover", {"email": "nobody@example.org"}),
    "POST /auth/v1/magic-link": ("/auth/v1/magic-link", {"email": "nobody@example.org"}),
    "POST /auth/v1/verify": ("/auth/v1/verify", {"type": "magic_link", "token": "none"}),
    "POST /auth/v1/email-change": ("/auth/v1/email-change", {"email": "no address"}),
    "POST /auth/v1/email-change/confirm": ("/auth/v1/email-change/confirm", {"token": "none"}),
    "GET /email-templates": ("/email-templates", None),
    "GET /email-templates/shell": ("/email-templates/shell", None),
    "PUT /email-templates/shell": ("/email-templates/shell", {"body_html": "none"}),
    "DELETE /email-templates/shell": ("/email-templates/shell", None),
    "GET /email-templates/{type}": ("/email-templates/invite", None),
    "PUT /email-templates/{type}": ("/email-templates/nothing", {"subject": "x"}),
    "DELETE /email-templates/{type}": ("/email-templates/nothing", None),
    "POST /email-templates/{type}/preview": ("/email-templates/invite/preview", {}),
    "POST /email-templates/{type}/test": ("/email-templates/nothing/test", {}),
    "GET /tenant-domains": ("/tenant-domains", None),
    "POST /tenant-domains": ("/tenant-domains", {"domain": "none"}),
    "GET /tenant-domains/{id}": (f"/tenant-domains/{NONE}", None),
    "POST /tenant-domains/{id}/verify": (f"/tenant-domains/{NONE}/verify", None),
    "DELETE /tenant-domains/{id}": (f"/tenant-domains/{NONE}", None),
    "GET /tenant-sender-addresses": ("/tenant-sender-addresses", None),
    "POST /tenant-sender-addresses": ("/tenant-sender-addresses", {"email": "none@none.example"}),
    "GET /tenant-sender-addresses/{id}": (f"/tenant-sender-addresses/{NONE}", None),
    "PUT /tenant-sender-addresses/{id}": (f"/tenant-sender-addresses/{NONE}", {"name": "x"}),
    "POST /tenant-sender-addresses/{id}/default": (f"/tenant-sender-addresses/{NONE}/default", None),
    "PUT /tenant-sender-addresses/{id}/avatar": (f"/tenant-sender-addresses/{NONE}/avatar", {"file_id": None}),
    "DELETE /tenant-sender-addresses/{id}": (f"/tenant-sender-addresses/{NONE}", None),
    "GET /mail/log": ("/mail/log", None),
    "GET /mail/log/{id}": (f"/mail/log/{NONE}", None),
    "GET /mail/previews/{token}": ("/mail/previews/none", None),
    "GET /menus/my": ("/menus/my", None),
    "GET /menus": ("/menus", None),
    "GET /menus/{id}": (f"/menus/{NONE}", None),
    "POST /menus": ("/menus", {"key": "", "label": "x"}),
    "PUT /menus/{id}": (f"/menus/{NONE}", {"label": "x"}),
    "DELETE /menus/{id}": (f"/menus/{NONE}", None),
    "POST /menus/{id}/items": (f"/menus/{NONE}/items", {"label": "x", "kind": "group"}),
    "PUT /menus/{id}/items/reorder": (f"/menus/{NONE}/items/reorder", {"items": [{"id": 1, "position": 0}]}),
    "PUT /menus/{id}/items/{itemId}": (f"/menus/{NONE}/items/1", {"label": "x"}),
    "DELETE /menus/{id}/items/{itemId}": (f"/menus/{NONE}/items/1", None),
    "GET /integrations": ("/integrations", None),
    "GET /integrations/{id}": (f"/integrations/{NONE}", None),
    "POST /integrations": ("/integrations", {"name": "", "base_url": "x"}),
    "PUT /integrations/{id}": (f"/integrations/{NONE}", {"description": "x"}),
    "DELETE /integrations/{id}": (f"/integrations/{NONE}", None),
    "POST /integrations/import": ("/integrations/import", {"document": {}}),
    "POST /integrations/{id}/operations/{name}/run": (f"/integrations/{NONE}/operations/x/run", {}),
    "GET /integrations/{id}/calls": (f"/integrations/{NONE}/calls", None),
    "GET /connections": ("/connections", None),
    "GET /connections/{id}": (f"/connections/{NONE}", None),
    "POST /connections": ("/connections", {"integration_id": NONE}),
    "PUT /connections/{id}": (f"/connections/{NONE}", {"name": "x"}),
    "DELETE /connections/{id}": (f"/connections/{NONE}", None),
    "GET /connections/{id}/calls": (f"/connections/{NONE}/calls", None),
    "POST /connections/{id}/authorize": (f"/connections/{NONE}/authorize", {"redirect_to": "x"}),
    "POST /connections/callback": ("/connections/callback", {"code": "x", "state": "x"}),
    "POST /connections/{id}/revoke": (f"/connections/{NONE}/revoke", None),
    "GET /ai/config": ("/ai/config", None),
    "PUT /ai/config": ("/ai/config", {"stall_seconds": 60}),
    "GET /ai/models": ("/ai/models", None),
    "GET /ai/v1/models": ("/ai/v1/models", None),
    "GET /ai/usage": ("/ai/usage", None),
    "GET /ai/conversations": ("/ai/conversations", None),
    "GET /ai/conversations/{id}": (f"/ai/conversations/{NONE}", None),
    "POST /ai/conversations": ("/ai/conversations", {"model": ""}),
    "PUT /ai/conversations/{id}": (f"/ai/conversations/{NONE}", {"title": "x"}),
    "DELETE /ai/conversations/{id}": (f"/ai/conversations/{NONE}", None),
    "GET /ai/conversations/{id}/messages": (f"/ai/conversations/{NONE}/messages", None),
    "POST /ai/conversations/{id}/messages": (f"/ai/conversations/{NONE}/messages", {"content": "x"}),
    "GET /ai/conversations/{id}/messages/{messageId}": (f"/ai/conversations/{NONE}/messages/1", None),
    "GET /ai/conversations/{id}/messages/{messageId}/events": (f"/ai/conversations/{NONE}/messages/1/events", None),
    "POST /ai/conversations/{id}/messages/{messageId}/cancel": (f"/ai/conversations/{NONE}/messages/1/cancel", None),
    "POST /ai/conversations/{id}/messages/{messageId}/confirm": (f"/ai/conversations/{NONE}/messages/1/confirm", {"run": False}),
    "POST /ai/v1/chat/completions": ("/ai/v1/chat/completions", {"messages": []}),
    "GET /charts": ("/charts", None),
    "GET /charts/{id}": (f"/charts/{NONE}", None),
    "POST /charts": ("/charts", {"name": ""}),
    "PUT /charts/{id}": (f"/charts/{NONE}", {"name": "x"}),
    "DELETE /charts/{id}": (f"/charts/{NONE}", None),
    "POST /charts/preview": ("/charts/preview", {"kind": "metric"}),
    "GET /charts/{id}/data": (f"/charts/{NONE}/data", None),
    "GET /charts/{id}/image.svg": (f"/charts/{NONE}/image.svg", None),
    "GET /charts/{id}/image.png": (f"/charts/{NONE}/image.png", None),
    "GET /materialized-views": ("/materialized-views", None),
    "GET /materialized-views/{name}": ("/materialized-views/none", None),
    "POST /materialized-views": ("/materialized-views", {"name": ""}),
    "PUT /materialized-views/{name}": ("/materialized-views/none", {"on_change": False}),
    "DELETE /materialized-views/{name}": ("/materialized-views/none", None),
    "POST /materialized-views/{name}/refresh": ("/materialized-views/none/refresh", None),
    "GET /materialized-views/{name}/rows": ("/materialized-views/none/rows", None),
    "GET /dashboards": ("/dashboards", None),
    "GET /dashboards/home": ("/dashboards/home", None),
    "PUT /dashboards/home": ("/dashboards/home", {"scope": "user", "dashboard_id": None}),
    "GET /dashboards/{id}": (f"/dashboards/{NONE}", None),
    "POST /dashboards": ("/dashboards", {"name": ""}),
    "PUT /dashboards/{id}": (f"/dashboards/{NONE}", {"name": "x"}),
    "DELETE /dashboards/{id}": (f"/dashboards/{NONE}", None),
    "POST /dashboards/{id}/widgets": (f"/dashboards/{NONE}/widgets", {"kind": "text", "text": "x"}),
    "PUT /dashboards/{id}/widgets/layout": (f"/dashboards/{NONE}/widgets/layout", {"items": [{"id": 1, "x": 0}]}),
    "PUT /dashboards/{id}/widgets/{widgetId}": (f"/dashboards/{NONE}/widgets/1", {"title": "x"}),
    "DELETE /dashboards/{id}/widgets/{widgetId}": (f"/dashboards/{NONE}/widgets/1", None),
    "GET /docs": ("/docs", None),
    "GET /docs/ui": ("/docs/ui", None),
    "GET /docs/ui/{asset}": ("/docs/ui/nothing.js", None),
}
# Permissions that a route requires in addition to the listed permission.
BESIDE = {"GET /entities/{entity}/items/export": "svc_exports:create",
          "POST /ai/conversations/{id}/messages/{messageId}/confirm": "svc_workflows:trigger"}
# Permissions that give access to a route as an alternative to the listed permission.
OR_ELSE = {
    "GET /integrations/svcpay/payment-methods": "svc_payment_methods:read",
    "GET /integrations/svcpay/payment-methods/{id}": "svc_payment_methods:read",
    "POST /integrations/svcpay/payment-methods/setup-intent": "svc_payment_methods:create",
    "DELETE /integrations/svcpay/payment-methods/{id}": "svc_payment_methods:delete",
}
TOKENS = ("/auth/v1/token", "/auth/v1/refresh", "/auth/v1/verify", "/auth/v1/email-change/confirm", "/files/{id}/shared")  # these answer 401 themselves
BODILESS = ("/lock", "/retry", "/cancel")  # the body is optional
PASSED_ON = {"/mail/previews/{token}", "/files/{id}/shared", "/files/{id}/public"}  # links, to which other sites add utm_source
OUTSIDE = ("/healthz", "/org")  # routes that are not below a project

ALLOWED, ANONYMOUS, REFUSED = "anything but 401, 403 and 5xx", {401}, {403}


class Route:
    def __init__(self, line):
        self.method, self.path, self.auth = line.split(None, 2)
        self.name = f"{self.method} {self.path}"
        self.outside = self.path.startswith(OUTSIDE)
        self.example, self.body = ROWS.get(self.name, (None, None))

    @property
    def permission(self):
        return self.auth.replace("{entity}", "things") if ":" in self.auth else None

    @property
    def permissions(self):
        return tuple(filter(None, (self.permission, BESIDE.get(self.name))))


@pytest.fixture(scope="module")
def routes(session_gateway):
    listed = session_gateway.run("--list-routes")
    assert listed.returncode == 0, listed.stderr
    every = [Route(line) for line in listed.stdout.splitlines()]
    lacking = {route.name for route in every if route.name not in ROWS}
    assert not lacking, f"routes without a row in the matrix: {lacking}"
    return every


@pytest.fixture(scope="module")
def world(session_gateway, operator, recorder):
    """A project with one entity, and callers that are created on first use."""
    project = Project(session_gateway, operator, recorder)
    project.entity("things", public_read=True)
    free_of_limits(project)
    project.plain = project.user(role_ids=[project.role("Nothing")["id"]])
    project.holders = {}
    return project


def check(routes, call, expected):
    """Calls every route; `expected(route)` is ALLOWED, a set of statuses, or None to skip the route."""
    wrong = []
    for route in routes:
        wanted = expected(route)
        if wanted is None:
            continue
        response = call(route)
        status = response.status_code
        fine = status not in (401, 403) and status < 500 if wanted is ALLOWED else status in wanted
        if not fine:
            wrong.append(f"{route.name} ({route.auth}): {status}, expected {wanted}: {response.text[:200]}")
    assert not wrong, "\n".join(wrong)


def caller(client):
    """Returns a function that calls a route as this client, and calls routes outside projects with the same credentials."""
    root = Client(client.base_url.split("/org/")[0], token=client.token, key=client.key)

    def call(route):
        options = {} if route.body is None else {"json": route.body}
        return (root if route.outside else client).request(route.method, route.example, **options)

    return call


def test_every_route_has_a_row_and_every_row_a_route(routes):
    assert {route.name for route in routes} == set(ROWS), "rows without a route"


def test_no_one(world, routes):
    check(routes, caller(world.client()), lambda route: None if route.auth == "public" else ANONYMOUS)


def test_public_routes_ask_nobody(world, routes):
    """Public routes may answer with an error, but never with one about missing credentials."""
    def expected(route):
        if route.auth != "public":
            return None
        return {401} if route.path in TOKENS else ALLOWED

    check(routes, caller(world.client()), expected)


def test_a_user_without_the_permission(world, routes):
    def expected(route):
        if route.auth == "public":
            return None
        if route.auth == "operator":
            return ANONYMOUS
        return ALLOWED if route.auth in ("user", "token-only") else REFUSED

    check(routes, caller(world.plain), expected)


def test_a_key_without_the_permission(world, routes):
    def expected(route):
        if route.auth == "public":
            return None
        if route.auth == "operator":
            return ANONYMOUS
        return ALLOWED if route.auth == "user" else REFUSED

    check(routes, caller(world.key([])), expected)


def holder(world, permissions):
    """A user with exactly these permissions."""
    if permissions not in world.holders:
        world.holders[permissions] = world.only(*permissions)
    return world.holders[permissions]


def test_a_user_with_the_permission(world, routes):
    def call(route):
        return caller(holder(world, route.permissions))(route)

    check(routes, call, lambda route: ALLOWED if route.permission else None)


def test_a_user_with_the_other_permission(world, routes):
    def call(route):
        return caller(holder(world, (OR_ELSE[route.name],)))(route)

    check(routes, call, lambda route: ALLOWED if route.name in OR_ELSE else None)


# No endpoint requires these: svc_modules and svc_subscriptions are reserved, and permissions are created and deleted only with
# their entities.
RESERVED = {f"{resource}:{action}" for resource in ("svc_modules", "svc_subscriptions", "svc_permissions")
            for action in ("read", "create", "update", "delete")} - {"svc_permissions:read"}


def test_every_permission_takes_something_away(world, routes):
    """Without one permission and with all others, a user cannot call its routes. Each permission of perm.def has routes or is
    reserved."""
    stated = re.findall(r'^PERM\(\w+, "(\w+)", "(\w+)"', (ROOT / "common/core/catalog/perm.def").read_text(), re.MULTILINE)
    every = [item["name"] for item in world.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    role, lost = world.role(permissions=every), set()
    user = world.user(role_ids=[role["id"]])

    def without(permissions, calls, status=403):
        left = [name for name in every if name not in permissions]
        world.admin.put(f"/roles/{role['id']}", {"permissions": left}, expect=200)
        for call in calls:
            soon(call, status)

    for permission in every:
        others = [route for route in routes if OR_ELSE.get(route.name) == permission]
        probe = others + [route for route in routes if permission in route.permissions]
        calls = {route.name: lambda route=route: caller(user)(route) for route in probe}
        if probe:
            closed = {permission} | {OR_ELSE.get(route.name) for route in probe} | {route.permission for route in others}
            without(closed, calls.values())
            without(closed - {permission}, [calls[route.name] for route in others], set(range(200, 500)) - {403})
            lost.add(permission)
    group = world.admin.post("/groups", {"name": "Those who share"}, expect=201).json()["id"]
    world.admin.post(f"/groups/{group}/members", {"user_ids": [user.user["id"]]}, expect=200)
    ask = [lambda: user.get(f"{THING}/items", headers={"X-Group-Id": str(group)})]
    without((), ask, 200)
    without({"svc_group_data:read"}, ask)
    lost.add("svc_group_data:read")
    system = {":".join(pair) for pair in stated}
    assert len(stated) == 92 == len(system & set(every)) and system - lost == RESERVED


def test_a_user_with_everything_is_no_administrator(world, routes):
    every = [item["name"] for item in world.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    user = world.only(*every)
    check(routes, caller(user), lambda route: REFUSED if route.auth == "admin" else None)


def test_a_key_with_the_permission(world, routes):
    keys = {}

    def call(route):
        if route.permissions not in keys:
            keys[route.permissions] = world.key(route.permissions)
        return caller(keys[route.permissions])(route)

    # A key cannot create keys, has no devices and gives no consent.
    no_key = ("POST /api-keys", "POST /api-keys/{id}/rotate", "POST /push/devices", "POST /connections/{id}/authorize", "POST /connections/callback",
              "POST /ai/conversations/{id}/messages/{messageId}/confirm")
    check(routes, call, lambda route: {403} if route.name in no_key else ALLOWED if route.permission else None)


def test_a7_an_administrators_key_on_administrator_and_token_routes(world, routes):
    every = [item["name"] for item in world.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    key = world.key(every)
    bearer = world.client(token=key.key)
    for client in (key, bearer):
        check(routes, caller(client), lambda route: REFUSED if route.auth in ("admin", "token-only") else None)


def test_the_api_access_flag(world, routes):
    """Routes of entity records require the flag in addition to the permission; other routes do not."""
    entity = [f"things:{action}" for action in ("read", "create", "update", "delete")]
    user = world.only(*entity, "svc_entities:read", api_access=False)

    def expected(route):
        if route.auth.startswith("{entity}"):
            return REFUSED
        return ALLOWED if route.auth == "svc_entities:read" else None

    check(routes, caller(user), expected)
    refused = user.get("/entities/things/items", expect=403)
    assert refused.json()["code"] == "api_access_disabled"


def test_an_administrator(world, routes):
    def expected(route):
        if route.auth == "public":
            return None
        return ANONYMOUS if route.auth == "operator" else ALLOWED

    check(routes, caller(world.administrator()), expected)


def test_what_is_explained_is_what_happens(world, routes):
    """GET /permissions/explain and POST /permissions/simulate agree with the answers of the routes."""
    every = [item["name"] for item in world.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    wrong = []
    for client in (world.plain, world.only(*every), world.key(every), world.administrator()):
        simulated = simulate(world, client)
        for route in routes:
            if route.outside or route.auth == "operator":
                continue
            status = caller(client)(route).status_code
            told = client.get("/permissions/explain",
                              params={"method": route.method, "path": route.example.split("?")[0]}, expect=200).json()
            refused = told["status"] in (401, 403) and not told["allowed"]
            if route.auth != "public" and refused != (status in (401, 403)):
                wrong.append(f"{route.name}: {status}, explained {told}")
            if simulated and route.auth != "public" and simulated[route.name] == refused:
                wrong.append(f"{route.name}: {status}, simulated allowed: {simulated[route.name]}")
    assert not wrong, "\n".join(wrong)


def simulate(world, client):
    """Returns {"METHOD PATH": allowed} for a user's roles, and None for a key."""
    if client.key:
        return None
    body = {"role_ids": client.get("/users/me", expect=200).json()["role_ids"], "entity": "things"}
    found, page = {}, 1
    while True:
        answer = world.admin.post("/permissions/simulate", body, params={"limit": 500, "page": page}, expect=200).json()
        for item in answer["items"]:
            path = item["path"].replace("/things/", "/{entity}/") if item["entity"] else item["path"]
            found[f"{item['method']} {path}"] = item["allowed"]
        if not answer["has_next_page"]:
            return found
        page += 1


def test_a1_tokens_and_keys_of_another_project(world, routes, operator, recorder, session_gateway):
    other = Project(session_gateway, operator, recorder)
    other.entity("things")
    every = [item["name"] for item in other.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    foreign = [world.client(token=other.admin.token), world.client(token=other.user().token),
               world.client(key=other.key(every).key)]
    for client in foreign:
        check(routes, caller(client), lambda route: None if route.auth == "public" else ANONYMOUS)


def test_the_operator_token_opens_no_project(world, routes, servers):
    client = world.client(token=servers.operator_token)
    check(routes, caller(client), lambda route: None if route.auth in ("public", "operator") else ANONYMOUS)


def test_h8_headers_of_other_systems_are_no_credentials(world, routes):
    headers = {"X-User-Id": "1", "X-Forwarded-User": "admin@example.org", "X-Original-URL": "/healthz",
               "X-HTTP-Method-Override": "GET", "X-Forwarded-For": "127.0.0.1", "Cookie": f"token={world.admin.token}"}
    client = world.client()
    client.session.headers.update(headers)
    root = Client(world.gateway.url)
    root.session.headers.update(headers)

    def call(route):
        options = {} if route.body is None else {"json": route.body}
        return (root if route.outside else client).request(route.method, route.example, **options)

    check(routes, call, lambda route: None if route.auth == "public" else ANONYMOUS)


def test_a_project_that_does_not_exist_is_404_before_anything_else(world, routes):
    for client in (Client(f"{world.gateway.url}/org/no-such-project"),
                   Client(f"{world.gateway.url}/org/no-such-project", token=world.admin.token)):
        wrong = []
        for route in routes:
            if route.outside:
                continue
            options = {} if route.body is None else {"json": route.body}
            response = client.request(route.method, route.example, **options)
            if response.status_code != 404:
                wrong.append(f"{route.name}: {response.status_code}")
        assert not wrong, wrong


def test_head_answers_as_get_does(world, routes):
    wrong = []
    for route in routes:
        if route.method != "GET" or route.outside or route.path in ("/docs/ui",):
            continue
        for client in (world.admin, world.client()):
            got = client.request("GET", route.example)
            head = client.request("HEAD", route.example)
            if head.status_code != got.status_code or head.content:
                wrong.append(f"{route.name}: GET {got.status_code}, HEAD {head.status_code}")
    assert not wrong, wrong


def test_patch_is_put(world, routes):
    wrong = []
    for route in routes:
        if route.method == "PUT":
            put = world.admin.request("PUT", route.example, json=route.body).status_code
            patch = world.admin.request("PATCH", route.example, json=route.body).status_code
            if put != patch:
                wrong.append(f"{route.name}: PUT {put}, PATCH {patch}")
            nobody = world.client().request("PATCH", route.example, json=route.body).status_code
            if nobody != 401:
                wrong.append(f"PATCH {route.path} without credentials: {nobody}")
    assert not wrong, wrong


def test_other_methods_are_405_with_allow(world, routes):
    """Requests without credentials are answered with 405, or with 401 when another route has this path and method."""
    wrong = []
    for route in routes:
        methods = {other.method for other in routes if other.path == route.path}
        for method in {"GET", "POST", "PUT", "DELETE"} - methods:
            response = world.client().request(method, route.example) if not route.outside else None
            if response is None or response.status_code == 401:
                continue
            allowed = {name.strip() for name in response.headers.get("Allow", "").split(",")}
            if response.status_code != 405 or not methods <= allowed or method in allowed:
                wrong.append(f"{method} {route.example}: {response.status_code}, Allow {sorted(allowed)}")
    assert not wrong, wrong


@pytest.fixture(scope="module")
def furnished(session_gateway, servers, operator, recorder):
    """A project with objects of its administrator: a route finds errors of a body only if its object exists."""
    project = Project(session_gateway, operator, recorder)
    free_of_limits(project)
    with servers.connect() as db:
        project.objects = Shared(project, db).own(project.admin)
    return project


def missing(path, response):
    """Whether the answer is 404 because an object of this kind does not exist: some kinds need a processor."""
    return response.status_code == 404 and str(NONE) in path


def test_j2_duplicate_keys_in_every_body(furnished, routes):
    """J2: the checked value must be the stored value, so a body with duplicate names is refused."""
    wrong = []
    for route in routes:
        if route.body is None or route.outside:
            continue
        text = json.dumps(route.body or {"any": 1})
        first, value = (json.dumps(each) for each in next(iter(json.loads(text).items())))
        doubled = text[:-1] + f",{first}:{value}" + "}"
        nested = '{"nested":{"a":1,"a":2},' + text[1:]
        escaped = text[:-1] + f',"\\u{ord(first[1]):04x}{first[2:]}:null' + "}"
        for body in (doubled, nested, escaped):
            path = filled(route.path, furnished.objects)
            response = furnished.admin.request(route.method, path, data=body.encode(), headers={"Content-Type": "application/json"})
            if (response.status_code != 400 or response.json()["code"] != "invalid_json") and not missing(path, response):
                wrong.append(f"{route.name} {body}: {response.status_code} {response.text[:120]}")
    assert not wrong, "\n".join(wrong)


def test_unknown_query_parameters_are_named(world, routes):
    wrong = []
    for route in routes:
        if route.outside or route.method != "GET" or route.path.startswith(("/docs/ui", "/auth/")) or route.path in PASSED_ON:
            continue
        mark = "&" if "?" in route.example else "?"
        response = world.admin.get(f"{route.example}{mark}surprise=1")
        missing = response.status_code == 404 and (str(NONE) in route.example or "nothing" in route.example)
        if not missing and (response.status_code != 400 or "surprise" not in response.text):
            wrong.append(f"{route.name}: {response.status_code} {response.text[:120]}")
    assert not wrong, "\n".join(wrong)


def test_a_body_that_is_no_object_is_400_everywhere(furnished, routes):
    wrong = []
    for route in routes:
        if route.body is None or route.outside:
            continue
        path = filled(route.path, furnished.objects)
        for body in ("[]", "null", "1", '"x"', "", "{", "\ufeff{}", "{}{}"):
            response = furnished.admin.request(route.method, path, data=body.encode(), headers={"Content-Type": "application/json"})
            if response.status_code not in (400,) and not missing(path, response) and not (body == "" and route.path.endswith(BODILESS)):
                wrong.append(f"{route.name} {body!r}: {response.status_code} {response.text[:120]}")
        response = furnished.admin.request(route.method, path, data=json.dumps(route.body), headers={"Content-Type": "text/plain"})
        if response.status_code not in (415, 400) and not missing(path, response):
            wrong.append(f"{route.name} text/plain: {response.status_code} {response.text[:120]}")
    assert not wrong, "\n".join(wrong)

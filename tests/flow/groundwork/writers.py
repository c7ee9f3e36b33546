"""One request for each writing route, and the objects that the routes act on."""
import itertools

from groundwork.project import PASSWORD
from groundwork.push_keys import service_account
from groundwork.workflows import document

PAY = "/integrations/svcpay"
NAME = {"name": "name", "type": "varchar", "searchable": True, "options": {"max_length": 50}}
CODE = {"name": "code", "type": "varchar", "unique": True, "options": {"max_length": 50}}
AMOUNT = {"name": "amount", "type": "integer"}
_numbers = itertools.count(1)


class World:
    """The objects that routes act on, each created on first use; deleting one affects no other test."""

    def __init__(self, project):
        self.project, self.admin, self.made = project, project.admin, {}
        self.number = next(_numbers)

    def __getitem__(self, name):
        if name not in self.made:
            self.made[name] = getattr(self, f"make_{name}")()
        return self.made[name]

    def make(self, path, body, member="id"):
        return self.admin.post(path, body, expect=201).json()[member]

    def make_entity(self):
        return self.project.entity(f"e{self.number}", [NAME, CODE, AMOUNT], history=True)["name"]

    def make_records(self):
        return [self.project.item(self["entity"], name="a", amount=number, code=f"c{number}")["id"] for number in range(2)]

    def make_enum(self):
        return self.make("/enums", {"name": f"n{self.number}", "values": ["a", "b"]}, "name")

    def make_user(self):
        body = {"email": f"once{self.number}@example.org", "password": PASSWORD,
                "role_ids": [self.project.role_named("Standard User")["id"]]}
        return self.make("/users", body)

    def session_of(self, user):
        return self.store("insert into {}.sessions (user_id, expires_at) values (%s, now() + interval '1 day') returning id", user)

    def make_session(self):
        return self.session_of(self["user"])

    def make_own_session(self):
        return self.session_of(self.admin.user["id"])

    def make_redirect(self):
        url = "https://app.example.org/signed-in"
        self.admin.put("/", {"settings": {"redirect_urls": [url]}}, expect=200)
        return url

    def make_role(self):
        return self.make("/roles", {"name": f"Role once {self.number}", "permissions": [f"{self['entity']}:read"]})

    def make_group(self):
        group = self.make("/groups", {"name": f"Group once {self.number}"})
        self.admin.post(f"/groups/{group}/members", {"user_ids": [self["user"]]})
        return group

    def make_file(self):
        return self.admin.put(f"/files/upload/once{self.number}", data=b"content", expect=201).json()["id"]

    def make_folder(self):
        return self.make("/folders", {"name": f"Folder once {self.number}"})

    def make_menu(self):
        return self.make("/menus", {"key": f"once-{self.number}", "label": "Menu"})

    def make_conversation(self):
        return self.make("/ai/conversations", {"title": "Once"})

    def make_integration(self):
        return self.make("/integrations", {"name": f"once{self.number}", "base_url": "http://10.0.0.1", "auth": {"scheme": "bearer"},
                                           "operations": [{"name": "op", "method": "GET", "path": "/"}]})

    def make_connection(self):
        return self.make("/connections", {"integration_id": self["integration"], "credentials": {"token": "long enough"}})

    def make_menu_items(self):
        return [self.make(f"/menus/{self['menu']}/items", {"label": f"Item {n}", "kind": "group"}) for n in range(2)]

    def chart_body(self, name):
        return {"name": name, "kind": "metric", "entity": self["entity"], "aggregates": [{"function": "count"}]}

    def make_chart(self):
        return self.make("/charts", self.chart_body(f"Chart {self.number}"))

    def view_body(self, name):
        return {"name": name, "entity": self["entity"], "aggregates": [{"function": "count"}]}

    def make_view(self):
        return self.make("/materialized-views", self.view_body(f"once{self.number}"), "name")

    def make_dashboard(self):
        return self.make("/dashboards", {"name": f"Board {self.number}"})

    def make_widgets(self):
        bodies = ({"kind": "text", "text": "x"}, {"kind": "chart", "chart_id": self["chart"]})
        return [self.make(f"/dashboards/{self['dashboard']}/widgets", body) for body in bodies]

    def make_invited(self):
        return self.make("/users", {"email": f"invited{self.number}@example.org"})

    def make_mail_domain(self):
        """A domain that is verified without a name server and without a key."""
        return self.store("insert into {}.mail_domains (domain, token, selector, public_key, status, records) values"
                          " (%s, 'x', 'x', 'x', 'verified', '[]') returning id", f"once{self.number}.example.org")

    def make_sender(self):
        return self.store("insert into {}.mail_senders (email, domain_id) values (%s, %s) returning id",
                          f"ada@once{self.number}.example.org", self["mail_domain"])

    def store(self, statement, *values):
        with self.project.servers.connect() as db, db.cursor() as cursor:
            cursor.execute(statement.format(self.project.schema(db)), values)
            number = cursor.fetchone()[0]
            db.commit()
            return number

    def make_key(self):
        return self.make("/api-keys", {"name": f"k{self.number}", "permissions": [], "expires_in_days": 1})

    def make_secret(self):
        self.admin.post("/secrets", {"name": f"S{self.number}", "value": "long enough"}, expect=201)
        return f"S{self.number}"

    def make_workflow(self):
        return self.make("/workflows", document())

    def make_job(self):
        return self.admin.post(f"/workflows/{self['workflow']}/trigger", {}, expect=202).json()["job_id"]

    def make_device(self):
        return self.make("/push/devices", {"provider": "fcm", "token": f"once-{self.number}"})

    def make_push_template(self):
        return self.make("/push/templates", {"template_type": f"t{self.number}", "name": "x"}, "template_type")

    def make_send(self):
        return self.admin.post("/push/test", {"title": "x", "body": "x"}, expect=202).json()["send_log_id"]

    def make_plan(self):
        return self.make(f"{PAY}/subscription-plans", self.plan_body())

    def plan_body(self):
        return {"name": f"Plan {self.number}", "plan_name": f"plan{self.number}", "type": "recurring", "amount": 5,
                "currency": "usd", "billing_interval": "month"}

    def make_template(self):
        return self.make(f"{PAY}/subscription-templates", {"name": f"Template {self.number}", "plan_id": self["plan"]})

    def make_code(self):
        return self.make(f"{PAY}/offers/{self['offer']}/codes", {"count": 1}, "items")[0]

    def make_offer(self):
        return self.make(f"{PAY}/offers", {"name": f"Offer {self.number}", "kind": "credit", "amount": 5, "currency": "usd"})


def item(w, n):
    return f"/entities/{w['entity']}/items/{w['records'][n % 2]}"


# "METHOD PATH": the request of the n-th sender, as path and body.
WRITERS = {
    "PUT /": lambda w, n: ("/", {"name": f"At once {n}"}),
    "POST /cors/clear-cache": lambda w, n: ("/cors/clear-cache", None),
    "POST /auth/v1/keys/rotate": lambda w, n: ("/auth/v1/keys/rotate", None),
    "POST /auth/v1/redirect": lambda w, n: ("/auth/v1/redirect", {"redirect_to": w["redirect"]}),
    "PUT /users/me": lambda w, n: ("/users/me", {"metadata": {"n": n}}),
    "PUT /auth/v1/user": lambda w, n: ("/auth/v1/user", {"data": {"n": n}}),
    "POST /users": lambda w, n: ("/users", {"email": f"new{w.number}@example.org", "password": PASSWORD}),
    "PUT /users/{id}": lambda w, n: (f"/users/{w['user']}", {"metadata": {"n": n}, "role_ids": [w["role"]]}),
    "DELETE /users/{id}": lambda w, n: (f"/users/{w['user']}", None),
    "POST /users/{id}/confirm": lambda w, n: (f"/users/{w['user']}/confirm", None),
    "DELETE /users/{id}/sessions": lambda w, n: (f"/users/{w['user']}/sessions", None),
    "DELETE /users/{id}/sessions/{session_id}": lambda w, n: (f"/users/{w['user']}/sessions/{w['session']}", None),
    "DELETE /users/me/sessions/{session_id}": lambda w, n: (f"/users/me/sessions/{w['own_session']}", None),
    "PUT /user-profiles/{user_id}": lambda w, n: (f"/user-profiles/{w['user']}", {"display_name": f"n{n}"}),
    "POST /roles": lambda w, n: ("/roles", {"name": f"New {w.number}", "permissions": [f"{w['entity']}:read"]}),
    "PUT /roles/{id}": lambda w, n: (f"/roles/{w['role']}", {"permissions": [f"{w['entity']}:{('read', 'update')[n % 2]}"]}),
    "DELETE /roles/{id}": lambda w, n: (f"/roles/{w['role']}", None),
    "POST /api-keys": lambda w, n: ("/api-keys", {"name": f"new{w.number}", "permissions": [], "expires_in_days": 1}),
    "DELETE /api-keys/{id}": lambda w, n: (f"/api-keys/{w['key']}", None),
    "POST /groups": lambda w, n: ("/groups", {"name": f"New {w.number}", "role_ids": [w["role"]]}),
    "PUT /groups/{id}": lambda w, n: (f"/groups/{w['group']}", {"description": f"{n}", "role_ids": [w["role"]]}),
    "DELETE /groups/{id}": lambda w, n: (f"/groups/{w['group']}", None),
    "POST /groups/{id}/members": lambda w, n: (f"/groups/{w['group']}/members", {"user_ids": [w["user"]]}),
    "DELETE /groups/{id}/members/{user_id}": lambda w, n: (f"/groups/{w['group']}/members/{w['user']}", None),
    "PUT /files/{id}": lambda w, n: (f"/files/{w['file']}", {"filename": f"n{n}", "folder_id": w["folder"]}),
    "DELETE /files/{id}": lambda w, n: (f"/files/{w['file']}", None),
    "DELETE /files": lambda w, n: ("/files", {"ids": [w["file"]]}),
    "POST /files/{id}/probe": lambda w, n: (f"/files/{w['file']}/probe", None),
    "POST /files/{id}/link": lambda w, n: (f"/files/{w['file']}/link", {}),
    "PUT /files/upload/{filename}": lambda w, n: (f"/files/upload/n{n}?folder_id={w['folder']}", None),
    "POST /folders": lambda w, n: ("/folders", {"name": f"New {w.number}", "parent_id": w["folder"]}),
    "PUT /folders/{id}": lambda w, n: (f"/folders/{w['folder']}", {"name": f"n{w.number}.{n}"}),
    "DELETE /folders/{id}": lambda w, n: (f"/folders/{w['folder']}", None),
    "PUT /ai/config": lambda w, n: ("/ai/config", {"system_prompt": f"n{n}"}),
    "POST /ai/conversations": lambda w, n: ("/ai/conversations", {"title": f"n{n}"}),
    "PUT /ai/conversations/{id}": lambda w, n: (f"/ai/conversations/{w['conversation']}", {"title": f"n{n}"}),
    "DELETE /ai/conversations/{id}": lambda w, n: (f"/ai/conversations/{w['conversation']}", None),
    "POST /integrations": lambda w, n: ("/integrations", {"name": f"new{w.number}", "base_url": "https://example.org"}),
    "PUT /integrations/{id}": lambda w, n: (f"/integrations/{w['integration']}", {"description": f"n{n}"}),
    "DELETE /integrations/{id}": lambda w, n: (f"/integrations/{w['integration']}", None),
    "POST /integrations/import": lambda w, n: ("/integrations/import", {"name": f"imported{w.number}", "base_url": "https://example.org", "document": {
        "openapi": "3.0.3", "paths": {"/a": {"get": {"operationId": "a"}}}}}),
    "POST /connections": lambda w, n: ("/connections", {"integration_id": w["integration"], "name": f"n{n // 4}", "credentials": {"token": "long enough"}}),
    "PUT /connections/{id}": lambda w, n: (f"/connections/{w['connection']}", {"name": f"n{n}", "credentials": {"token": f"long enough {n}"}}),
    "DELETE /connections/{id}": lambda w, n: (f"/connections/{w['connection']}", None),
    "POST /connections/{id}/revoke": lambda w, n: (f"/connections/{w['connection']}/revoke", None),
    "POST /charts": lambda w, n: ("/charts", w.chart_body(f"n{n}")),
    "PUT /charts/{id}": lambda w, n: (f"/charts/{w['chart']}", {"kind": ("table", "metric")[n % 2]}),
    "DELETE /charts/{id}": lambda w, n: (f"/charts/{w['chart']}", None),
    "POST /charts/preview": lambda w, n: ("/charts/preview", w.chart_body(f"n{n}")),
    "POST /materialized-views": lambda w, n: ("/materialized-views", w.view_body(f"n{w.number}")),
    "PUT /materialized-views/{name}": lambda w, n: (f"/materialized-views/{w['view']}", {"on_change": n % 2 == 0}),
    "DELETE /materialized-views/{name}": lambda w, n: (f"/materialized-views/{w['view']}", None),
    "POST /materialized-views/{name}/refresh": lambda w, n: (f"/materialized-views/{w['view']}/refresh", None),
    "POST /dashboards": lambda w, n: ("/dashboards", {"name": f"n{n}", "role_ids": [w["role"]]}),
    "PUT /dashboards/{id}": lambda w, n: (f"/dashboards/{w['dashboard']}", {"name": f"n{n}", "role_ids": [w["role"]]}),
    "DELETE /dashboards/{id}": lambda w, n: (f"/dashboards/{w['dashboard']}", None),
    "PUT /dashboards/home": lambda w, n: ("/dashboards/home", {"scope": ("user", "project")[n % 2], "dashboard_id": w["dashboard"]}),
    "POST /dashboards/{id}/widgets": lambda w, n: (
        f"/dashboards/{w['dashboard']}/widgets", {"kind": "list", "entity": w["entity"], "title": f"n{n}"}),
    "PUT /dashboards/{id}/widgets/layout": lambda w, n: (f"/dashboards/{w['dashboard']}/widgets/layout", {"items": [
        {"id": number, "y": place * 4} for place, number in enumerate(w["widgets"][:: -1 if n % 4 < 2 else 1])]}),
    "PUT /dashboards/{id}/widgets/{widgetId}": lambda w, n: (
        f"/dashboards/{w['dashboard']}/widgets/{w['widgets'][n % 2]}", {"title": f"n{n}"}),
    "DELETE /dashboards/{id}/widgets/{widgetId}": lambda w, n: (
        f"/dashboards/{w['dashboard']}/widgets/{w['widgets'][n % 2]}", None),
    "POST /menus": lambda w, n: ("/menus", {"key": f"new-{w.number}", "label": "x"}),
    "PUT /menus/{id}": lambda w, n: (f"/menus/{w['menu']}", {"label": f"n{n}"}),
    "DELETE /menus/{id}": lambda w, n: (f"/menus/{w['menu']}", None),
    "POST /menus/{id}/items": lambda w, n: (f"/menus/{w['menu']}/items", {"label": f"n{n}", "kind": "group"}),
    "PUT /menus/{id}/items/reorder": lambda w, n: (f"/menus/{w['menu']}/items/reorder", {"items": [
        {"id": number, "position": place} for place, number in enumerate(w["menu_items"][:: -1 if n % 4 < 2 else 1])]}),
    "PUT /menus/{id}/items/{itemId}": lambda w, n: (
        f"/menus/{w['menu']}/items/{w['menu_items'][n % 2]}", {"label": f"n{n}"}),
    "DELETE /menus/{id}/items/{itemId}": lambda w, n: (f"/menus/{w['menu']}/items/{w['menu_items'][n % 2]}", None),
    "POST /entities": lambda w, n: ("/entities", {"name": f"new{w.number}", "fields": [NAME]}),
    "PUT /entities/{entity}": lambda w, n: (f"/entities/{w['entity']}", {"label": f"n{n}", "row_level_security": n % 2 == 0}),
    "DELETE /entities/{entity}": lambda w, n: (f"/entities/{w['entity']}", None),
    "POST /entities/{entity}/fields": lambda w, n: (
        f"/entities/{w['entity']}/fields", {"name": f"new{n // 2}", "type": "integer", "indexed": True}),
    "PUT /entities/{entity}/fields/{field}": lambda w, n: (
        f"/entities/{w['entity']}/fields/amount", ({"indexed": n % 4 == 0}, {"options": {"max": 100 + n}})[n % 2]),
    "DELETE /entities/{entity}/fields/{field}": lambda w, n: (f"/entities/{w['entity']}/fields/amount", None),
    "POST /enums": lambda w, n: ("/enums", {"name": f"new{w.number}", "values": ["a"]}),
    "PUT /enums/{name}": lambda w, n: (f"/enums/{w['enum']}", {"values": ["a", f"n{n}"]}),
    "DELETE /enums/{name}": lambda w, n: (f"/enums/{w['enum']}", None),
    "POST /entities/{entity}/items": lambda w, n: (f"/entities/{w['entity']}/items", {"name": "x", "amount": n}),
    "PUT /entities/{entity}/items/{id}": lambda w, n: (item(w, n), {"name": f"n{n}"}),
    "DELETE /entities/{entity}/items/{id}": lambda w, n: (item(w, n), None),
    "POST /entities/{entity}/items/{id}/lock": lambda w, n: (f"{item(w, n)}/lock", {"ttl_seconds": 1}),
    "DELETE /entities/{entity}/items/{id}/lock": lambda w, n: (f"{item(w, n)}/lock", None),
    "POST /entities/{entity}/items/{id}/history/{version}/restore": lambda w, n: (f"{item(w, n)}/history/1/restore", None),
    "POST /entities/{entity}/items/bulk": lambda w, n: (
        f"/entities/{w['entity']}/items/bulk",
        {"mode": "upsert", "on_conflict": ["code"], "items": [{"code": f"b{i}", "name": f"n{n}"} for i in (range(6) if n % 4 < 2 else reversed(range(6)))]}),
    "POST /entities/{entity}/items/delete-many": lambda w, n: (
        f"/entities/{w['entity']}/items/delete-many", {"ids": w["records"][:: -1 if n % 2 else 1]}),
    "DELETE /entities/{entity}/items": lambda w, n: (
        f"/entities/{w['entity']}/items", {"ids": w["records"][:: -1 if n % 2 else 1]}),
    "PUT /entities/{entity}/items/{id}/rls-users": lambda w, n: (
        f"{item(w, n)}/rls-users", {"items": [{"user_id": w["user"], "can_update": n % 4 < 2}]}),
    "DELETE /entities/{entity}/items/{id}/rls-users": lambda w, n: (f"{item(w, n)}/rls-users", None),
    "PUT /entities/{entity}/items/{id}/rls-groups": lambda w, n: (
        f"{item(w, n)}/rls-groups", {"items": [{"group_id": w["group"]}, {"role_id": w["role"]}][:: -1 if n % 4 < 2 else 1]}),
    "DELETE /entities/{entity}/items/{id}/rls-groups": lambda w, n: (f"{item(w, n)}/rls-groups", None),
    "POST /secrets": lambda w, n: ("/secrets", {"name": f"N{w.number}", "value": "long enough"}),
    "PUT /secrets/{name}": lambda w, n: (f"/secrets/{w['secret']}", {"value": f"long enough {n}"}),
    "DELETE /secrets/{name}": lambda w, n: (f"/secrets/{w['secret']}", None),
    "POST /workflows": lambda w, n: ("/workflows", {**document(), "name": f"New {w.number}"}),
    "PUT /workflows/{id}": lambda w, n: (f"/workflows/{w['workflow']}", {"name": f"n{w.number}-{n}"}),
    "DELETE /workflows/{id}": lambda w, n: (f"/workflows/{w['workflow']}", None),
    "POST /workflows/{id}/trigger": lambda w, n: (f"/workflows/{w['workflow']}/trigger", {"n": n}),
    "POST /workflows/jobs/{id}/cancel": lambda w, n: (f"/workflows/jobs/{w['job']}/cancel", None),
    "POST /realtime/ticket": lambda w, n: ("/realtime/ticket", None),
    "POST /api-keys/{id}/rotate": lambda w, n: (f"/api-keys/{w['key']}/rotate", {"grace_seconds": n % 3}),
    "POST /workflows/jobs/cancel": lambda w, n: ("/workflows/jobs/cancel", {"ids": [w["job"]]}),
    "POST /workflows/jobs/retry": lambda w, n: ("/workflows/jobs/retry", {"ids": [w["job"]]}),
    "POST /workflows/jobs/{id}/retry": lambda w, n: (f"/workflows/jobs/{w['job']}/retry", None),
    "POST /push/devices": lambda w, n: ("/push/devices", {"provider": "fcm", "token": f"new-{w.number}-{n // 4}", "metadata": {"n": n}}),
    "DELETE /push/devices/{id}": lambda w, n: (f"/push/devices/{w['device']}", None),
    "DELETE /push/devices/my/{id}": lambda w, n: (f"/push/devices/my/{w['device']}", None),
    "POST /push/templates": lambda w, n: ("/push/templates", {"template_type": f"new{w.number}", "name": "x"}),
    "PUT /push/templates/{template_type}": lambda w, n: (f"/push/templates/{w['push_template']}", {"title": f"n{n}"}),
    "DELETE /push/templates/{template_type}": lambda w, n: (f"/push/templates/{w['push_template']}", None),
    "PUT /push/categories": lambda w, n: ("/push/categories", {"category": f"g{n % 2}", "label": f"n{n}"}),
    "POST /push/categories/sync": lambda w, n: ("/push/categories/sync", {"categories": [
        {"id": f"g{i}", "actions": [{"id": f"a{n}", "label": "x"}]} for i in (range(4) if n % 4 < 2 else reversed(range(4)))]}),
    "POST /push/test": lambda w, n: ("/push/test", {"title": "x", "body": f"n{n}", "target_user_id": w["user"]}),
    "POST /push/send-logs/{id}/cancel": lambda w, n: (f"/push/send-logs/{w['send']}/cancel", None),
    "PUT /email-templates/shell": lambda w, n: ("/email-templates/shell", {"body_html": f"{n} {{{{ content }}}}"}),
    "DELETE /email-templates/shell": lambda w, n: ("/email-templates/shell", None),
    "PUT /email-templates/{type}": lambda w, n: ("/email-templates/invite", {"subject": f"n{n}"}),
    "DELETE /email-templates/{type}": lambda w, n: ("/email-templates/invite", None),
    "POST /email-templates/{type}/preview": lambda w, n: ("/email-templates/invite/preview", {"subject": f"n{n}"}),
    "POST /email-templates/{type}/test": lambda w, n: ("/email-templates/invite/test", {"subject": f"n{n}"}),
    "POST /tenant-domains": lambda w, n: ("/tenant-domains", {"domain": f"new{w.number}.example.org"}),
    "DELETE /tenant-domains/{id}": lambda w, n: (f"/tenant-domains/{w['mail_domain']}", None),
    "POST /tenant-sender-addresses": lambda w, n: ("/tenant-sender-addresses", {
        "email": f"new{n // 4}@once{w.number}.example.org", "is_default": bool(w["mail_domain"] and n % 2)}),
    "PUT /tenant-sender-addresses/{id}": lambda w, n: (f"/tenant-sender-addresses/{w['sender']}", {"name": f"n{n}"}),
    "POST /tenant-sender-addresses/{id}/default": lambda w, n: (f"/tenant-sender-addresses/{w['sender']}/default", None),
    "PUT /tenant-sender-addresses/{id}/avatar": lambda w, n: (f"/tenant-sender-addresses/{w['sender']}/avatar", {"file_id": None}),
    "DELETE /tenant-sender-addresses/{id}": lambda w, n: (f"/tenant-sender-addresses/{w['sender']}", None),
    "POST /users/{id}/send-invite": lambda w, n: (f"/users/{w['invited']}/send-invite", None),
    "POST /users/{id}/send-confirmation": lambda w, n: (f"/users/{w['user']}/send-confirmation", None),
    "POST /auth/v1/recover": lambda w, n: ("/auth/v1/recover", {"email": f"once{w.number}@example.org"}),
    "POST /auth/v1/magic-link": lambda w, n: ("/auth/v1/magic-link", {"email": f"once{w.number}@example.org"}),
    "PUT /search/settings": lambda w, n: ("/search/settings", {"stop_words": [f"n{n}"]}),
    "POST /search/rehydrate": lambda w, n: ("/search/rehydrate", None),
    "POST /search/rehydrate/{entity}": lambda w, n: (f"/search/rehydrate/{w['entity']}", None),
    "DELETE /search/purge": lambda w, n: ("/search/purge", None),
    "DELETE /search/purge/{entity}": lambda w, n: (f"/search/purge/{w['entity']}", None),
    "PUT /push/credentials/web-push": lambda w, n: ("/push/credentials/web-push", {"subject": f"mailto:n{n}@example.org"}),
    "POST /push/credentials/web-push/rotate": lambda w, n: ("/push/credentials/web-push/rotate", None),
    "DELETE /push/credentials/web-push": lambda w, n: ("/push/credentials/web-push", None),
    "DELETE /push/credentials/{provider}": lambda w, n: ("/push/credentials/web_push", None),
    "PUT /push/credentials/fcm": lambda w, n: ("/push/credentials/fcm", {"service_account_json": service_account()}),
    "DELETE /push/credentials/fcm": lambda w, n: ("/push/credentials/fcm", None),
    "PUT /push/credentials/fcm/device-source": lambda w, n: ("/push/credentials/fcm/device-source", {}),
    "PUT /integrations/svcpay/processor-connect/fees": lambda w, n: (f"{PAY}/processor-connect/fees", {"percent": n}),
    "PUT /integrations/svcpay/processor-connect/processor-fees": lambda w, n: (
        f"{PAY}/processor-connect/processor-fees", {"rows": None}),
    "PUT /integrations/svcpay/settings": lambda w, n: (f"{PAY}/settings", {"grace_days": n}),
    "DELETE /integrations/svcpay/processor-connect/credentials": lambda w, n: (f"{PAY}/processor-connect/credentials", None),
    "DELETE /integrations/svcpay/iap-store/credentials": lambda w, n: (f"{PAY}/iap-store/credentials", None),
    "POST /integrations/svcpay/subscription-plans": lambda w, n: (f"{PAY}/subscription-plans", w.plan_body()),
    "PUT /integrations/svcpay/subscription-plans/{id}": lambda w, n: (
        f"{PAY}/subscription-plans/{w['plan']}", {"name": f"Plan {w.number}.{n}"}),
    "DELETE /integrations/svcpay/subscription-plans/{id}": lambda w, n: (f"{PAY}/subscription-plans/{w['plan']}", None),
    "POST /integrations/svcpay/offers": lambda w, n: (
        f"{PAY}/offers", {"name": f"New {w.number}", "kind": "credit", "amount": 5, "currency": "usd"}),
    "PUT /integrations/svcpay/offers/{id}": lambda w, n: (f"{PAY}/offers/{w['offer']}", {"is_active": n % 4 < 2}),
    "DELETE /integrations/svcpay/offers/{id}": lambda w, n: (f"{PAY}/offers/{w['offer']}", None),
    "POST /integrations/svcpay/offers/{id}/codes": lambda w, n: (f"{PAY}/offers/{w['offer']}/codes", {"count": 2}),
    "PUT /integrations/svcpay/offers/{id}/codes/{code_id}": lambda w, n: (
        f"{PAY}/offers/{w['offer']}/codes/{w['code']['id']}", {"is_active": n % 4 < 2}),
    "DELETE /integrations/svcpay/offers/{id}/codes/{code_id}": lambda w, n: (
        f"{PAY}/offers/{w['offer']}/codes/{w['code']['id']}", None),
    "POST /integrations/svcpay/offers/me/redeem": lambda w, n: (f"{PAY}/offers/me/redeem", {"code": w["code"]["code"]}),
    "POST /integrations/svcpay/subscription-templates": lambda w, n: (
        f"{PAY}/subscription-templates", {"name": f"New {w.number}", "plan_id": w["plan"]}),
    "PUT /integrations/svcpay/subscription-templates/{id}": lambda w, n: (
        f"{PAY}/subscription-templates/{w['template']}", {"description": f"n{n}"}),
    "DELETE /integrations/svcpay/subscription-templates/{id}": lambda w, n: (
        f"{PAY}/subscription-templates/{w['template']}", None),
    "PUT /integrations/svcpay/processor-connect/credentials": lambda w, n: (
        f"{PAY}/processor-connect/credentials", {"mode": "own", "secret_key": f"sk_test_abcdefgh1234567{n}"}),
    "POST /integrations/svcpay/processor-connect/fees/calculate": lambda w, n: (
        f"{PAY}/processor-connect/fees/calculate", {"amount": 10 + n, "currency": "usd"}),
    "POST /integrations/svcpay/balances/{user_id}/adjust": lambda w, n: (
        f"{PAY}/balances/{w['user']}/adjust", {"amount": 1 + n, "unit": "credits", "reason": "test"}),
}
# Paths of PUT that have no GET: another path returns the object.
ONLY_WRITTEN = {
    "/dashboards/{id}/widgets/layout", "/dashboards/{id}/widgets/{widgetId}", "/files/upload/{filename}",
    "/integrations/svcpay/offers/{id}/codes/{code_id}", "/menus/{id}/items/reorder", "/menus/{id}/items/{itemId}",
    "/push/credentials/fcm", "/push/credentials/fcm/device-source", "/push/credentials/web-push",
    "/tenant-sender-addresses/{id}/avatar",
}

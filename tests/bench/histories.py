"""The cost of history: creates and updates of two equal entities, one with history and one without."""
import statistics

from tools import CLIENTS, lua, requests_lua, wrk
from world import standard_user

RECORDS = 10_000
FIELDS = [
    {"name": "name", "type": "varchar", "required": True},
    {"name": "price", "type": "float", "indexed": True},
    {"name": "in_stock", "type": "bool"},
    {"name": "note", "type": "text"},
]
BODY = "'{\"name\":\"Product ' .. i .. '\",\"price\":' .. i % 1000 .. '.5,\"in_stock\":true,\"note\":\"" + "n" * 200 + "\"}'"


def fill(admin):
    items = [{"name": f"Product {n}", "price": n / 10, "in_stock": True, "note": "x" * 200} for n in range(1000)]
    for entity in ("plain", "kept"):
        admin.post("/entities", {"name": entity, "fields": FIELDS, "history": entity == "kept"}, expect=201)
    user = standard_user(admin, "plain")
    role = admin.post("/roles", {"name": "Kept", "api_access": True, "permissions": [
        f"kept:{action}" for action in ("read", "create", "update", "delete")]}, expect=201).json()
    admin.put(f"/users/{user.user_id}", {"role_ids": [role["id"], *user.get("/users/me", expect=200).json()["role_ids"]]}, expect=200)
    for entity in ("plain", "kept"):
        for _ in range(RECORDS // len(items)):
            user.post(f"/entities/{entity}/items/bulk", {"items": items}, expect=201)
    return user


def histories(world, folder, args, out, say):
    user = fill(world.project("histories"))
    headers = {"Authorization": f"Bearer {user.token}"}
    for name, method, path, bar in (("create", "POST", "'", 0.75), ("update", "PUT", "/' .. math.random(1, %d)" % RECORDS, 0.75)):
        rates, times = {"plain": [], "kept": []}, []
        for turn in range(args.rounds):
            say(f"  {name}, round {turn + 1} of {args.rounds}")
            for entity in sorted(rates, reverse=turn % 2 == 0):
                script = lua(folder, f"{name}-{entity}", f"wrk.method = '{method}'\nwrk.headers['Content-Type'] = 'application/json'\n"
                             + requests_lua(f"wrk.format(nil, '/org/histories/entities/{entity}/items{path}, nil, {BODY})"))
                found = wrk(world.gateway.url, args.seconds, script, headers)
                rates[entity].append(found["rate"])
                if entity == "kept":
                    times.append((found["p50"], found["p99"], found["errors"]))
        ratio = [kept / plain for kept, plain in zip(rates["kept"], rates["plain"])]
        errors = sum(each[2] for each in times)
        out.add(f"{name} with history / without", f"{statistics.median(ratio):.2f} x [{min(ratio):.2f} .. {max(ratio):.2f}]", f">= {bar}",
                statistics.median(ratio) >= bar and not errors,
                f"{statistics.median(rates['kept']):,.0f}/s against {statistics.median(rates['plain']):,.0f}/s; {CLIENTS} connections; "
                f"p50 {times[0][0]:.2f} ms, p99 {times[0][1]:.2f} ms; {errors} errors")

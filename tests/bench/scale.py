"""Does the rate stay flat with the number of projects and of entities?"""
import statistics

from tools import lua, wrk
from world import standard_user

SPREAD = 0.2


def flat(out, name, rates):
    """Rates by size: the lowest may be 20 % under the highest."""
    drop = 1 - min(rates.values()) / max(rates.values())
    text = ", ".join(f"{size}: {rate:,.0f}/s" for size, rate in rates.items())
    out.add(name, f"{drop:.0%} spread", f"<= {SPREAD:.0%}", drop <= SPREAD, text)


def median_rate(args, world, script):
    return statistics.median(wrk(world.gateway.url, args.seconds, script)["rate"] for _ in range(args.rounds))


def by_projects(world, folder, args, out, say):
    """One record of each project in turn, each with its own token."""
    targets, rates = [], {}
    for size in (1, 10, 100, 1000):
        while len(targets) < size:
            slug = f"scale-{len(targets)}"
            admin = world.project(slug)
            admin.post("/entities", {"name": "things", "fields": [{"name": "name", "type": "varchar"}]}, expect=201)
            user = standard_user(admin, "things")
            record = user.post("/entities/things/items", {"name": "one"}, expect=201).json()
            targets.append((f"/org/{slug}/entities/things/items/{record['id']}", user.token))
            if len(targets) % 100 == 0:
                say(f"  {len(targets)} projects")
        lines = ",\n".join(f'{{"{path}", "Bearer {token}"}}' for path, token in targets)
        script = lua(
            folder, "projects",
            f"local targets = {{{lines}}}\nlocal n = 0\nrequest = function() n = n % #targets + 1 "
            "return wrk.format('GET', targets[n][1], {Authorization = targets[n][2]}) end\n",
        )
        rates[size] = median_rate(args, world, script)
        say(f"  {size} projects: {rates[size]:,.0f}/s")
    flat(out, "get, by number of projects", rates)


def by_entities(world, folder, args, out, say):
    """One record of each entity of one project in turn."""
    admin = world.project("wide")
    paths, rates = [], {}
    for size in (1, 100, 1000):
        while len(paths) < size:
            name = f"thing_{len(paths)}"
            admin.post("/entities", {"name": name, "fields": [{"name": "name", "type": "varchar"}]}, expect=201)
            record = admin.post(f"/entities/{name}/items", {"name": "one"}, expect=201).json()
            paths.append(f"/org/wide/entities/{name}/items/{record['id']}")
            if len(paths) % 100 == 0:
                say(f"  {len(paths)} entities")
        lines = ", ".join(f'"{path}"' for path in paths)
        script = lua(
            folder, "entities",
            f"local paths = {{{lines}}}\nlocal n = 0\nrequest = function() n = n % #paths + 1 "
            f"return wrk.format('GET', paths[n], {{Authorization = 'Bearer {admin.token}'}}) end\n",
        )
        rates[size] = median_rate(args, world, script)
        say(f"  {size} entities: {rates[size]:,.0f}/s")
    flat(out, "get, by number of entities", rates)


def run(world, folder, args, out, say):
    say("scale: projects")
    by_projects(world, folder, args, out, say)
    say("scale: entities")
    by_entities(world, folder, args, out, say)

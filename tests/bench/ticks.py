"""The cost of an idle runner, and a thousand projects whose workflows are due in the same minute."""
import concurrent.futures
import time

from groundwork.client import Client
from groundwork.cpu import cpu_seconds
from groundwork.runs import condition
from groundwork.workflows import event, timed_trigger
from workflows import make_workflow
from world import PASSWORD

PROJECTS = 1000
MAKERS = 4  # threads that create projects
IDLE_SECONDS = 20
TICK_SECONDS = 2.0
LATE_SECONDS = 20  # after which the benchmark no longer waits for jobs


def process_tree(pid):
    """The process and all its descendants."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [pid, *(each for child in children.read().split() for each in process_tree(int(child)))]


def resident_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as text:
        return sum(int(line.split()[1]) for line in text if line.startswith("Rss:")) / 1024


def measure_idle(world, out, name):
    """Measures a runner without work: the CPU time of all its processes together, the memory of each."""
    runner = world.start_runner()
    try:
        time.sleep(5)
        pids = process_tree(runner.process.pid)
        before = cpu_seconds(pids)
        time.sleep(IDLE_SECONDS)
        share = (cpu_seconds(pids) - before) / IDLE_SECONDS
        worker = resident_mb(runner.workers()[0])
        scripts = [resident_mb(pid) for pid in pids if pid not in (runner.process.pid, *runner.workers())]
    finally:
        world.stop_runner()
    scripts_text = f"; {len(scripts)} script processes, the largest {max(scripts):.1f} MB" if scripts else ""
    out.add(f"memory of an idle runner, {name}", f"{worker:.1f} MB", "<= 30 MB", worker <= 30, f"its worker{scripts_text}")
    out.add(f"CPU of an idle runner, {name}", f"{share:.2%}", "<= 1%", share <= 0.01, f"of a core, over {IDLE_SECONDS} s")


class WorkflowSet:
    """Projects with one timed workflow each. The workflow of the first project is created over the API; the rows of the others are copies."""

    def __init__(self, world, count, say):
        self.world = world
        make_workflow(world.project("many-0"), timed_trigger("* * * * *"), [condition()])
        with concurrent.futures.ThreadPoolExecutor(MAKERS) as makers:
            for number, _ in enumerate(makers.map(self.project, range(1, count)), 2):
                if number % 100 == 0:
                    say(f"  {number} projects")
        found = world.sql("select number from platform.projects where slug like 'many-%%' order by number")
        self.numbers = [number for (number,) in found]
        for number in self.numbers[1:]:
            self.copy(self.numbers[0], number)

    def project(self, number):
        slug = f"many-{number}"
        operator = Client(self.world.operator.base_url, token=self.world.operator.token)
        admin = {"email": "admin@example.com", "password": PASSWORD}
        operator.post("/org", {"project_id": slug, "name": slug, "admin": admin}, expect=201)

    def copy(self, source, target):
        for table, columns in (
            ("workflows", "name, enabled, version, trigger_kind, cron, timezone, next_fire_at, editor_id"),
            ("workflow_versions", "workflow_id, version, doc, editor_id"),
        ):
            self.world.sql(f"insert into p_{target}.{table} ({columns}) select {columns} from p_{source}.{table}")
        self.world.sql(
            f"insert into platform.workflow_projects (number, next_fire_at) select {target}, next_fire_at"
            f" from platform.workflow_projects where number = {source} on conflict (number) do nothing")

    def enable(self, enabled):
        """Enables or disables the workflows: disabled ones are never due, enabled ones at the next minute."""
        due = "date_trunc('minute', now()) + interval '1 minute'" if enabled else "null"
        for number in self.numbers:
            self.world.sql(f"update p_{number}.workflows set enabled = {enabled}, next_fire_at = {due}")
        self.world.sql(f"update platform.workflow_projects set next_fire_at = {due}")

    def start_delays(self, minute):
        """[(seconds until queued, until started or None, until its first step or None)] of the jobs of a tick."""
        one = ("select extract(epoch from j.queued_at - j.trigger_at)::float, extract(epoch from j.started_at - j.trigger_at)::float,"
               " extract(epoch from s.started_at - j.trigger_at)::float"
               " from p_{0}.jobs_now j left join p_{0}.job_steps s on s.job_id = j.id and s.seq = 1 where j.trigger_kind = 'timed' and j.trigger_at = to_timestamp(%s)")
        found = []
        for at in range(0, len(self.numbers), 100):
            part = self.numbers[at : at + 100]
            found += self.world.sql(" union all ".join(one.format(n) for n in part), *[minute] * len(part))
        return found


def count_of(args):
    return PROJECTS if not args.quick else PROJECTS // 10


_made = []


def workflow_set(world, args, say):
    """Creates one set of projects for both measurements."""
    if not _made:
        _made.append(WorkflowSet(world, count_of(args), say))
    return _made[0]


def runner(world, folder, args, out, say):
    admin = world.project("idle")
    admin.post("/entities", {"name": "orders", "fields": [{"name": "name", "type": "varchar"}]}, expect=201)
    for _ in range(3):
        make_workflow(admin, event("orders"), [condition()])
    measure_idle(world, out, "1 project")
    projects = workflow_set(world, args, say)
    projects.enable(False)
    measure_idle(world, out, f"{count_of(args):,} projects")


def ticks(world, folder, args, out, say):
    projects = workflow_set(world, args, say)
    if time.time() % 60 > 40:  # leave enough time before the next minute
        time.sleep(61 - time.time() % 60)
    projects.enable(True)
    world.start_runner()
    try:
        minute = (int(time.time()) // 60 + 1) * 60
        say(f"  waiting {minute - time.time():.0f} s for the minute")
        while time.time() < minute + LATE_SECONDS:
            time.sleep(1 if time.time() > minute + TICK_SECONDS else max(0.1, minute + TICK_SECONDS + 1 - time.time()))
            found = projects.start_delays(minute)
            if len(found) == len(projects.numbers) and all(step is not None for _, _, step in found):
                break
    finally:
        world.stop_runner()
    report(projects, found, out)


def report(projects, found, out):
    wanted = len(projects.numbers)
    name = f"a minute's ticks of {wanted:,} projects"
    started = sorted(at for _, at, _ in found if at is not None)
    steps = [at for _, _, at in found if at is not None]
    whole = len(found) == wanted and len(started) == wanted
    last = started[-1] if started else float("inf")
    made = max((at for at, _, _ in found), default=float("inf"))
    out.add(name, f"{last:.2f} s" if whole else f"{len(started):,} of {wanted:,}", f"<= {TICK_SECONDS:.0f} s",
            whole and last <= TICK_SECONDS, f"all made after {made:.2f} s, the last one started after {last:.2f} s; {len(steps):,} first steps after"
            f" {max(steps, default=float('inf')):.2f} s")

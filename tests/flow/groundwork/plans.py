"""Checks generic plans that a connection made when its tables were small."""
import contextlib
import functools
import json
import runpy

from groundwork.servers import ROOT

QUEUE = "common/product/queue/queue.sql"


@functools.cache
def statements(path):
    """Returns {name: statement} of a file, as sqlgen reads it."""
    read = runpy.run_path(str(ROOT / "scripts/sqlgen"))["read"]
    return {statement.name: statement for statement in read(ROOT / path)}


def array(first, count=100):
    """`count` consecutive numbers, as a parameter."""
    return f"'{{{','.join(map(str, range(first, first + count)))}}}'"


def texts(text, count=100):
    return f"array_fill({text}::text, array[{count}])"


class Plans:
    def __init__(self, cursor, schema):
        self.cursor, self.schema, self.calls = cursor, schema, {}

    def run(self, name, explain=""):
        """Executes the statement and rolls back its effects."""
        values, _, prelude = self.calls[name]
        self.cursor.execute("begin;" + (statements(QUEUE)[prelude].text if prelude else ""))
        try:
            self.cursor.execute(f"{explain} execute {name} ({values})")
            return self.cursor.fetchone()[0] if explain else None
        finally:
            self.cursor.execute("rollback")

    def prepare(self, path, name, values, touched=100, prelude="plan_by_index"):
        """Prepares the statement and makes its generic plan. The statement touches `touched` rows."""
        statement = statements(path)[name]
        types = ", ".join(kind for _, kind, _ in statement.params)
        self.calls[name] = ", ".join(str(values[param]) for param, _, _ in statement.params), touched, prelude
        self.cursor.execute(f"prepare {name} ({types}) as {statement.text.replace('{p}', self.schema)}")
        self.run(name)

    def check(self):
        """Fails when a statement reads many more rows, or pages of tables and indexes, than the rows that it touches."""
        wrong = []
        for name, (_, touched, _) in self.calls.items():
            plan = self.run(name, "explain (analyze, buffers, format json)")[0]["Plan"]
            pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
            if max(rows_of(plan), pages) > 30 * touched:
                wrong.append(f"{name}: {rows_of(plan)} rows, {pages} pages for {touched}\n{json.dumps(plan, indent=1)}")
        assert not wrong, "\n".join(wrong)


def rows_of(node):
    """Rows that a node of a plan, and the nodes below it, read."""
    own = node["Actual Rows"] + sum(value for key, value in node.items() if key.startswith("Rows Removed by"))
    return own * node["Actual Loops"] + sum(map(rows_of, node.get("Plans", [])))


@contextlib.contextmanager
def current_plans(cursor, schema, tables):
    """Yields a Plans that makes generic plans for the tables as they are now, just analyzed, and uses these plans however the
    tables change later."""
    for table in tables:
        cursor.execute(f"alter table {schema}.{table} set (autovacuum_enabled = false)")
        cursor.execute(f"vacuum analyze {schema}.{table}")
    cursor.execute("set plan_cache_mode = force_generic_plan; set statement_timeout = 600000")
    try:
        yield Plans(cursor, schema)
    finally:
        cursor.execute("deallocate all; reset plan_cache_mode; reset statement_timeout")

"""Makes fresh projects from the schemas of projects that earlier tests have used. PostgreSQL needs 0.35 s of a processor to
create the tables and indexes of a project, and 0.05 s to empty them.

A used schema is emptied, gets the rows of a project that nothing has changed (the pattern), with keys of its own, and is renamed for
a new row of platform.projects. Slug, number, keys, files and Redis keys are new. A schema whose tables differ from the pattern's
afterwards, or that has grown, is not used again.
"""
import collections
import contextlib
import json
import os
import secrets
import time

import psycopg2
import redis
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .push_keys import b64
from .sealed import MASTER, key_of, seal, setting_aad

REST = 3.0  # seconds after which each daemon has noticed that a project is no longer active
PATIENCE = 1.0  # seconds that make() waits for a used schema; creating a new schema takes as long, and takes processor time
LARGEST = 2 << 20  # bytes of the tables of a schema that is used again, without indexes; a new schema has 0.1 MB
# Tables with the same rows in each project. Only migrations change these rows.
FIXED = "('apply_locks', 'resource_locks')"

EMPTY = """
do $$
declare
  used constant text := 'p_{used}';
  pattern constant text := 'p_{pattern}';
  own constant name[] := array(select relname from pg_class where relnamespace = pattern::regnamespace);
  one record;
  bytes bigint;
  filled name[];
begin
  select sum(size), array_agg(relname) filter (where size > 0 and relname = any(own) and relname not in {fixed})
  into bytes, filled from (
    select c.relname, pg_relation_size(c.oid) as size from pg_class c where c.relnamespace = used::regnamespace and c.relkind = 'r') as tables;
  if bytes > {largest} then
    raise exception 'the schema has grown';
  end if;
  for one in
    select format('drop %s if exists %I.%I cascade', case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
      else 'table' end, used, c.relname) as statement
    from pg_class c where c.relnamespace = used::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and c.relname <> all(own)
  loop execute one.statement; end loop;
  for one in
    select format('drop function if exists %s cascade', f.oid::regprocedure) as statement
    from pg_proc f where f.pronamespace = used::regnamespace and not exists (
      select from pg_proc p where p.pronamespace = pattern::regnamespace and p.proname = f.proname)
  loop execute one.statement; end loop;
  for one in select unnest(filled) as relname
  loop execute format('delete from %I.%I', used, one.relname); end loop;
end $$;
alter schema p_{used} rename to p_{new};
update pg_proc set prosrc = replace(prosrc, 'p_{used}.', 'p_{new}.') where pronamespace = 'p_{new}'::regnamespace;
"""

# The statements that copy the pattern's rows and positions of sequences. Every moment in the copied rows is the present.
FILL = """
select format('insert into %1$s.%2$I (%3$s) overriding system value select %4$s from %5$s.%2$I', 'p_{new}', c.relname,
  string_agg(quote_ident(a.attname), ', ' order by a.attnum),
  string_agg(case when a.atttypid = 'timestamptz'::regtype then format('case when %1$I is not null then now() end', a.attname)
    else quote_ident(a.attname) end, ', ' order by a.attnum), 'p_{pattern}')
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
where c.relnamespace = 'p_{pattern}'::regnamespace and c.relkind = 'r' and pg_relation_size(c.oid) > 0
  and c.relname not in {fixed}
group by c.oid, c.relname
union all
select 'select ' || string_agg(
  format('setval(''%s.%I'', %s, %L)', 'p_{new}', sequencename, coalesce(last_value, start_value), last_value is not null), ', ')
from pg_sequences where schemaname = 'p_{pattern}'
"""

SHAPE = """
select sum(hash) from (
  select hash_record_extended((c.relkind, c.relname, c.reloptions, c.relacl::text), 0) as hash
  from pg_class c where c.relnamespace = '{schema}'::regnamespace
  union all
  select hash_record_extended((c.relname, a.attname, a.atttypid, a.atttypmod, a.attnotnull), 0)
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = '{schema}'::regnamespace and c.relkind <> 'i'
  union all
  select hash_record_extended((c.relname, i.indisvalid, i.indisunique, i.indkey::text), 0)
  from pg_class c join pg_index i on i.indexrelid = c.oid where c.relnamespace = '{schema}'::regnamespace
  union all
  select hash_record_extended((k.conname, k.contype, k.convalidated), 0) from pg_constraint k
  where k.connamespace = '{schema}'::regnamespace
  union all
  select hash_record_extended((c.relname, t.tgname, t.tgenabled), 0)
  from pg_class c join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal where c.relnamespace = '{schema}'::regnamespace
  union all
  select hash_record_extended((f.proname, replace(f.prosrc, '{schema}.', '')), 0) from pg_proc f
  where f.pronamespace = '{schema}'::regnamespace
  union all
  select hash_record_extended((t.typtype, t.typname), 0) from pg_type t
  where t.typnamespace = '{schema}'::regnamespace and t.typtype in ('e', 'd')
) as parts
"""


class Pool:
    def __init__(self, servers):
        self.servers = servers
        self.released = collections.deque()  # (moment, number)
        self.pattern = None  # its number
        self.connection = None  # of a superuser, who may rename schemas and skip triggers

    def release(self, number):
        """`number`: a project in state `creating`, which no test uses any longer."""
        self.released.append((time.monotonic(), number))

    def make(self, operator, body):
        """Creates a project from a used schema. Returns False when there is none, so that the caller creates a project."""
        rest = self.released[0][0] + REST - time.monotonic() if self.released else REST
        if rest > PATIENCE:
            return False
        time.sleep(max(0, rest))
        used = self.released.popleft()[1]
        try:
            if self.connection is None:
                self.connection = self.servers.connect(superuser=True)
                self.connection.autocommit = False
            with self.connection, self.connection.cursor() as cursor:
                number = self._make(cursor, used, operator, body)
        except psycopg2.Error as error:
            print("not used again:", error)
            if self.connection and self.connection.closed:
                self.connection = None
            return False
        with contextlib.suppress(redis.RedisError), self.servers.redis_client() as client:
            client.publish("groundwork:epoch", f"{number}:1")
        return True

    def _pattern(self, cursor, operator, body):
        """The number of the pattern, which is created when it is first needed."""
        if self.pattern is None:
            slug = f"pattern-{secrets.token_hex(4)}"
            operator.post("", {**body, "project_id": slug}, expect=201)
            self.servers.execute("update platform.projects set state = 'creating' where slug = %s", slug)
            cursor.execute("select number, migration from platform.projects where slug = %s", (slug,))
            number, self.migration = cursor.fetchone()
            cursor.execute(FILL.format(new="{new}", pattern=number, fixed=FIXED))
            self.fill = ";".join(statement for statement, in cursor.fetchall())
            cursor.execute(SHAPE.format(schema=f"p_{number}"))
            self.shape, = cursor.fetchone()
            self.pattern = number
        return self.pattern

    def _make(self, cursor, used, operator, body):
        pattern = self._pattern(cursor, operator, body)
        cursor.execute("set local session_replication_role = replica; set local lock_timeout = '2s';"
                       "delete from platform.projects where number = %s;"
                       "insert into platform.projects (slug, name, partition, migration, state)"
                       " values (%s, %s, floor(random() * 16), %s, 'active') returning number",
                       (used, body["project_id"], body["name"], self.migration))
        number, = cursor.fetchone()
        numbers = {"used": used, "pattern": pattern, "new": number, "largest": LARGEST, "fixed": FIXED}
        cursor.execute(EMPTY.format(**numbers))
        cursor.execute(SHAPE.format(schema=f"p_{number}"))
        if cursor.fetchone()[0] != self.shape:
            raise psycopg2.DataError(f"p_{used} has other tables than a new project")
        cursor.execute(self.fill.format(**numbers))
        seal_keys(cursor, number)
        return number


def seal_keys(cursor, number):
    """Replaces the copied keys by keys of the project's own, as common/product/project/project_create.c makes them."""
    data_key, kid, key = os.urandom(32), os.urandom(8).hex(), ec.generate_private_key(ec.SECP256R1())
    point = key.public_key().public_numbers()
    public = {"x": b64(point.x.to_bytes(32, "big")), "y": b64(point.y.to_bytes(32, "big"))}
    private = key.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    cursor.execute(f"select id, wrapped from p_{number}.data_keys")
    (id, wrapped), = cursor.fetchall()
    cursor.execute(f"update p_{number}.data_keys set wrapped = %s",
                   (seal(bytes.fromhex(MASTER), key_of(wrapped), f"p{number}:data_key:{id}", data_key),))
    cursor.execute(f"update p_{number}.settings set key = %s, sealed = %s, doc = doc || %s::jsonb where kind = 'signing_key'",
                   (kid, seal(data_key, id, setting_aad(number, "signing_key", kid), private), json.dumps(public)))

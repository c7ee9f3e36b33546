"""groundwork/reuse.py makes a project from a used schema only when the schema's shape is that of a new project."""
from groundwork import reuse

CHANGES = [
    "alter table {schema}.users add column extra text",
    "alter table {schema}.users alter column email drop not null",
    "alter table {schema}.users drop constraint users_pkey cascade",
    "alter table {schema}.users set (fillfactor = 50)",
    "create index extra on {schema}.users (email)",
    "create type {schema}.extra as enum ('a')",
    "create function {schema}.extra() returns int language sql as 'select 1'",
    "create or replace function {schema}.text_collation() returns text language sql stable as 'select null::text'",
    "create table {schema}.extra ()",
    "drop table {schema}.sessions cascade",
    "grant select on {schema}.users to public",
    "create trigger extra before update on {schema}.users for each row execute function suppress_redundant_updates_trigger()",
]


def shape_of(cursor, schema):
    cursor.execute(reuse.SHAPE.format(schema=schema))
    return cursor.fetchone()[0]


def test_each_change_of_a_schema_is_a_change_of_its_shape(project, db):
    schema = project.schema(db)
    db.autocommit = False
    with db.cursor() as cursor:
        shape = shape_of(cursor, schema)
        for change in CHANGES:
            cursor.execute(change.format(schema=schema))
            assert shape_of(cursor, schema) != shape, change
            db.rollback()
        assert shape_of(cursor, schema) == shape

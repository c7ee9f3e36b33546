-- Fields of type file: a file belongs to the record that names it, and to no other. Whatever writes the record, triggers keep
-- both sides: the file knows its record, a file that nobody names any more goes (its bytes with the collector's next round),
-- and a record whose file is deleted names none. A record's column refers to files by a foreign key, fk_<field>.

create function {p}.file_field_changed() returns trigger language plpgsql as $$
declare
  field_column text := 'f_' || tg_argv[1];
  old_file bigint;
  new_file bigint;
begin
  if tg_op <> 'INSERT' then
    old_file := (to_jsonb(old) ->> field_column)::bigint;
  end if;
  if tg_op <> 'DELETE' then
    new_file := (to_jsonb(new) ->> field_column)::bigint;
  end if;
  if old_file is not null then
    with gone as (
      delete from {p}.files f
      where f.id = old_file and f.entity_id = tg_argv[0]::bigint and f.field_id = tg_argv[1]::bigint and f.record_id = old.id
      returning f.key, f.size),
    kept as (insert into {p}.file_garbage (key, taken, due_at) select g.key, true, now() from gone g)
    update {p}.file_totals t set bytes = t.bytes - g.size, files = t.files - 1 from gone g;
  end if;
  if new_file is not null then
    update {p}.files f set entity_id = tg_argv[0]::bigint, record_id = new.id, field_id = tg_argv[1]::bigint,
      updated_at = greatest(now(), f.updated_at)
    where f.id = new_file and f.entity_id is null;
    if not found then
      raise exception 'file % belongs to another record', new_file
        using errcode = 'foreign_key_violation', constraint = 'fk_' || tg_argv[1];
    end if;
  end if;
  return null;
end $$;

-- The foreign key has emptied the field: the record is another one than its readers have.
create function {p}.file_field_emptied() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  new.updated_at := now();
  return new;
end $$;

-- All files of an entity, or of one of its fields, when it is removed.
create procedure {p}.file_fields_gone(entity bigint, field bigint) language sql as $$
  with gone as (
    delete from {p}.files f where f.entity_id = entity and (field is null or f.field_id = field) returning f.key, f.size),
  kept as (insert into {p}.file_garbage (key, taken, due_at) select g.key, true, now() from gone g)
  update {p}.file_totals t set bytes = t.bytes - s.bytes, files = t.files - s.files
  from (select coalesce(sum(g.size), 0)::bigint as bytes, count(*) as files from gone g) s where s.files > 0;
$$;

create procedure {p}.file_field_add(entity bigint, field bigint, checked boolean) language plpgsql as $$
begin
  execute format('alter table {p}.e_%1$s add constraint fk_%2$s foreign key (f_%2$s) references {p}.files (id)' ||
    ' on delete set null%3$s', entity, field, case when checked then '' else ' not valid' end);
  execute format('create trigger fe_%2$s before update of f_%2$s on {p}.e_%1$s for each row when (old.f_%2$s is not null' ||
    ' and new.f_%2$s is null and new.version = old.version) execute function {p}.file_field_emptied()', entity, field);
  execute format('create trigger fi_%2$s after insert on {p}.e_%1$s for each row when (new.f_%2$s is not null)' ||
    ' execute function {p}.file_field_changed(%1$s, %2$s)', entity, field);
  execute format('create trigger fu_%2$s after update of f_%2$s on {p}.e_%1$s for each row' ||
    ' when (old.f_%2$s is distinct from new.f_%2$s) execute function {p}.file_field_changed(%1$s, %2$s)', entity, field);
  execute format('create trigger fd_%2$s after delete on {p}.e_%1$s for each row when (old.f_%2$s is not null)' ||
    ' execute function {p}.file_field_changed(%1$s, %2$s)', entity, field);
end $$;

create procedure {p}.file_field_drop(entity bigint, field bigint) language plpgsql as $$
begin
  call {p}.file_fields_gone(entity, field);
  execute format('drop trigger fe_%2$s on {p}.e_%1$s', entity, field);
  execute format('drop trigger fi_%2$s on {p}.e_%1$s', entity, field);
  execute format('drop trigger fu_%2$s on {p}.e_%1$s', entity, field);
  execute format('drop trigger fd_%2$s on {p}.e_%1$s', entity, field);
end $$;

-- What expand= shows in place of a file's id.
create view {p}.file_values as
select f.id, 1::bigint as version, f.filename, f.mime_type, f.size, encode(f.sha256, 'hex') as sha256, f.is_public,
  f.width, f.height, f.duration, f.created_at, f.field_id
from {p}.files f;

-- Fields that were there before files were: the numbers in them name none.
do $$
declare
  d record;
begin
  for d in select f.id, f.entity_id, f.required from {p}.fields f where f.type = 'file' loop
    if not d.required then
      execute format('update {p}.e_%1$s set f_%2$s = null where f_%2$s is not null', d.entity_id, d.id);
    end if;
    execute format('create index if not exists i_%1$s on {p}.e_%2$s (f_%1$s)', d.id, d.entity_id);
    call {p}.file_field_add(d.entity_id, d.id, not d.required);
  end loop;
end $$;

-- Updates of records whose entity keeps history, cheaper. Conditions of triggers and of indexes are prepared with each statement: the
-- function asks instead, and one index serves what is deleted and what is too old. That goes with one change in a hundred, by a
-- function of its own, whose plan was not made while the table was empty.

-- The functions of 0035 as the entity's fields are now: hf_<entity> keeps a row, with secrets left out and links as arrays;
-- ho_<entity> removes some of what is too old.
create or replace procedure {p}.history_shape(entity bigint) language plpgsql as $$
declare
  days integer;
  secrets text;
  links text;
  d record;
begin
  select e.history_days into days from {p}.entities e where e.id = entity;
  select coalesce(' - array[' || string_agg(format('%L', 'f_' || f.id), ', ' order by f.id) || ']', '') into secrets
  from {p}.fields f where f.entity_id = entity and f.type = 'secret';
  select coalesce(string_agg(format(' || jsonb_build_object(%1$L, (select coalesce(jsonb_agg(l.to_id order by l.position, l.to_id),' ||
    ' ''[]'') from {p}.l_%2$s l where l.from_id = old.id))', 'f_' || f.id, f.id), '' order by f.id), '') into links
  from {p}.fields f where f.entity_id = entity and f.type = 'relation' and (f.options ->> 'many')::boolean;
  execute format('create or replace function {p}.ho_%1$s() returns void language plpgsql
      set enable_seqscan = off as $body$
    begin
      delete from {p}.h_%1$s h where h.ctid = any (array(select k.ctid from {p}.h_%1$s k
        where k.action in (1, 2, 3) and k.at < now() - interval ''%2$s days'' limit 200 for update skip locked));
    end $body$', entity, days);
  execute format('create or replace function {p}.hf_%1$s() returns trigger language plpgsql as $body$
    begin
      if tg_op = ''DELETE'' then
        insert into {p}.h_%1$s (record_id, version, action, at, actor_id, created_by, before)
        values (old.id, old.version + 1, 2, clock_timestamp(),
          nullif(current_setting(''groundwork.actor'', true), '''')::bigint, old.created_by, (to_jsonb(old)%2$s)%3$s);
      elsif new.version <> old.version then
        insert into {p}.h_%1$s (record_id, version, action, at, actor_id, created_by, before)
        values (old.id, new.version, 1, clock_timestamp(),
          nullif(current_setting(''groundwork.actor'', true), '''')::bigint, old.created_by, (to_jsonb(old)%2$s)%3$s);
      end if;
      if random() < 0.01 then
        perform {p}.ho_%1$s();
      end if;
      return old;
    end $body$', entity, secrets, links);
  -- A reference that its foreign key lets go of makes another version, as one that somebody takes out.
  for d in
    select f.id from {p}.fields f
    where f.entity_id = entity and f.type = 'relation' and f.options ->> 'on_delete' = 'set_null'
      and not coalesce((f.options ->> 'many')::boolean, false)
      and not exists (select 1 from pg_trigger t where t.tgrelid = format('{p}.e_%s', entity)::regclass and t.tgname = 'hn_' || f.id)
  loop
    execute format('create trigger hn_%2$s before update of f_%2$s on {p}.e_%1$s for each row when (old.f_%2$s is not null' ||
      ' and new.f_%2$s is null and new.version = old.version) execute function {p}.file_field_emptied()', entity, d.id);
  end loop;
end $$;

create or replace procedure {p}.history_on(entity bigint) language plpgsql as $$
begin
  execute format('create table {p}.h_%1$s (record_id bigint not null, version bigint not null, action smallint not null,' ||
    ' at timestamptz not null, actor_id bigint, created_by bigint, before jsonb, primary key (record_id, version))', entity);
  execute format('create index ha_%1$s on {p}.h_%1$s (action, at, record_id)', entity);
  call {p}.history_shape(entity);
  -- Links of a deleted record are there only before.
  execute format('create trigger hd_%1$s before delete on {p}.e_%1$s for each row execute function {p}.hf_%1$s()', entity);
  execute format('create trigger hu_%1$s after update on {p}.e_%1$s for each row execute function {p}.hf_%1$s()', entity);
end $$;

create or replace procedure {p}.history_off(entity bigint) language plpgsql as $$
declare
  d record;
begin
  for d in
    select t.tgname from pg_trigger t
    where t.tgrelid = format('{p}.e_%s', entity)::regclass and t.tgname ~ '^h[dun]_[0-9]+$'
  loop
    execute format('drop trigger %2$I on {p}.e_%1$s', entity, d.tgname);
  end loop;
  execute format('drop table {p}.h_%s', entity);
  execute format('drop function {p}.hf_%s()', entity);
  execute format('drop function {p}.ho_%s()', entity);
end $$;

-- Entities that keep history already.
do $$
declare
  d record;
begin
  for d in select e.id from {p}.entities e where e.history_days is not null order by e.id loop
    call {p}.history_shape(d.id);
    execute format('drop index {p}.ha_%1$s, {p}.hd_%1$s', d.id);
    execute format('create index ha_%1$s on {p}.h_%1$s (action, at, record_id)', d.id);
    execute format('create or replace trigger hu_%1$s after update on {p}.e_%1$s for each row execute function {p}.hf_%1$s()', d.id);
  end loop;
end $$;

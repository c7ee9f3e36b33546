-- What records were, of entities that keep it: {p}.h_<entity> has a row for each change of a record after its first version, with
-- what it was before. A record costs nothing until it is changed. Triggers write it, so that whatever changes a record is in
-- it, foreign keys included; the writer's user is the transaction's setting groundwork.actor.

-- For so many days; null: not at all.
alter table {p}.entities add column history_days integer;

-- The function that keeps a row, as the entity's fields are now: secrets are left out, links come as arrays. Now and then it
-- removes some of what is too old.
create procedure {p}.history_shape(entity bigint) language plpgsql as $$
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
  execute format('create or replace function {p}.hf_%1$s() returns trigger language plpgsql as $body$
    begin
      insert into {p}.h_%1$s (record_id, version, action, at, actor_id, created_by, before)
      values (old.id, case tg_op when ''DELETE'' then old.version + 1 else new.version end,
        case tg_op when ''DELETE'' then 2 else 1 end, clock_timestamp(),
        nullif(current_setting(''groundwork.actor'', true), '''')::bigint, old.created_by,
        (to_jsonb(old)%2$s)%3$s);
      if random() < 0.02 then
        delete from {p}.h_%1$s h where h.ctid = any (array(select k.ctid from {p}.h_%1$s k
          where k.at < now() - interval ''%4$s days'' order by k.at limit 100 for update skip locked));
      end if;
      return old;
    end $body$', entity, secrets, links, days);
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

-- Actions: 1 updated, 2 deleted, 3 restored; `before` is null of the last.
create procedure {p}.history_on(entity bigint) language plpgsql as $$
begin
  execute format('create table {p}.h_%1$s (record_id bigint not null, version bigint not null, action smallint not null,' ||
    ' at timestamptz not null, actor_id bigint, created_by bigint, before jsonb, primary key (record_id, version))', entity);
  execute format('create index ha_%1$s on {p}.h_%1$s (at)', entity);
  execute format('create index hd_%1$s on {p}.h_%1$s (at, record_id) where action = 2', entity);
  call {p}.history_shape(entity);
  -- Links of a deleted record are there only before.
  execute format('create trigger hd_%1$s before delete on {p}.e_%1$s for each row execute function {p}.hf_%1$s()', entity);
  execute format('create trigger hu_%1$s after update on {p}.e_%1$s for each row when (old.version <> new.version)' ||
    ' execute function {p}.hf_%1$s()', entity);
end $$;

create procedure {p}.history_off(entity bigint) language plpgsql as $$
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
end $$;

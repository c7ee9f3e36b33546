-- An index of each indexed text in the order of the project's locale, beside the one that finds its values: a sorted list then reads
-- as many records as it shows, also among many that are equal, since ids stand behind the text as in every order. New fields get it
-- with their column; runners make and drop what is missing, unfinished or out of date without stopping writers. Its name says which
-- collation it is in, and of which version of ICU: an index in the order of another version would lose records.

create function {p}.text_index_mark() returns text language sql stable as $$
  select left(md5(concat_ws(' ', c.collname, pg_collation_actual_version(c.oid))), 8)
  from pg_catalog.pg_collation c where c.collname = {p}.text_collation()::name and c.collnamespace = 'pg_catalog'::regnamespace
$$;

-- Indexes that are missing (not made), and those that are to be dropped: unfinished, or not of any field as it is now.
create function {p}.text_indexes_wrong() returns table (name text, entity_id bigint, field_id bigint, made boolean)
language sql stable as $$
  with wanted as materialized (
    select {p}.text_index_mark() as mark, c.oid as collation from pg_catalog.pg_collation c
    where c.collname = {p}.text_collation()::name and c.collnamespace = 'pg_catalog'::regnamespace)
  select coalesce(m.name, w.name), w.entity_id, w.id, m.name is not null
  from (select f.entity_id, f.id, 'c_' || f.id || '_' || x.mark as name from {p}.fields f cross join wanted x
        where f.type in ('varchar', 'text', 'enum') and (f.indexed or f.is_unique)) w
  full join (select c.relname::text as name, i.indisvalid and i.indcollation[0] = x.collation as good
             from {p}.entities e cross join wanted x
             join pg_catalog.pg_index i on i.indrelid = to_regclass('{p}.e_' || e.id)
             join pg_catalog.pg_class c on c.oid = i.indexrelid
             where c.relname ~ '^c_[0-9]+_[0-9a-f]+$') m on m.name = w.name
  where m.name is null or w.name is null or not m.good
$$;

-- In the transaction of a model change, which nobody passes: of a table that is larger than this a runner makes it.
create procedure {p}.text_index_add(entity bigint, field bigint) language plpgsql as $$
begin
  if pg_relation_size(format('{p}.e_%s', entity)::regclass) <= 4 * 1024 * 1024 then
    execute format('create index c_%2$s_%3$s on {p}.e_%1$s (f_%2$s collate %4$I, id)', entity, field, {p}.text_index_mark(), {p}.text_collation());
  end if;
end $$;

create procedure {p}.text_index_drop(entity bigint, field bigint) language plpgsql as $$
declare
  d record;
begin
  for d in
    select c.relname from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
    where i.indrelid = format('{p}.e_%s', entity)::regclass and c.relname ~ format('^c_%s_[0-9a-f]+$', field)
  loop
    execute format('drop index {p}.%I', d.relname);
  end loop;
end $$;

-- Texts are stored and found as they are, and ordered as the project's locale says. The collation of that locale: the one of the setting,
-- of PostgreSQL's own; the root's without a setting, or on a server that does not know the setting's; C where there is none of ICU.
create function {p}.text_collation() returns text language sql stable as $$
  select c.collname::text
  from (select (s.doc ->> 'locale' || '-x-icu')::name as name, 1 as place from {p}.settings s where s.kind = 'setting' and s.key = 'project'
        union all select 'und-x-icu', 2
        union all select 'C', 3) w
  join pg_catalog.pg_collation c on c.collname = w.name and c.collnamespace = 'pg_catalog'::regnamespace and c.collisdeterministic
  order by w.place limit 1
$$;

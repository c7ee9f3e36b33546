-- A generation of a materialised view says which definition it was made of, and from which entities and fields: whether a caller is
-- served its rows is judged by these, never by a definition that came later. Generations of before say nothing of this kind; they
-- are served to administrators alone until the runner has made the next one, which this migration asks for. A runner of an earlier
-- release that still runs makes generations without saying so: then made_generation is not the live one.
alter table {p}.materialized_views
  add column definition_number bigint not null default 1,    -- raised with each change of the definition
  add column made_generation   bigint not null default 0,    -- the generation that the following members are about
  add column made_definition   bigint not null default 0,    -- the definition that it was made of; 0 = not known
  add column made_entities     bigint[] not null default '{}',
  add column made_fields       bigint[] not null default '{}';
update {p}.materialized_views set requested_at = coalesce(requested_at, now());

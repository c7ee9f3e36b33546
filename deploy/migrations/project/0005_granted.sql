-- Entities whose records were ever granted to somebody are marked for good: what decides whether a grant changes the model is
-- then a row that only grows, not the grants of other records, which others may hold.
alter table {p}.entities add column granted boolean not null default false;
update {p}.entities e set granted = true
where exists (select 1 from {p}.record_grants g where g.entity_id = e.id);

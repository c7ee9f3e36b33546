-- Rows that writers of one resource lock first (services/api-gateway/stages/conditional.c), so that they come one after the other.
-- A resource has the row that its path's hash names. Rows, not advisory locks: those belong to a database, not to a schema, and
-- so would be one project's to take from another, and would not follow the schema to where it is placed.
create table {p}.resource_locks (key smallint primary key);
insert into {p}.resource_locks (key) select generate_series(0, 255);

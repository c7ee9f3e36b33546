-- The audit log has places in streams of changes: by the transaction that wrote an entry, as in live_log. Null: before all of them.
alter table {p}.audit_log add column xid xid8;
alter table {p}.audit_log alter column xid set default pg_current_xact_id();
create index audit_log_xid on {p}.audit_log (xid);

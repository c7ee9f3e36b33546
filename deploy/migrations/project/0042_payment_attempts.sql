-- A payment's state follows its newest attempt, and its refunds follow the charge down as well as up.
alter table {p}.payments add column event_rank smallint not null default 0; -- of two states of one second the higher is newer; 0 = by its status
alter table {p}.payments add column declines jsonb not null default '{}';   -- {"ch_...": {"at", "code", "message"}}: each was told
alter table {p}.payments add column refunds jsonb not null default '{}';    -- {"re_...": {...}, "charge": {...}}: what the processor said of each
-- The decline of a payment that failed was told.
update {p}.payments set declines = jsonb_build_object(charge_id, jsonb_build_object('at', 0,
  'code', coalesce(failure_code, ''), 'message', coalesce(failure_message, '')))
where provider = 'processor' and status = 'failed' and charge_id is not null;

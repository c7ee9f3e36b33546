-- Whether a notification of the app store has arrived.

-- name: iap_event_received :opt
select e.received_at:timestamptz from {p}.webhook_events e
where e.source = 'iap_store' and e.event_id = :event_id::text

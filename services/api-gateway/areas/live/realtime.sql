-- Statements of change streams, other than those on the log of changes.

-- The sessions of :ids that are neither revoked nor expired, with their users.
-- name: realtime_sessions :many
select s.id:bigint, s.user_id:bigint from {p}.sessions s
where s.id = any(:ids::bigint[]) and s.revoked_at is null and s.expires_at > now();

-- The users of :ids, each with a fingerprint of the rows that the user's rights are computed from: the user's rows, and all roles.
-- name: realtime_rights_sources :many
select u.id:bigint, hashtextextended(concat_ws('|', u.status, u.email_confirmed_at is not null,
  (select string_agg(ur.role_id::text, ',' order by ur.role_id) from {p}.user_roles ur where ur.user_id = u.id), ';',
  (select string_agg(gm.group_id::text, ',' order by gm.group_id) from {p}.group_members gm where gm.user_id = u.id)),
  every.print) as print:bigint!
from {p}.users u cross join (
  select hashtextextended(concat_ws('|',
    (select string_agg(concat_ws(' ', r.id, r.is_admin, r.api_access), ',' order by r.id) from {p}.roles r), ';',
    (select string_agg(concat_ws(' ', rp.role_id, rp.entity_id, rp.permission), ',' order by rp.role_id, rp.entity_id, rp.permission)
      from {p}.role_permissions rp), ';',
    (select string_agg(concat_ws(' ', fa.role_id, fa.entity_id, fa.action, fa.field_ids::text), ','
        order by fa.role_id, fa.entity_id, fa.action) from {p}.field_access fa), ';',
    (select s.doc ->> 'require_confirmed_email' from {p}.settings s where s.kind = 'setting' and s.key = 'project')), 0) as print) every
where u.id = any(:ids::bigint[])
order by u.id;

-- A group: whether the user may request the data of its members, and a fingerprint of the members.
-- name: realtime_group :opt
select exists (select 1 from {p}.group_members m where m.group_id = g.id and m.user_id = :user_id::bigint)
    or exists (select 1 from {p}.group_roles r where r.group_id = g.id and r.role_id = any(:role_ids::bigint[])) as reachable:boolean!,
  hashtextextended(coalesce((select string_agg(m.user_id::text, ',' order by m.user_id) from {p}.group_members m
    where m.group_id = g.id), ''), 0) as members:bigint!
from {p}.groups g where g.id = :id::bigint;

-- Long work: the newest rows of a kind, and the rows of :ids. `hidden`: only administrators see the row. `owner_id` 0: every listener may see the row.

-- name: realtime_jobs :many args(realtime_work) row(realtime_work)
select j.id:bigint!, 0::bigint as owner_id:bigint!, coalesce(j.reason, '') = 'not_permitted' as hidden:boolean!,
  j.status not in ('queued', 'running', 'waiting') as ended:boolean!,
  json_build_object('id', j.id, 'workflow_id', j.workflow_id, 'status', j.status, 'run', j.run, 'attempt', j.attempt)::text
    as doc:text!
from {p}.jobs_now j
where j.id > (select coalesce(max(n.id), 0) from {p}.jobs n) - :recent::bigint or j.id = any(:ids::bigint[])
order by j.id;

-- name: realtime_tasks :many args(realtime_work) row(realtime_work)
select t.id:bigint!, t.created_by as owner_id:bigint!, false as hidden:boolean!,
  t.status not in ('queued', 'running') as ended:boolean!,
  json_build_object('id', t.id, 'kind', t.kind, 'status', t.status, 'total', t.total, 'done', t.done, 'failed', t.failed)::text
    as doc:text!
from {p}.tasks t
where t.id > (select coalesce(max(n.id), 0) from {p}.tasks n) - :recent::bigint or t.id = any(:ids::bigint[])
order by t.id;

-- name: realtime_sends :many args(realtime_work) row(realtime_work)
select s.id:bigint!, 0::bigint as owner_id:bigint!, false as hidden:boolean!, s.finished_at is not null as ended:boolean!,
  json_build_object('id', s.id, 'source', s.source, 'status', s.status, 'targets', s.targets,
    'delivered', s.fcm_delivered + s.web_delivered, 'failed', s.fcm_failed + s.web_failed)::text as doc:text!
from {p}.push_sends s
where s.id > (select coalesce(max(n.id), 0) from {p}.push_sends n) - :recent::bigint or s.id = any(:ids::bigint[])
order by s.id;

-- name: realtime_indexes :many args(realtime_work) row(realtime_work)
select e.id:bigint!, 0::bigint as owner_id:bigint!, false as hidden:boolean!, false as ended:boolean!,
  json_build_object('entity', e.name,
    'status', case when b.id is not null or l.id is null then 'Indexing' when l.error is not null then 'Failed' else 'Ready' end,
    'documents', coalesce(b.documents, l.documents, 0), 'total', greatest(b.total, b.documents, l.documents, 0))::text as doc:text!
from {p}.entities e
left join {p}.search_indexes l on l.entity_id = e.id and l.state = 'live'
left join {p}.search_indexes b on b.entity_id = e.id and b.state = 'building'
where (l.id is not null or b.id is not null)
  and (e.id > (select coalesce(max(n.id), 0) from {p}.entities n) - :recent::bigint or e.id = any(:ids::bigint[]))
order by e.id;

-- Entries of the audit log between the two snapshots of a page of changes, after the entry `:behind` (0 = from the first one).
-- name: realtime_audit :many
select a.id:bigint, a.actor_kind:text, a.actor_id:bigint?, a.action:text, a.target:text, a.target_id:text?,
  json_build_object('id', a.id, 'at', to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'actor_kind', a.actor_kind,
    'actor_id', a.actor_id, 'action', a.action, 'target', a.target, 'target_id', a.target_id, 'detail', a.detail,
    'request_id', a.request_id)::text as doc:text!
from (select (:since::text)::pg_snapshot as since, (:upto::text)::pg_snapshot as upto) b
join {p}.audit_log a on a.xid >= pg_snapshot_xmin(b.since) and a.xid < pg_snapshot_xmax(b.upto)
  and not pg_visible_in_snapshot(a.xid, b.since) and pg_visible_in_snapshot(a.xid, b.upto)
where a.id > :behind::bigint
order by a.id limit :most::bigint;

-- The assistant's settings: kind 'ai', key 'config'. The API shows a mask in place of the sealed key.

-- part: limits
coalesce((s.doc ->> 'user_answers')::bigint, 4) as user_answers, coalesce((s.doc ->> 'project_answers')::bigint, 32) as project_answers,
  coalesce((s.doc ->> 'user_daily_tokens')::bigint, 200000) as user_daily_tokens,
  coalesce((s.doc ->> 'project_daily_tokens')::bigint, 2000000) as project_daily_tokens,
  coalesce((s.doc ->> 'max_output_tokens')::bigint, 4096) as max_output_tokens,
  coalesce((s.doc ->> 'stall_seconds')::bigint, 60) as stall_seconds, coalesce((s.doc ->> 'tools')::boolean, false) as tools

-- part: stored
from (values (1)) as one (n) left join {p}.settings s on s.kind = 'ai' and s.key = 'config'

-- name: ai_config_get :one
select s.doc ->> 'endpoint' as endpoint, case when s.sealed is not null then '********' end as api_key,
  s.doc ->> 'default_model' as default_model, coalesce(s.doc -> 'models', '[]') as models,
  s.doc ->> 'system_prompt' as system_prompt, {limits}, s.doc ->> 'output_limit' as output_limit,
  (select e.doc from {p}.settings e where e.kind = 'ai' and e.key = 'refusal') as last_refusal, s.updated_at
{stored}

-- name: ai_config_use :one
select s.doc ->> 'endpoint' as endpoint:text?, s.sealed:bytea?, s.doc ->> 'default_model' as default_model:text?,
  array(select jsonb_array_elements_text(s.doc -> 'models')) as models:text[], s.doc ->> 'system_prompt' as system_prompt:text?,
  coalesce((s.doc ->> 'user_answers')::bigint, 4) as user_answers:bigint,
  coalesce((s.doc ->> 'project_answers')::bigint, 32) as project_answers:bigint,
  coalesce((s.doc ->> 'user_daily_tokens')::bigint, 200000) as user_daily_tokens:bigint,
  coalesce((s.doc ->> 'project_daily_tokens')::bigint, 2000000) as project_daily_tokens:bigint,
  coalesce((s.doc ->> 'max_output_tokens')::bigint, 4096) as max_output_tokens:bigint,
  coalesce((s.doc ->> 'stall_seconds')::bigint, 60) as stall_seconds:bigint, coalesce((s.doc ->> 'tools')::boolean, false) as tools:boolean,
  s.doc ->> 'output_limit' as output_limit:text?,
  s.updated_at:timestamptz?
{stored}

-- name: ai_config_lock :opt
select s.doc ->> 'endpoint' as endpoint:text?, s.sealed is not null as has_key:boolean
from {p}.settings s where s.kind = 'ai' and s.key = 'config' for update

-- name: ai_config_put :exec
insert into {p}.settings as s (kind, key, doc, sealed) values ('ai', 'config', jsonb_strip_nulls(:doc::jsonb), :sealed::bytea?)
on conflict (kind, key) do update
set doc = jsonb_strip_nulls(s.doc || :doc::jsonb), sealed = case when :keeps::boolean then s.sealed else excluded.sealed end,
  updated_at = greatest(clock_timestamp(), s.updated_at)

-- Stores the last refusal of the model server, for administrators.
-- name: ai_refusal_put :exec
insert into {p}.settings as s (kind, key, doc)
values ('ai', 'refusal', jsonb_build_object(
  'at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'status', :status::bigint, 'model', :model::text?, 'message', :message::text?))
on conflict (kind, key) do update set doc = excluded.doc, updated_at = greatest(clock_timestamp(), s.updated_at)

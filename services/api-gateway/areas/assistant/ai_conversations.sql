-- Conversations, each visible to its user only.

-- part: conversation
c.id, c.title, c.model, (select count(*) from {p}.ai_messages m where m.conversation_id = c.id) as message_count, c.version,
  c.created_at, c.updated_at

-- name: ai_conversations_list :page sort(id,title,created_at,updated_at)
select {conversation} from {p}.ai_conversations c where c.user_id = :user_id::bigint

-- name: ai_conversation_get :opt
select {conversation} from {p}.ai_conversations c where c.id = :id::bigint and c.user_id = :user_id::bigint

-- name: ai_conversations_count :one
select count(*) as conversations:bigint from {p}.ai_conversations c where c.user_id = :user_id::bigint

-- name: ai_conversation_add :one
insert into {p}.ai_conversations (user_id, title, model) values (:user_id::bigint, :title::text?, :model::text?)
returning id as id:bigint

-- name: ai_conversation_save :opt
update {p}.ai_conversations c
set title = case when :has_title::boolean then :title::text? else c.title end,
  model = case when :has_model::boolean then :model::text? else c.model end, version = c.version + 1,
  updated_at = greatest(now(), c.updated_at)
where c.id = :id::bigint and c.user_id = :user_id::bigint
returning c.id

-- name: ai_conversation_remove :opt
delete from {p}.ai_conversations c where c.id = :id::bigint and c.user_id = :user_id::bigint returning c.id

-- --- messages ---

-- A message whose process has died is shown as interrupted, also before ai_messages_bury has stored this status.
-- part: message
m.id, m.conversation_id, m.role, m.content, m.model, m.tool, m.arguments,
  case when m.status = 'streaming' and m.alive_until < now() then 'interrupted' else m.status end as status,
  case when m.status = 'streaming' and m.alive_until < now() then 'process_died' else m.code end as code, m.finish_reason,
  m.prompt_tokens, m.completion_tokens, m.created_at, m.finished_at

-- part: mine
from {p}.ai_messages m join {p}.ai_conversations c on c.id = m.conversation_id and c.user_id = :user_id::bigint

-- name: ai_messages_list :page sort(id,created_at)
select {message} {mine} where m.conversation_id = :conversation_id::bigint

-- name: ai_message_get :opt
select {message} {mine} where m.conversation_id = :conversation_id::bigint and m.id = :id::bigint

-- --- making an answer ---

-- name: ai_conversation_lock :opt
select c.model:text? from {p}.ai_conversations c where c.id = :id::bigint and c.user_id = :user_id::bigint for update

-- name: ai_messages_bury :exec
update {p}.ai_messages m
set status = 'interrupted', code = 'process_died', finished_at = now()
where m.conversation_id = :conversation_id::bigint and m.status = 'streaming' and m.alive_until < now()

-- name: ai_messages_state :one
select count(*) as messages:bigint, count(*) filter (where m.status = 'streaming') as streaming:bigint
from {p}.ai_messages m where m.conversation_id = :conversation_id::bigint

-- name: ai_message_ask :one
insert into {p}.ai_messages (conversation_id, role, content, status, finished_at)
values (:conversation_id::bigint, 'user', :content::text, 'complete', now())
returning id as id:bigint

-- name: ai_message_begin :one
insert into {p}.ai_messages (conversation_id, role, model, status, alive_until)
values (:conversation_id::bigint, 'assistant', :model::text, 'streaming', now() + interval '10 seconds')
returning id as id:bigint

-- name: ai_conversation_used :exec
update {p}.ai_conversations c
set updated_at = greatest(now(), c.updated_at), title = coalesce(c.title, left(:content::text, 80))
where c.id = :id::bigint

-- The process that makes the answer stores the text, and reads whether the answer is cancelled or has followers.
-- name: ai_message_progress :opt
update {p}.ai_messages m set content = :content::text, alive_until = now() + interval '10 seconds'
where m.id = :id::bigint and m.status = 'streaming'
returning m.cancel as cancel:boolean, coalesce(m.wanted_until > now(), false) as wanted:boolean

-- name: ai_message_tool :one
insert into {p}.ai_messages (conversation_id, role, content, tool, arguments, status, finished_at)
values (:conversation_id::bigint, 'tool', :content::text, :tool::text, :arguments::text, :status::text,
  case when :status::text <> 'waiting' then now() end)
returning id as id:bigint

-- name: ai_message_end :exec
update {p}.ai_messages m
set content = :content::text, status = :status::text, code = :code::text?, finish_reason = :finish_reason::text?,
  prompt_tokens = :prompt_tokens::bigint, completion_tokens = :completion_tokens::bigint, finished_at = now()
where m.id = :id::bigint and m.status = 'streaming'

-- name: ai_message_cancel :opt
update {p}.ai_messages m set cancel = true
from {p}.ai_conversations c
where m.id = :id::bigint and m.conversation_id = :conversation_id::bigint and m.status = 'streaming'
  and c.id = m.conversation_id and c.user_id = :user_id::bigint
returning m.id

-- Stores that the answer has a follower, at most once a second.
-- name: ai_message_follow :exec
update {p}.ai_messages m set wanted_until = now() + interval '5 seconds'
where m.id = :id::bigint and m.status = 'streaming'
  and (m.wanted_until is null or m.wanted_until < now() + interval '4 seconds')

-- name: ai_message_rest :opt
select substr(m.content, :seen::integer + 1) as text:text,
  m.status = 'streaming' and m.alive_until >= now() as streaming:boolean
{mine} where m.conversation_id = :conversation_id::bigint and m.id = :id::bigint and m.role = 'assistant'

-- Workflows with a manual trigger, which models may propose.

-- name: ai_workflows :many
select w.id:bigint, w.name:text from {p}.workflows w where w.trigger_kind = 'manual' and w.enabled order by w.id limit 200

-- name: ai_workflow :opt
select w.name:text, w.enabled:boolean from {p}.workflows w where w.id = :id::bigint and w.trigger_kind = 'manual'

-- Locks the message for one decision. A second request finds no waiting message.
-- name: ai_message_waiting :opt
select m.content:text, m.tool:text!
from {p}.ai_messages m join {p}.ai_conversations c on c.id = m.conversation_id and c.user_id = :user_id::bigint
where m.id = :id::bigint and m.conversation_id = :conversation_id::bigint and m.status = 'waiting'
for update of m

-- name: ai_message_decide :exec
update {p}.ai_messages m set status = :status::text, content = :content::text, finished_at = now() where m.id = :id::bigint

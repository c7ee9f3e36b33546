-- Conversations as they are sent to models.

-- name: ai_recall_results :many
select t.id:bigint, t.tool:text!, t.arguments:text, t.content:text,
  (extract(epoch from t.created_at) * 1000)::bigint as told_ms:bigint
from (select m.id, m.tool, coalesce(m.arguments, '') as arguments, m.content, m.created_at,
        sum(octet_length(m.content)) over (order by m.id desc) as bytes
      from (select x.* from {p}.ai_messages x join {p}.ai_conversations c on c.id = x.conversation_id and c.user_id = :user_id::bigint
            where x.conversation_id = :conversation_id::bigint and x.role = 'tool' order by x.id desc limit 40) m) t
where t.bytes <= :bytes::bigint
order by t.id desc

-- The newest messages that fit, newest first. The results of tool calls are read separately, by ai_recall_results.
-- name: ai_recall_messages :many
select t.id:bigint, t.role:text, case when t.role = 'tool' then '' else t.content end as content:text,
  coalesce(t.tool, '') as tool:text,
  case when octet_length(t.arguments) <= :arguments_bytes::bigint then t.arguments else '' end as arguments:text
from (select m.*, sum(m.bytes) over (order by m.id desc) as total
      from (select x.id, x.role, x.content, x.tool, coalesce(x.arguments, '') as arguments,
              case when x.role = 'tool' then least(octet_length(x.content), :result_bytes::bigint)
                + least(octet_length(x.arguments), :arguments_bytes::bigint) else octet_length(x.content) end as bytes
            from {p}.ai_messages x where x.conversation_id = :conversation_id::bigint order by x.id desc limit 300) m) t
where t.total <= :bytes::bigint
order by t.id desc

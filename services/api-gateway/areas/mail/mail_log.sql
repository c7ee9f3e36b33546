-- The outcome of mails.

-- part: shown
m.id, m.type, m.status, m.recipient, m.user_id, m.sender, m.message_id, m.code, m.detail, m.tries, m.job_id,
  m.step_seq as step_sequence, m.created_at, case when m.leased then null else m.due_at end as next_try_at, m.ended_at

-- part: wanted
where (:status::text? is null or m.status = :status::text?) and (:type::text? is null or m.type = :type::text?)
  and (:recipient::text? is null or m.recipient = :recipient::text?)

-- name: mail_log_desc :many args(mail_log)
select {shown} from {p}.mails m {wanted} and m.id < :behind::bigint order by m.id desc limit :limit::bigint offset :offset::bigint

-- name: mail_log_asc :many args(mail_log)
select {shown} from {p}.mails m {wanted} and m.id > :behind::bigint order by m.id limit :limit::bigint offset :offset::bigint

-- name: mail_log_count :one args(mail_log)
select count(*) as total_items from {p}.mails m {wanted}

-- name: mail_log_get :opt
select {shown} from {p}.mails m where m.id = :id::bigint

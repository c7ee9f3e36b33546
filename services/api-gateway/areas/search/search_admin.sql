-- The index of each entity: its status, and the commands of administrators.

-- name: search_status :page sort(entity)
select e.name as entity,
  case when b.id is not null or (f.id is null and l.id is null and p.id is null) then 'Indexing'
       when f.id > coalesce(l.id, p.id, 0) or l.error is not null then 'Failed' else 'Ready' end as status,
  case when b.id is not null then b.documents else coalesce(l.documents, 0) end as documents,
  case when b.id is not null then greatest(b.total, b.documents) else coalesce(l.documents, 0) end as total,
  case when b.began_at < now() and b.documents > 0
       then round(b.documents / extract(epoch from now() - b.began_at), 1) end as documents_per_second,
  case when b.began_at < now() and b.documents > 0
       then ceil(greatest(b.total - b.documents, 0) * extract(epoch from now() - b.began_at) / b.documents)::bigint
       end as remaining_seconds,
  l.last_indexed_at,
  case when f.id > coalesce(l.id, p.id, 0) then f.error else l.error end as error
from {p}.entities e
left join {p}.search_indexes l on l.entity_id = e.id and l.state = 'live'
left join {p}.search_indexes b on b.entity_id = e.id and b.state = 'building'
left join {p}.search_indexes p on p.entity_id = e.id and p.state = 'purged'
left join lateral (select i.id, i.error from {p}.search_indexes i
                   where i.entity_id = e.id and i.state = 'failed' order by i.id desc limit 1) f on true
where e.id = any(:entity_ids::bigint[])

-- On a conflict the entity's index is being built already.
-- name: search_rehydrate :exec
insert into {p}.search_indexes (entity_id, state)
select e.id, 'building' from {p}.entities e where e.searchable and e.id = any(:entity_ids::bigint[]) order by e.id
on conflict (entity_id) where state = 'building' do nothing

-- name: search_purge :exec
update {p}.search_indexes set state = 'dropped'
where entity_id = any(:entity_ids::bigint[]) and state in ('live', 'building', 'failed')

-- name: search_purged :exec
insert into {p}.search_indexes (entity_id, state)
select e.id, 'purged' from {p}.entities e where e.searchable and e.id = any(:entity_ids::bigint[]) order by e.id
on conflict (entity_id) where state = 'purged' do nothing

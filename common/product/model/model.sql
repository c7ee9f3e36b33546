-- Reads the whole model in one statement, so in one snapshot: a change of the model is never seen
-- half done. There may be many fields, so each is a line of text that can be parsed on its own.

-- name: model_load :one
select m.model_version:bigint,
  (select coalesce(json_agg(json_build_object(
      'id', e.id, 'name', e.name, 'label', e.label,
      'row_level_security', e.row_level_security, 'public_read', e.public_read, 'searchable', e.searchable,
      'history', e.history_days, 'granted', e.granted or exists (select 1 from {p}.record_grants g where g.entity_id = e.id),
      'created', (extract(epoch from e.created_at) * 1000)::bigint,
      'updated', (extract(epoch from e.updated_at) * 1000)::bigint) order by e.id), '[]')
    from {p}.entities e) as entities:json,
  (select coalesce(string_agg(json_build_object(
      'id', f.id, 'entity', f.entity_id, 'name', f.name, 'type', f.type,
      'required', f.required, 'unique', f.is_unique, 'indexed', f.indexed,
      'searchable', f.searchable, 'public', f.is_public,
      'default', f.default_value::text, 'options', f.options::text, 'target', f.target_id,
      'created', (extract(epoch from f.created_at) * 1000)::bigint,
      'updated', (extract(epoch from f.updated_at) * 1000)::bigint)::text, e'\n' order by f.entity_id, f.id), '')
    from {p}.fields f) as fields:text,
  (select coalesce(json_agg(json_build_object('name', s.key, 'values', s.doc -> 'values')), '[]')
    from {p}.settings s where s.kind = 'enum') as enums:json,
  (select coalesce(json_agg(json_build_object('source', l.source, 'entity', l.entity_id, 'event', l.event)), '[]')
    from {p}.event_listeners l) as listeners:json,
  exists (select 1 from {p}.live_state s) as live:boolean!
from {p}.meta m;

#pragma once
/*
 * Where sealed values stand. A value is sealed for its place, so that it opens nowhere else.
 * Whatever is sealed is found by the rotation: a new column of sealed values gets a line in
 * rotate.c and a place here; rows of settings have their place by kind and key without further ado.
 * Texts are arena-owned.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* settings.sealed of (kind, key). */
struct str place_setting(struct arena *arena, int64_t project, struct str kind, struct str key);
/* secrets.sealed */
struct str place_secret(struct arena *arena, int64_t project, struct str name);
/* auth_flows.sealed, by the hash's bytes */
struct str place_flow(struct arena *arena, int64_t project, struct str state_hash);
/* refresh_tokens.successor */
struct str place_successor(struct arena *arena, int64_t project, int64_t token_id);
/* idempotency_keys.response, by "<principal>:<key>" */
struct str place_answer(struct arena *arena, int64_t project, struct str request);
/* secret fields of an entity */
struct str place_field(struct arena *arena, int64_t project, int64_t entity_id, int64_t field_id);
/* integrations.sealed, connections.sealed, by their ids */
struct str place_integration(struct arena *arena, int64_t project, int64_t id);
struct str place_connection(struct arena *arena, int64_t project, int64_t id);
/* connection_flows.sealed, by the hash's bytes */
struct str place_connection_flow(struct arena *arena, int64_t project, struct str state_hash);

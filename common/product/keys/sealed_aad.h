#pragma once
/*
 * The place of a sealed value is its AAD (additional authenticated data): it says where the value
 * is stored, so that the value opens nowhere else. The rotation must find every sealed value. A new
 * column of sealed values therefore needs a line in rotate.c and a function here. Rows of settings
 * have their place by kind and key without a new function. Each function returns the place of a
 * value in the column that its comment names, as an arena-owned text.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* settings.sealed, by kind and key */
struct str aad_setting(struct arena *arena, int64_t project, struct str kind, struct str key);
/* secrets.sealed */
struct str aad_secret(struct arena *arena, int64_t project, struct str name);
/* auth_flows.sealed, by the bytes of the hash */
struct str aad_flow(struct arena *arena, int64_t project, struct str state_hash);
/* refresh_tokens.successor */
struct str aad_successor(struct arena *arena, int64_t project, int64_t token_id);
/* idempotency_keys.response, `request`: "<principal>:<key>" */
struct str aad_answer(struct arena *arena, int64_t project, struct str request);
/* columns of secret fields of an entity */
struct str aad_field(struct arena *arena, int64_t project, int64_t entity_id, int64_t field_id);
/* integrations.sealed and connections.sealed, by id */
struct str aad_integration(struct arena *arena, int64_t project, int64_t id);
struct str aad_connection(struct arena *arena, int64_t project, int64_t id);
/* connection_flows.sealed, by the bytes of the hash */
struct str aad_connection_flow(struct arena *arena, int64_t project, struct str state_hash);

/* Places of sealed values. */
#include "keys/sealed_aad.h"

#include "base/codec.h"

struct str aad_setting(struct arena *arena, int64_t project, struct str kind, struct str key)
{
    if (str_is(kind, "setting") && str_is(key, "project"))
        return arena_printf(arena, "p%lld:settings:oidc_client_secret", (long long)project);
    if (str_is(kind, "signing_key"))
        return arena_printf(arena, "p%lld:signing_key:%.*s", (long long)project, STR_ARG(key));
    return arena_printf(
        arena, "p%lld:settings:%.*s:%.*s", (long long)project, STR_ARG(kind), STR_ARG(key));
}

struct str aad_secret(struct arena *arena, int64_t project, struct str name)
{
    return arena_printf(arena, "p%lld:secrets:%.*s", (long long)project, STR_ARG(name));
}

struct str aad_flow(struct arena *arena, int64_t project, struct str state_hash)
{
    return arena_printf(
        arena, "p%lld:auth_flows:%.*s", (long long)project, STR_ARG(codec_hex(arena, state_hash)));
}

struct str aad_successor(struct arena *arena, int64_t project, int64_t token_id)
{
    return arena_printf(
        arena, "p%lld:refresh_tokens:%lld:successor", (long long)project, (long long)token_id);
}

struct str aad_answer(struct arena *arena, int64_t project, struct str request)
{
    return arena_printf(arena, "p%lld:idempotency_keys:%.*s", (long long)project, STR_ARG(request));
}

struct str aad_field(struct arena *arena, int64_t project, int64_t entity_id, int64_t field_id)
{
    return arena_printf(
        arena, "p%lld:e%lld:f%lld", (long long)project, (long long)entity_id, (long long)field_id);
}

struct str aad_integration(struct arena *arena, int64_t project, int64_t id)
{
    return arena_printf(arena, "p%lld:integrations:%lld", (long long)project, (long long)id);
}

struct str aad_connection(struct arena *arena, int64_t project, int64_t id)
{
    return arena_printf(arena, "p%lld:connections:%lld", (long long)project, (long long)id);
}

struct str aad_connection_flow(struct arena *arena, int64_t project, struct str state_hash)
{
    return arena_printf(arena,
                        "p%lld:connection_flows:%.*s",
                        (long long)project,
                        STR_ARG(codec_hex(arena, state_hash)));
}

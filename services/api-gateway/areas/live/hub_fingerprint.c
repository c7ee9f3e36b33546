/*
 * A fingerprint of what a listener is shown: two numbers at the beginning of each of its positions.
 * A client that reconnects with other numbers may see other records than before.
 */
#include "areas/live/hub.h"

#define DIGITS ((size_t)8) /* hexadecimal, of each number */
#define HEX    "0123456789abcdef"

/* --- hashes --- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
    return str_hash_chunk(hash, (struct str){bytes, len});
}

static uint64_t hash_ids(uint64_t hash, const int64_t *ids, size_t count)
{
    hash = hash_bytes(hash, &count, sizeof(count));
    return count > 0 ? hash_bytes(hash, ids, count * sizeof(*ids)) : hash;
}

uint64_t hub_entity_shape(const struct entity *entity)
{
    uint64_t hash = str_hash(entity->name);

    hash = hash_bytes(hash, &entity->row_level_security, sizeof(entity->row_level_security));
    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        const int64_t facts[] = {field->id, (int64_t)field->type, field->is_many};
        hash = str_hash_chunk(hash, field->name);
        hash = hash_bytes(hash, facts, sizeof(facts));
    }
    return hash;
}

static uint64_t hash_rights(uint64_t hash, const struct rights *rights)
{
    for (size_t i = 0; i < rights->entity_count; i++) {
        const struct entity_right *right = &rights->entities[i];
        const uint64_t facts[] = {(uint64_t)right->entity_id, right->actions, right->field_key};
        hash = hash_bytes(hash, facts, sizeof(facts));
    }
    return hash;
}

static bool is_personal(const struct hub_subscriber *listener, const struct entity *entity)
{
    for (size_t i = 0; i < listener->watch_count; i++)
        if (listener->watches[i].entity_id == entity->id)
            return listener->watches[i].test && listener->watches[i].test->is_personal;
    return false;
}

uint64_t hub_entity_visibility(const struct hub_subscriber *listener, const struct entity *entity)
{
    const struct caller *caller = &listener->caller;
    const struct rights *rights = caller->rights;
    bool personal = is_personal(listener, entity);
    uint64_t view = changes_view_key(caller, entity);
    uint64_t hash = hash_bytes(STR_HASH_NONE, &view, sizeof(view));

    if (caller_has_all_rows(caller) || !rights || !(entity->row_level_security || personal))
        return hash;
    const int64_t who[] = {caller->user_id, caller->group_scope, listener->group_members_hash};
    hash = hash_bytes(hash, who, sizeof(who));
    if (personal)
        hash = hash_rights(hash, rights);
    hash = hash_ids(hash, rights->role_ids, rights->role_count);
    return hash_ids(hash, rights->group_ids, rights->group_count);
}

static uint32_t hash_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

/* Adds the hashes, so that the order of the entities does not matter. */
static struct hub_fingerprint fingerprint_of(const struct hub_subscriber *listener,
                                             const struct model *model)
{
    uint64_t visibility = STR_HASH_NONE;
    uint64_t shape = STR_HASH_NONE;

    for (size_t i = 0; i < listener->watch_count; i++) {
        const struct hub_watch *watch = &listener->watches[i];
        const struct entity *entity = model_entity_by_id(model, watch->entity_id);
        if (!entity)
            continue;
        const uint64_t parts[] = {(uint64_t)entity->id, hub_entity_visibility(listener, entity)};
        visibility += hash_bytes(STR_HASH_NONE, parts, sizeof(parts));
        shape += hash_bytes(hub_entity_shape(entity), &entity->id, sizeof(entity->id));
    }
    return (struct hub_fingerprint){hash_fold(visibility), hash_fold(shape)};
}

/* --- as text --- */

static void fingerprint_put_number(char *out, uint32_t number)
{
    for (size_t i = 0; i < DIGITS; i++)
        out[i] = HEX[number >> 4 * (DIGITS - 1 - i) & 15];
}

static bool fingerprint_cut_number(struct str *text, uint32_t *ret_number)
{
    const struct str hex = STR(HEX);
    uint32_t number = 0;

    if (text->len < DIGITS)
        return false;
    for (size_t i = 0; i < DIGITS; i++) {
        const char *digit = memchr(hex.ptr, text->ptr[i], hex.len);
        if (!digit)
            return false;
        number = number << 4 | (uint32_t)(digit - hex.ptr);
    }
    *text = (struct str){text->ptr + DIGITS, text->len - DIGITS};
    *ret_number = number;
    return true;
}

void hub_fingerprint_update(struct hub_subscriber *listener, const struct model *model)
{
    const struct str name = STR("id: ");
    char *at = listener->head;

    listener->fingerprint = fingerprint_of(listener, model);
    memcpy(at, name.ptr, name.len);
    at += name.len;
    fingerprint_put_number(at, listener->fingerprint.visible);
    fingerprint_put_number(at + DIGITS, listener->fingerprint.shape);
    at += 2 * DIGITS;
    *at++ = '.';
    listener->feed.head = (struct str){listener->head, (size_t)(at - listener->head)};
}

bool hub_fingerprint_cut(struct str *text, struct hub_fingerprint *ret_print)
{
    struct str rest = *text;
    struct hub_fingerprint print;

    if (!fingerprint_cut_number(&rest, &print.visible) ||
        !fingerprint_cut_number(&rest, &print.shape) || rest.len == 0 || rest.ptr[0] != '.')
        return false;
    *text = (struct str){rest.ptr + 1, rest.len - 1};
    *ret_print = print;
    return true;
}

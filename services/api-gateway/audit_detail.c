/*
 * Details of changes for the audit log: {"changed": [...], "from": {...}, "to": {...}}, from a
 * resource's answers before and after the change. A reader of the log may have no right to the
 * resource's personal texts, and secrets are never logged, so the log has only the names of such
 * members.
 */
#include "app.h"
#include "base/secret_mask.h"
#include "json/jr.h"

#define VALUE_BYTES  4096 /* of a member as JSON; of a longer value only the name is logged */
#define DETAIL_BYTES ((size_t)256 << 10)

static bool detail_is_one_of(const char *const *names, const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Returns whether the log ignores the member, which changes without an edit of the resource. */
static bool is_ignored_member(const char *name)
{
    static const char *const names[] = {"created_at",
                                        "updated_at",
                                        "version",
                                        "fields",
                                        "last_used_at",
                                        "last_sign_in_at",
                                        "id",
                                        "member_count",
                                        NULL};

    return detail_is_one_of(names, name);
}

/* Returns whether only the member's name is logged: personal texts, values of records, secrets. */
static bool is_logged_by_name(const char *name)
{
    static const char *const names[] = {
        "metadata", "preferences", "default", "email", "enum", "display_name", "operations", NULL};

    return detail_is_one_of(names, name) || secret_is_credential_name(str_from(name));
}

struct difference {
    struct arena *arena;
    json_t *changed, *from, *to;
};

static void detail_add_name(const struct difference *difference, const char *name)
{
    for (size_t i = 0; i < json_array_size(difference->changed); i++)
        if (strcmp(json_string_value(json_array_get(difference->changed, i)), name) == 0)
            return;
    (void)json_array_append_new(difference->changed, json_string(name));
}

static void detail_add_member(const struct difference *difference,
                              const char *name,
                              json_t *before,
                              json_t *after)
{
    json_t *sides[] = {before, after};
    json_t *into[] = {difference->from, difference->to};

    detail_add_name(difference, name);
    for (size_t i = 0; i < ARRAY_LEN(sides); i++)
        if (sides[i] != NULL && !is_logged_by_name(name) &&
            jr_print(difference->arena, sides[i]).len <= VALUE_BYTES)
            (void)json_object_set(into[i], name, sides[i]);
}

static void
compare_objects(const struct difference *difference, const json_t *before, const json_t *after)
{
    const char *name;
    json_t *item;

    json_object_foreach((json_t *)after, name, item)
    {
        json_t *was = json_object_get(before, name);
        if (!is_ignored_member(name) && !json_equal(was, item) &&
            !(was == NULL && json_is_null(item)))
            detail_add_member(difference, name, was, item);
    }
}

struct str gateway_difference_detail(struct req *r,
                                     const json_t *before,
                                     const json_t *after,
                                     const struct changed_member *more,
                                     size_t count)
{
    struct arena *arena = r->task.arena;
    const struct difference difference = {
        arena,
        jr_attach(arena, json_array()),
        jr_attach(arena, json_object()),
        jr_attach(arena, json_object()),
    };

    compare_objects(&difference, before, after);
    for (size_t i = 0; i < count; i++)
        if (more[i].set)
            detail_add_name(&difference, more[i].name);
    if (json_array_size(difference.changed) == 0)
        return STR_NONE;
    json_t *detail = jr_attach(arena, json_object());
    (void)json_object_set(detail, "changed", difference.changed);
    if (json_object_size(difference.from) > 0)
        (void)json_object_set(detail, "from", difference.from);
    if (json_object_size(difference.to) > 0)
        (void)json_object_set(detail, "to", difference.to);
    return jr_print(arena, detail);
}

static json_t *row_object(struct req *r, const struct rows *row)
{
    struct jr_error error;
    json_t *object = NULL;
    struct strbuf text;
    struct jw w;

    if (row == NULL || row->count == 0)
        return NULL;
    strbuf_init(&text, r->task.arena, DETAIL_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    rows_json_members(&w, row, 0);
    jw_obj_end(&w);
    if (text.overflow || jr_parse_stored(r->task.arena, strbuf_view(&text), &object, &error) != 0)
        return NULL;
    return object;
}

struct str gateway_change_detail(struct req *r, const struct audit_change *change)
{
    return gateway_difference_detail(r,
                                     row_object(r, change->before),
                                     row_object(r, change->after),
                                     change->unshown,
                                     change->count);
}

struct db_call gateway_audit_change(struct req *r,
                                    const char *action,
                                    const char *target,
                                    int64_t target_id,
                                    const struct audit_change *change)
{
    return gateway_audit(r, action, target, target_id, gateway_change_detail(r, change));
}

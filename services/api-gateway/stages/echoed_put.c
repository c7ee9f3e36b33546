/* PUTs with members that only the GET of their path knows. */
#include "stages/echoed_put.h"

#include <errno.h>

#include "app/reply.h"
#include "http/req.h"
#include "json/jr_off_thread.h"
#include "stages/checks.h"
#include "stages/conditional.h"
#include "stages/stages.h"

#define DEPTH_MAX 8 /* of nested members; a schema may contain itself */

static bool shows_json(const struct route *route)
{
    return route->method == HTTP_GET_M && route->success.schema != NULL && !route->success.list &&
           route->success.content_type == NULL;
}

/* Returns whether the schema refuses members that it does not name. */
static bool schema_is_closed(const struct schema *schema)
{
    return schema != NULL && schema->value == NULL && !schema->allows_unknown &&
           !schema->is_unchecked;
}

static const struct field *schema_field(const struct schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->count; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    return NULL;
}

/* NOLINTBEGIN(misc-no-recursion): DEPTH_MAX deep */
/* Returns whether `sent` has members that the schema does not know. Removes the unknown members
 * that `shown` has with the same value, unless `shown` is NULL. */
static bool
members_prune(json_t *sent, const struct schema *taken, const json_t *shown, unsigned depth)
{
    bool has_unknown = false;
    const char *name;
    json_t *value;
    void *next;

    if (!schema_is_closed(taken) || depth == DEPTH_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(sent); i++)
        has_unknown =
            members_prune(json_array_get(sent, i), taken, json_array_get(shown, i), depth + 1) ||
            has_unknown;
    json_object_foreach_safe(sent, next, name, value)
    {
        const struct field *field = schema_field(taken, name);
        const json_t *same = json_object_get(shown, name);
        if (field != NULL) {
            has_unknown = members_prune(value, field->sub, same, depth + 1) || has_unknown;
            continue;
        }
        has_unknown = true;
        if (same != NULL && json_equal(value, same))
            (void)json_object_del(sent, name);
    }
    return has_unknown;
}
/* NOLINTEND(misc-no-recursion) */

/* Returns whether the caller may read the resource. Otherwise the body is not compared with the
 * resource, because the answer would reveal the resource's values. */
static bool caller_may_read(const struct req *r, const struct route *shown)
{
    for (enum access_check check = 0; check < CHECK_COUNT; check++) {
        if (!check_applies(check, shown) ||
            check_passes(check, shown, r->scope->caller, r->scope->entity))
            continue;
        struct str own = shown->own_param != NULL ? req_param(r, shown->own_param) : STR_NONE;
        if (!check_is_waived(check, shown, r->scope->caller, own))
            return false;
    }
    return true;
}

AWAITS static int body_parse(struct req *r, json_t **ret_body)
{
    struct jr_error error;
    struct str text;

    *ret_body = NULL;
    TRY(req_body_text(r, &text));
    int rc =
        jr_parse_queued(&r->task, r->task.arena, text, r->route->exact_numbers, ret_body, &error);
    return rc == JR_INVALID || rc == -EAGAIN ? 0 : rc;
}

/* Removes from the body the unknown members that the GET shows with the same values. */
AWAITS static int body_prune(struct req *r, const struct route *shown, json_t *body)
{
    struct jr_error error;
    json_t *now;

    int rc = handler_run_get(r, shown);
    if (rc != 200)
        return rc < 0 ? rc : 0;
    if (jr_parse_stored(r->task.arena, strbuf_view(&r->body), &now, &error) != 0)
        return ERROR(-EBADMSG);
    (void)members_prune(body, r->route->body, now, 0);
    req_body_replace(r, jr_print(r->task.arena, body));
    return 0;
}

int echoed_put_run(struct req *r)
{
    size_t headers = r->extra_headers.len;
    unsigned lasting = r->task.lasting_count;
    json_t *body;

    int rc = handler_run(r);
    if (rc != 400 || r->method != HTTP_PUT_M || r->streaming || r->task.lasting_count != lasting ||
        !schema_is_closed(r->route->body) || r->route->body_type != 0)
        return rc;
    const struct route *shown = route_with_same_path(r->route, shows_json);
    if (shown == NULL || !caller_may_read(r, shown))
        return rc;
    TRY(body_parse(r, &body));
    if (body == NULL || !members_prune(body, r->route->body, NULL, 0))
        return rc;
    gateway_roll_back(r);
    handler_discard_answer(r, headers);
    TRY(body_prune(r, shown, body));
    handler_discard_answer(r, headers);
    return handler_run(r);
}

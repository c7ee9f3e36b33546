/*
 * ETags, If-None-Match and If-Match of all resources except records and workflows.
 *
 * A tag is a hash of the representation. Where the service itself updates members, such as a user's
 * last sign-in, the tag is "edited-all": a hash without those members, then a hash with them.
 * If-Match protects edits from each other, so it compares only the first part: a sign-in is no
 * edit.
 */
#include "stages/conditional.h"

#include <string.h>

#include "base/codec.h"
#include "crypto/digest.h"
#include "stages/echoed_put.h"
#include "stages/refusals.h"
#include "stages/stages.h"
#include "stages_sql.h"

#define TAG_BYTES 16  /* of a digest */
#define LOCK_ROWS 256 /* of {p}.resource_locks */

/* --- which routes --- */

/* Returns whether the route shows one resource as JSON and has no conditions of its own. */
static bool is_single_get(const struct route *route)
{
    return route->method == HTTP_GET_M && route->success.schema && !route->success.list &&
           !route->success.content_type && !route->undocumented_entity &&
           !(route->headers & HEADER_IF_NONE_MATCH);
}

static bool is_put_or_delete(const struct route *route)
{
    return (route->method == HTTP_PUT_M || route->method == HTTP_DELETE_M) &&
           !route->undocumented_entity && !(route->headers & HEADER_IF_MATCH);
}

const struct route *route_with_same_path(const struct route *route,
                                         bool (*fits)(const struct route *))
{
    for (size_t t = 0; t < route_table_count; t++) {
        if (strcmp(route_tables[t]->mount, PROJECT_MOUNT) != 0)
            continue;
        for (size_t i = 0; i < route_tables[t]->count; i++) {
            const struct route *other = &route_tables[t]->routes[i];
            if (fits(other) && strcmp(other->path, route->path) == 0)
                return other;
        }
    }
    return NULL;
}

/* Returns the GET of the resource that a PUT or DELETE changes; NULL = no conditions apply. */
static const struct route *route_get_of(const struct route *route)
{
    return is_put_or_delete(route) && route->auth != AUTH_OPERATOR
               ? route_with_same_path(route, is_single_get)
               : NULL;
}

static bool conditional_is_shown(const struct route *route)
{
    return is_single_get(route) && route->auth != AUTH_OPERATOR &&
           route_with_same_path(route, is_put_or_delete) != NULL;
}

bool conditional_has_etag(const struct route *route)
{
    const struct route *shown = route_get_of(route);

    return conditional_is_shown(route) || (shown && route->success.status == 200 &&
                                           route->success.schema == shown->success.schema);
}

unsigned conditional_headers(const struct route *route)
{
    unsigned own = route->headers;

    if (conditional_is_shown(route))
        own |= HEADER_IF_NONE_MATCH;
    if (route_get_of(route))
        own |= HEADER_IF_MATCH;
    return own;
}

/* --- tags --- */

static struct str digest_of(struct arena *arena, struct str text)
{
    uint8_t digest[DIGEST_SHA256_BYTES];

    digest_sha256(text, digest);
    return codec_hex(arena, (struct str){(const char *)digest, TAG_BYTES});
}

/* Returns the answer without members that the service itself updates; STR_NONE = it has none. */
static struct str edited_part(struct req *r, const struct schema *schema)
{
    struct jr_error error;
    json_t *body = NULL;

    for (size_t i = 0; i < schema->count; i++) {
        if (!schema->fields[i].is_volatile)
            continue;
        if (!body && jr_parse_stored(r->task.arena, strbuf_view(&r->body), &body, &error) != 0)
            return STR_NONE;
        json_object_del(body, schema->fields[i].name);
    }
    return body ? jr_print(r->task.arena, body) : STR_NONE;
}

static struct str tag_of(struct req *r, const struct schema *schema)
{
    struct arena *arena = r->task.arena;
    struct str edited = edited_part(r, schema);
    struct str all = digest_of(arena, strbuf_view(&r->body));

    if (!edited.ptr)
        return arena_printf(arena, "\"%.*s\"", STR_ARG(all));
    return arena_printf(arena, "\"%.*s-%.*s\"", STR_ARG(digest_of(arena, edited)), STR_ARG(all));
}

/* Returns whether the tags differ at most in members that the service itself has updated. */
static bool is_same_edit(struct str one, struct str tag)
{
    struct str ours = str_split(&tag, '-');

    return tag.ptr && one.len == ours.len + 1 + tag.len && str_starts(one, ours) &&
           one.ptr[ours.len] == '-';
}

/* --- If-Match --- */

/* Returns whether the list names the tag. A weak tag does not count (RFC 9110 section 13.1.1). */
static bool has_tag(struct str list, struct str tag)
{
    while (list.ptr) {
        struct str one = str_trim(str_split(&list, ','));
        if (str_is(one, "*") || str_eq(one, tag) || is_same_edit(one, tag))
            return true;
    }
    return false;
}

/* co: Computes the tag of the resource as r->scope->db shows it to this caller; STR_NONE when the
 * GET does not show it. Returns 0, a negative, or the status when the GET failed (5xx). */
AWAITS static int current_tag(struct req *r, const struct route *shown, struct str *ret_tag)
{
    size_t headers = r->extra_headers.len;
    int rc = handler_run_get(r, shown);

    *ret_tag = rc == 200 ? tag_of(r, shown->success.schema) : STR_NONE;
    if (rc < 0 || rc >= 500)
        return rc;
    handler_discard_answer(r, headers);
    return 0;
}

/* Checks If-Match. A request for a missing resource passes, because the handler answers it. */
AWAITS static int conditional_check(struct req *r, const struct route *shown)
{
    struct str wanted = req_header(r, "if-match");
    struct str tag;

    if (!wanted.ptr)
        return 0;
    TRY(current_tag(r, shown, &tag));
    if (!tag.len || has_tag(wanted, tag))
        return 0;
    return refusal(r, REFUSE_STALE, "The resource has changed since you read it; read it again.");
}

/* Returns the row of {p}.resource_locks for a path as the route sees it. Two resources may have the
 * same row: they then wait for each other, with no other effect. */
static int64_t lock_key(const struct req *r)
{
    uint64_t hash = str_hash(str_from(r->route->path));

    for (size_t i = 0; i < r->param_count; i++)
        hash = hash * 31 + str_hash(r->params[i]);
    return (int64_t)((hash ^ hash >> 32) % LOCK_ROWS);
}

/* The beginning of a writer's transaction: locks the resource and checks If-Match. */
AWAITS static int conditional_begin(struct req *r)
{
    struct rows locked;

    TRY(sql_one(r, &locked, SQL_RESOURCE_LOCK(.key = lock_key(r))));
    return conditional_check(r, route_get_of(r->route));
}

/* --- the request --- */

static int conditional_finish(struct req *r, int rc)
{
    if (rc != 200 || r->streaming || !conditional_has_etag(r->route))
        return rc;
    bool known = resp_etag(r, tag_of(r, r->route->success.schema));
    bool reads = r->method == HTTP_GET_M || r->method == HTTP_HEAD_M;
    return known && reads ? reply_empty(r, 304) : rc;
}

int conditional_run(struct req *r)
{
    const struct route *shown = route_get_of(r->route);
    unsigned lasting = r->task.lasting_count;

    if (shown) {
        r->scope->begin_hook = conditional_begin;
        TRY(conditional_check(r, shown)); /* before any other work or call to another server */
    }
    int rc = echoed_put_run(r);
    /* A handler that writes outside of sql_begin() would bypass its conditions. */
    if (r->scope->begin_hook && rc >= 200 && rc < 300 && r->task.lasting_count != lasting)
        log_error("conditional.unlocked", L_CSTR("route", r->route->id));
    return conditional_finish(r, rc);
}

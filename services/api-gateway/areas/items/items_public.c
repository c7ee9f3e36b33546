/* /entities/{entity}/public/items: needs no credentials, and shows only public fields of entities
 * with public_read. */
#include "items/items.h"

/* Finds the entity of the path. Responds to an entity that is not public as to an unknown
 * entity. */
static int
public_entity(struct req *r, struct records_ctx **ret_ctx, const struct entity **ret_entity)
{
    const struct entity *entity;

    TRY(gateway_entity(r, &entity));
    if (!entity->public_read)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such entity.");
    *ret_ctx = items_ctx(r);
    (*ret_ctx)->public_only = true;
    *ret_entity = entity;
    return 0;
}

AWAITS static int items_public_list(struct req *r)
{
    struct records_ctx *ctx = NULL;
    const struct entity *entity = NULL;
    struct records_query query;

    TRY(public_entity(r, &ctx, &entity));
    TRY(items_query(r, ctx, &query));
    TRY(items_reply_error(r, ctx, records_list(ctx, entity, &query, &r->body)));
    return reply_json(r, 200);
}

AWAITS static int items_public_get(struct req *r)
{
    struct records_ctx *ctx = NULL;
    const struct entity *entity = NULL;
    struct records_query query;
    int64_t version;
    int64_t id;

    TRY(public_entity(r, &ctx, &entity));
    TRY(req_id(r, "id", &id));
    TRY(items_query(r, ctx, &query));
    TRY(items_reply_error(r, ctx, records_get(ctx, entity, id, &query, &r->body, &version)));
    TRY(items_etag_or_304(r, version));
    return reply_json(r, 200);
}

static const struct route items_public_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/public/items",
        .id = "items_public_list",
        .auth = AUTH_PUBLIC,
        .query = items_list_query,
        .success = {200, &record_schema, .list = true},
        .extra_statuses = {404},
        .run = items_public_list,
        .summary = "List the public records of an entity",
    },
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/public/items/{id}",
        .id = "items_public_get",
        .auth = AUTH_PUBLIC,
        .query = items_one_query,
        .headers = HEADER_IF_NONE_MATCH,
        .success = {200, &record_schema},
        .extra_statuses = {304, 404},
        .run = items_public_get,
        .summary = "Get one public record",
    },
};
ROUTES(items_public, "Public records");

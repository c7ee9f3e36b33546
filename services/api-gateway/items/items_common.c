/* Shared by the item areas: the context of records, ETags, documented query parameters. */

#include "base/num.h"
#include "items/items.h"

#define ETAG_SLICE_BYTES ((size_t)256 * 1024)

#define DESCRIBED_LIST                                                                             \
    {.name = "page",                                                                               \
     .type = FIELD_I64,                                                                            \
     .has_min = true,                                                                              \
     .min = 1,                                                                                     \
     .fallback = "1",                                                                              \
     .doc = "Page number, from 1. The service reads and skips all records before the page: about " \
            "a quarter of a second for each million by id, some seconds in another order. "        \
            "cursor, and filter[id][gt] with sort=id, take the same time for every page"},         \
    {                                                                                              \
        .name = "limit", .type = FIELD_I64, .has_min = true, .min = 1, .has_max = true,            \
        .max = 500, .fallback = "20", .doc = "Records per page"                                    \
    }

/* clang-format off */
const struct query_param items_list_query[] = {
    {.name = "filter",
     .type = FIELD_STR,
     .deep = true,
     .doc =
         "filter[field]=value or filter[field][operator]=value; operators"
#define FILTER_OPERATOR(constant, name, fits, takes, sql) " " name
#include "catalog/operator.def"
         "; lists: filter[field][in]=a,b (put a value that has a comma or a quote into double "
         "quotes, and double the quotes inside: filter[field][in]=\"Smith, John\",Ann), or "
         "filter[field][in][]=a&filter[field][in][]=b, or with [0], [1] for the positions; the "
         "same for nin and between; groups: filter[or][0][field]=value; paths through relations: "
         "filter[author.country]=BO; when the relation is empty, or the caller may not read the "
         "related record, the field is null; null matches ne and nin and no other comparison; gt, "
         "gte, lt, lte and between compare texts in the order of the project's locale, all other "
         "operators compare texts as they are written"},
    {.name = "sort",
     .type = FIELD_STR,
     .doc =
         "Fields separated by commas; '-' in front of a field sorts in descending order; texts in "
         "the order of the project's locale, nulls last"},
    {.name = "order",
     .type = FIELD_STR,
     .values = page_orders,
     .doc = "Direction for a single sort field"},
    {.name = "fields", .type = FIELD_STR, .doc = "Fields to return, separated by commas"},
    {.name = "expand",
     .type = FIELD_STR,
     .doc = "Relations and files to return as objects instead of ids, separated by commas; with "
            "dots for relations of related records"},
    DESCRIBED_LIST,
    {.name = "count",
     .type = FIELD_STR,
     .values = (const char *const[]){"true", "false", NULL},
     .fallback = "true",
     .doc = "With false, records are not counted and total_items is -1"},
    {.name = "cursor",
     .type = FIELD_STR,
     .doc =
         "'start', then the next_cursor of each response: reads a list of any size. When the "
         "project's locale has changed, a list that sorts by texts must begin again with 'start'"},
    {0},
};

const struct query_param items_one_query[] = {
    {.name = "fields", .type = FIELD_STR, .doc = "Fields to return, separated by commas"},
    {.name = "expand",
     .type = FIELD_STR,
     .doc = "Relations and files to return as objects instead of ids, separated by commas; with "
            "dots for relations of related records"},
    {0},
};
/* clang-format on */

const struct schema record_schema = {
    .name = "Record",
    .doc = "A record of the entity. The data model document describes its members",
    .value = &(const struct field){.type = FIELD_MAP},
};

struct records_ctx *items_ctx(struct req *r)
{
    struct records_ctx *ctx = ARENA_NEW(r->task.arena, ctx);

    ctx->task = &r->task;
    ctx->directory = gateway_directory();
    ctx->project = r->scope->project;
    ctx->db = r->scope->db;
    ctx->model = r->scope->model;
    ctx->caller = r->scope->caller;
    ctx->lock_token = req_header(r, "x-lock-token");
    ctx->traceparent = gateway_traceparent(r);
    return ctx;
}

int items_reply_error(struct req *r, const struct records_ctx *ctx, int rc)
{
    if (rc == RECORDS_SCHEMA)
        return fail_db(r, DB_SCHEMA); /* handler_run() repeats the request with the new model */
    if (rc != RECORDS_FAILED)
        return rc;
    return fail_with(r, ctx->error.code, ctx->error.detail, &ctx->error.fields);
}

int items_query(struct req *r, struct records_ctx *ctx, struct records_query *ret_query)
{
    const struct query *query;

    TRY(req_query(r, &query));
    return items_reply_error(r, ctx, items_query_read(ctx, query, ret_query));
}

/* co: Hashes the body in slices, with a chance for other requests after each slice. */
AWAITS static int etag_text(struct req *r, int64_t version, struct str *ret_text)
{
    struct str rest = strbuf_view(&r->body);
    unsigned long long hash = STR_HASH_NONE;

    while (rest.len > 0) {
        size_t len = rest.len < ETAG_SLICE_BYTES ? rest.len : ETAG_SLICE_BYTES;
        hash = str_hash_chunk(hash, (struct str){rest.ptr, len});
        rest = (struct str){rest.ptr + len, rest.len - len};
        TRY(task_yield_if_due(&r->task));
    }
    *ret_text = arena_printf(r->task.arena, "\"%lld-%llx\"", (long long)version, hash);
    return 0;
}

int items_etag(struct req *r, int64_t version)
{
    struct str etag;

    TRY(etag_text(r, version, &etag));
    resp_header(r, "ETag", etag);
    return 0;
}

int items_etag_or_304(struct req *r, int64_t version)
{
    struct str etag;

    TRY(etag_text(r, version, &etag));
    return resp_etag(r, etag) ? reply_empty(r, 304) : 0;
}

/* Reads the version of a strong ETag of this service, such as "12-9f3a". */
static bool read_etag(struct str etag, int64_t *ret_version)
{
    if (etag.len < 3 || etag.ptr[0] != '"' || etag.ptr[etag.len - 1] != '"')
        return false;
    etag = (struct str){etag.ptr + 1, etag.len - 2};
    return num_parse_i64(str_split(&etag, '-'), ret_version) && *ret_version > 0 && etag.len > 0;
}

int items_if_match(struct req *r, struct items_match *ret_match)
{
    struct str rest = str_trim(req_header(r, "if-match"));
    struct items_match match = {.count = 0};

    *ret_match = match;
    if (!rest.ptr || str_is(rest, "*"))
        return 0;
    while (rest.ptr) {
        int64_t version;
        if (!read_etag(str_trim(str_split(&rest, ',')), &version))
            continue;
        if (match.count == ITEMS_MATCH_MAX)
            return fail(
                r, PROBLEM_BAD_REQUEST, "If-Match lists more than %d tags.", ITEMS_MATCH_MAX);
        match.versions[match.count++] = version;
    }
    if (!match.count)
        return fail(r, PROBLEM_PRECONDITION_FAILED, "If-Match must be the ETag of the record.");
    *ret_match = match;
    return 0;
}

int64_t items_match_version(const struct items_match *match)
{
    return match->count ? match->versions[match->current] : 0;
}

bool items_match_next(struct items_match *match, struct records_ctx *ctx, int rc)
{
    if (rc != RECORDS_FAILED || ctx->error.code != PROBLEM_PRECONDITION_FAILED)
        return false;
    if (match->current + 1 >= match->count)
        return false;
    match->current++;
    ctx->error = (struct records_error){0};
    return true;
}

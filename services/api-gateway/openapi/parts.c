/* Parts of OpenAPI documents: heads, parameters, problem responses, the list envelope. */
#include "openapi/parts.h"

#include <math.h>

#include "base/panic.h"
#include "catalog/problem.h"
#include "stages/refusals.h"

#define EXACT_MAX      9007199254740992.0 /* 2^53 */
#define PROBLEM_BYTES  65536U
#define STATUS_BASE    400
#define STATUS_CREATED 201
#define EXAMPLE_STATUS 404

void openapi_head(struct jw *w,
                  struct str base_url,
                  const char *version,
                  const char *title,
                  struct str revision,
                  const char *description)
{
    jw_obj(w);
    JW_CSTR(w, "openapi", version);
    jw_lit(w, "info");
    jw_obj(w);
    JW_CSTR(w, "title", title);
    JW_STR(w, "version", revision);
    JW_CSTR(w, "description", description);
    jw_lit(w, "license");
    jw_obj(w);
    JW_CSTR(w, "name", "Terms of the operator of this service");
    JW_STR(w, "url", base_url);
    jw_obj_end(w);
    jw_obj_end(w);
    jw_lit(w, "servers");
    jw_arr(w);
    jw_obj(w);
    JW_STR(w, "url", base_url);
    JW_CSTR(w, "description", "This project");
    jw_obj_end(w);
    jw_arr_end(w);
    jw_obj_end(w);
}

void openapi_tag(struct jw *w, struct str name, struct str description)
{
    jw_obj(w);
    JW_STR(w, "name", name);
    JW_STR(w, "description", description);
    jw_obj_end(w);
}

void openapi_ref(struct jw *w, const char *section, struct str name)
{
    jw_obj(w);
    jw_lit(w, "$ref");
    jw_str(w, arena_printf(w->out->arena, "#/components/%s/%.*s", section, STR_ARG(name)));
    jw_obj_end(w);
}

void openapi_number(struct jw *w, const char *key, double value)
{
    jw_lit(w, key);
    if (value == floor(value) && fabs(value) <= EXACT_MAX)
        jw_i64(w, (int64_t)value);
    else
        jw_f64(w, value);
}

void openapi_id(struct jw *w, const char *description)
{
    jw_obj(w);
    JW_CSTR(w, "type", "integer");
    JW_CSTR(w, "format", "int64");
    JW_CSTR(w, "description", description);
    JW_I64(w, "example", 1);
    jw_obj_end(w);
}

/* --- parameters --- */

static void put_values(struct jw *w, const char *const *values)
{
    jw_lit(w, "enum");
    jw_arr(w);
    for (; *values != NULL; values++)
        jw_cstr(w, *values);
    jw_arr_end(w);
}

static void put_query_type(struct jw *w, const struct query_param *param)
{
    bool number = param->type == FIELD_I64 || param->type == FIELD_F64;

    if (param->deep) {
        JW_CSTR(w, "type", "object");
        JW_BOOL(w, "additionalProperties", true);
        return;
    }
    if (param->type == FIELD_STRS) {
        JW_CSTR(w, "type", "array");
        jw_lit(w, "items");
        jw_obj(w);
    }
    JW_CSTR(w,
            "type",
            param->type == FIELD_I64    ? "integer"
            : param->type == FIELD_F64  ? "number"
            : param->type == FIELD_BOOL ? "boolean"
                                        : "string");
    if (param->type == FIELD_TIME)
        JW_CSTR(w, "format", "date-time");
    if (number && param->has_min)
        openapi_number(w, "minimum", param->min);
    if (number && param->has_max)
        openapi_number(w, "maximum", param->max);
    if (param->values != NULL)
        put_values(w, param->values);
    if (param->type == FIELD_STRS)
        jw_obj_end(w);
    if (param->fallback == NULL)
        return;
    jw_lit(w, "default");
    if (number || param->type == FIELD_BOOL)
        jw_raw(w, str_from(param->fallback));
    else
        jw_cstr(w, param->fallback);
}

void openapi_query_param(struct jw *w, const struct query_param *param)
{
    jw_obj(w);
    JW_CSTR(w, "name", param->name);
    JW_CSTR(w, "in", "query");
    if (param->doc != NULL)
        JW_CSTR(w, "description", param->doc);
    if (param->deep) {
        JW_CSTR(w, "style", "deepObject");
        JW_BOOL(w, "explode", true);
    }
    if (param->type == FIELD_STRS)
        JW_BOOL(w, "explode", false);
    jw_lit(w, "schema");
    jw_obj(w);
    put_query_type(w, param);
    jw_obj_end(w);
    jw_obj_end(w);
}

static const struct {
    enum route_header bit;
    const char *component;
    const char *name;
    const char *description;
} headers[] = {
    {HEADER_IF_NONE_MATCH,
     "IfNoneMatch",
     "If-None-Match",
     "ETag of the client's copy; the answer is 304 while the copy is current"},
    {HEADER_IF_MATCH,
     "IfMatch",
     "If-Match",
     "ETag of the version to change; the answer is 412 when the resource has been changed since. "
     "Values that the service itself updates, such as last_sign_in_at, change the ETag but do not "
     "cause a 412"},
    {HEADER_LOCK_TOKEN, "LockToken", "X-Lock-Token", "Token of the caller's lock on the record"},
    {HEADER_GROUP_ID,
     "GroupId",
     "X-Group-Id",
     "Id of a group to which the caller belongs, as a member or by a role: the caller also reads "
     "the records that its members created (needs svc_group_data:read)"},
    {HEADER_IDEMPOTENCY_KEY,
     "IdempotencyKey",
     "Idempotency-Key",
     "A request that is repeated within 24 hours with the same key takes effect once"},
    {HEADER_RANGE,
     "Range",
     "Range",
     "Parts of the content to return, such as bytes=0-499 or bytes=0-99,200-299"},
    {HEADER_RANGE,
     "IfRange",
     "If-Range",
     "ETag or Last-Modified of the client's copy; when the content has changed, Range is ignored"},
};

static void parts_put_header(struct jw *w, size_t index)
{
    jw_obj(w);
    JW_CSTR(w, "name", headers[index].name);
    JW_CSTR(w, "in", "header");
    JW_CSTR(w, "description", headers[index].description);
    jw_lit(w, "schema");
    jw_obj(w);
    JW_CSTR(w, "type", "string");
    jw_obj_end(w);
    jw_obj_end(w);
}

void openapi_headers(struct jw *w, unsigned bits, bool by_name)
{
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        if (!(bits & headers[i].bit))
            continue;
        if (by_name)
            openapi_ref(w, "parameters", str_from(headers[i].component));
        else
            parts_put_header(w, i);
    }
}

void openapi_header_components(struct jw *w, unsigned bits)
{
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        if (!(bits & headers[i].bit))
            continue;
        jw_lit(w, headers[i].component);
        parts_put_header(w, i);
    }
}

/* Writes the type of an id that is either ours or the processor's, which begins with `prefix`. */
static void put_own_or_processor_id(struct jw *w, const char *prefix)
{
    JW_CSTR(w, "type", "string");
    jw_lit(w, "pattern");
    jw_str(w, arena_printf(w->out->arena, "^([1-9][0-9]*|%s[A-Za-z0-9_]+)$", prefix));
    JW_CSTR(w, "description", "The id of the resource here, or its id at the processor");
}

void openapi_path_param(struct jw *w, const struct route *route, struct str name)
{
    bool number = str_is(name, "id") || str_ends(name, STR("_id")) || str_is(name, "userId") ||
                  str_is(name, "version");

    jw_obj(w);
    JW_STR(w, "name", name);
    JW_CSTR(w, "in", "path");
    JW_BOOL(w, "required", true);
    jw_lit(w, "schema");
    jw_obj(w);
    if (route->id_prefix && str_is(name, "id")) {
        put_own_or_processor_id(w, route->id_prefix);
    } else {
        JW_CSTR(w, "type", number ? "integer" : "string");
        if (number) {
            JW_CSTR(w, "format", "int64");
            JW_I64(w, "minimum", 1);
        }
    }
    jw_obj_end(w);
    jw_obj_end(w);
}

/* --- failures --- */

/* Returns the name of a status in components.responses. Generators make a class name of it, so it
 * is a word and not a number. */
static struct str status_name(struct arena *arena, int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {
        {302, "Found"},
        {304, "NotModified"},
        {400, "BadRequest"},
        {401, "Unauthorized"},
        {402, "PaymentFailed"},
        {403, "Forbidden"},
        {404, "NotFound"},
        {406, "NotAcceptable"},
        {408, "RequestTimeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "LengthRequired"},
        {412, "PreconditionFailed"},
        {413, "PayloadTooLarge"},
        {414, "TargetTooLong"},
        {415, "UnsupportedMedia"},
        {416, "RangeNotSatisfiable"},
        {422, "Unprocessable"},
        {423, "Locked"},
        {424, "FailedDependency"},
        {428, "PreconditionRequired"},
        {429, "TooManyRequests"},
        {431, "HeadersTooLarge"},
        {500, "InternalError"},
        {502, "ProviderFailed"},
        {503, "DependencyUnavailable"},
        {504, "TimedOut"},
        {507, "StorageFull"},
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].status == status)
            return str_from(names[i].name);
    }
    return arena_printf(arena, "Status%d", status);
}

void openapi_success_headers(struct jw *w, int status, bool etag)
{
    if (status != STATUS_CREATED && !etag)
        return;
    jw_lit(w, "headers");
    jw_obj(w);
    if (status == STATUS_CREATED) {
        jw_lit(w, "Location");
        jw_raw(
            w,
            STR("{\"description\":\"Address of the new resource\",\"schema\":{\"type\":\"string\","
                "\"format\":\"uri-reference\"}}"));
    }
    if (etag) {
        jw_lit(w, "ETag");
        jw_raw(
            w,
            STR("{\"description\":\"Tag of this representation, for If-Match and If-None-Match\","
                "\"schema\":{\"type\":\"string\"}}"));
    }
    jw_obj_end(w);
}

void openapi_failures(struct jw *w, const struct route *route, struct openapi_statuses *statuses)
{
    int all[REFUSAL_STATUSES_MAX];
    size_t count = refusal_statuses(route, all);

    for (size_t i = 0; i < count; i++) {
        MUST(all[i] > 0 && (size_t)all[i] < ARRAY_LEN(statuses->used));
        statuses->used[all[i]] = true;
        jw_key(w, arena_printf(w->out->arena, "%d", all[i]));
        openapi_ref(w, "responses", status_name(w->out->arena, all[i]));
    }
}

void openapi_responses(struct jw *w, const struct openapi_statuses *statuses, struct str problem)
{
    jw_lit(w, "responses");
    jw_obj(w);
    for (int status = 300; status < (int)ARRAY_LEN(statuses->used); status++) {
        if (!statuses->used[status])
            continue;
        jw_key(w, status_name(w->out->arena, status));
        jw_obj(w);
        JW_CSTR(w, "description", problem_status_title(status));
        if (status >= STATUS_BASE) {
            jw_lit(w, "content");
            jw_obj(w);
            jw_lit(w, "application/problem+json");
            jw_obj(w);
            jw_lit(w, "schema");
            jw_raw(w, problem);
            jw_obj_end(w);
            jw_obj_end(w);
        }
        jw_obj_end(w);
    }
    jw_obj_end(w);
}

static struct str code_description(struct arena *arena, bool codes)
{
    struct strbuf text;

    strbuf_init(&text, arena, PROBLEM_BYTES);
    strbuf_cstr(&text, "Stable name of the error. The text of `detail` may change.");
    if (codes)
        strbuf_cstr(&text, " New codes may be added. The codes are:\n");
    for (enum problem i = PROBLEM_NONE + 1; codes && i < PROBLEM_COUNT; i++) {
        const struct problem_info *it = problem_info(i);
        if (it->status != 0)
            strbuf_printf(&text, "\n- `%s` (%d): %s", it->code, it->status, it->title);
    }
    return strbuf_view(&text);
}

static void put_text(struct jw *w, const char *name, const char *description, const char *example)
{
    jw_lit(w, name);
    jw_obj(w);
    JW_CSTR(w, "type", "string");
    if (description != NULL)
        JW_CSTR(w, "description", description);
    if (example != NULL)
        JW_CSTR(w, "example", example);
    jw_obj_end(w);
}

static void put_finding(struct jw *w)
{
    jw_obj(w);
    JW_CSTR(w, "type", "object");
    jw_lit(w, "required");
    jw_raw(w, STR("[\"field\",\"code\",\"message\"]"));
    jw_lit(w, "properties");
    jw_obj(w);
    put_text(w, "field", "Path of the member, such as items[3].price", "price");
    put_text(w, "code", NULL, problem_code(PROBLEM_TYPE_MISMATCH));
    put_text(w, "message", NULL, "expected a number");
    jw_obj_end(w);
    jw_obj_end(w);
}

struct str openapi_problem(struct arena *arena, bool codes)
{
    struct strbuf text;
    struct jw writer;
    struct jw *w = &writer;

    strbuf_init(&text, arena, PROBLEM_BYTES);
    jw_init(w, &text);
    jw_obj(w);
    JW_CSTR(w, "type", "object");
    JW_CSTR(w, "description", "Error body of every endpoint (RFC 9457)");
    jw_lit(w, "required");
    jw_raw(w, STR("[\"type\",\"title\",\"status\",\"code\",\"detail\",\"request_id\"]"));
    jw_lit(w, "properties");
    jw_obj(w);
    put_text(w, "type", NULL, "about:blank");
    put_text(w, "title", NULL, problem_info(PROBLEM_NOT_FOUND)->title);
    jw_lit(w, "status");
    jw_obj(w);
    JW_CSTR(w, "type", "integer");
    JW_I64(w, "example", EXAMPLE_STATUS);
    jw_obj_end(w);
    jw_lit(w, "code");
    jw_obj(w);
    JW_CSTR(w, "type", "string");
    JW_STR(w, "description", code_description(arena, codes));
    JW_CSTR(w, "example", problem_code(PROBLEM_NOT_FOUND));
    jw_obj_end(w);
    put_text(
        w, "detail", "Explanation for people; the text may change", "There is no such entity.");
    put_text(w, "request_id", "Value of the header X-Request-Id of the answer", "01J8ZK3V5T9Q");
    jw_lit(w, "errors");
    jw_obj(w);
    JW_CSTR(w, "type", "array");
    JW_CSTR(w,
            "description",
            "The invalid members of the request, if any, and what is wrong with them");
    jw_lit(w, "items");
    put_finding(w);
    jw_obj_end(w);
    put_text(w, "error_code", "Under /auth/v1: the error code that clients of GoTrue expect", NULL);
    put_text(w, "msg", "Under /auth/v1: the same text as detail", NULL);
    jw_lit(w, "error");
    jw_raw(w,
           STR("{\"description\":\"Under /auth/v1: the error code of RFC 6749, a string. "
               "Under /ai/v1: OpenAI's error object with message, type, param and code\"}"));
    put_text(w, "error_description", "Under /auth/v1: the same text as detail", NULL);
    jw_lit(w, "payment_id");
    jw_raw(
        w,
        STR("{\"type\":\"integer\",\"format\":\"int64\",\"description\":\"Id of the payment that "
            "the processor was called for\"}"));
    put_text(w,
             "client_secret",
             "Secret with which an app lets the payer authenticate the payment",
             "pi_1_secret_2");
    jw_obj_end(w);
    jw_obj_end(w);
    return strbuf_view(&text);
}

/* --- lists --- */

void openapi_list_begin(struct jw *w)
{
    jw_obj(w);
    JW_CSTR(w, "type", "object");
    jw_lit(w, "required");
    jw_raw(w, STR("[\"items\",\"total_items\",\"page\",\"page_size\",\"has_next_page\"]"));
    jw_lit(w, "properties");
    jw_obj(w);
    jw_lit(w, "items");
    jw_obj(w);
    JW_CSTR(w, "type", "array");
    jw_lit(w, "items");
}

static void put_count(struct jw *w, const char *name, const char *description, int64_t example)
{
    jw_lit(w, name);
    jw_obj(w);
    JW_CSTR(w, "type", "integer");
    JW_CSTR(w, "format", "int64");
    JW_CSTR(w, "description", description);
    JW_I64(w, "example", example);
    jw_obj_end(w);
}

void openapi_list_end(struct jw *w, bool has_cursor)
{
    jw_obj_end(w);
    put_count(w, "total_items", "Number of items on all pages; -1 when they were not counted", 1);
    put_count(w, "page", "Number of this page, from 1", 1);
    put_count(w, "page_size", "Most items on a page, as set by limit", 20);
    jw_lit(w, "has_next_page");
    jw_obj(w);
    JW_CSTR(w, "type", "boolean");
    JW_BOOL(w, "example", false);
    jw_obj_end(w);
    if (has_cursor) {
        jw_lit(w, "next_cursor");
        jw_obj(w);
        JW_CSTR(w, "type", "string");
        JW_BOOL(w, "nullable", true);
        JW_CSTR(w,
                "description",
                "When cursor= was sent: the cursor of the next page, null on the last page");
        jw_obj_end(w);
    }
    jw_obj_end(w);
    jw_obj_end(w);
}

bool openapi_has_cursor(const struct query_param *query)
{
    for (; query != NULL && query->name != NULL; query++) {
        if (str_is(str_from(query->name), "cursor"))
            return true;
    }
    return false;
}

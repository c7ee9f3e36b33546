/* Reads the input of a handler: body, ids in the path, query and page parameters. */
#include <errno.h>
#include <string.h>

#include "app/admission.h"
#include "app/reply.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "http/query.h"
#include "http/req_unpack.h"
#include "http/resp.h"
#include "http/server.h"
#include "json/jr_off_thread.h"

const char *const page_orders[] = {"asc", "desc", NULL};
const struct query_param page_query[] = {PAGE_QUERY, {0}};

static int fail_body(struct req *r, int rc, size_t max_bytes)
{
    switch (rc) {
    case REQ_BODY_TOO_LARGE:
        return fail(
            r, PROBLEM_PAYLOAD_TOO_LARGE, "The body may have at most %zu bytes.", max_bytes);
    case REQ_BODY_TIMEOUT:
        return fail(r, PROBLEM_REQUEST_TIMEOUT, "The body arrived too slowly.");
    case REQ_BODY_REFUSED:
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "Too many request bodies from your address are being received; try again.");
    case REQ_BODY_MALFORMED:
        return fail(r,
                    PROBLEM_BAD_REQUEST,
                    "The body ended early, or is not framed or compressed correctly.");
    default:
        return rc;
    }
}

/* Accepts JSON, any "+json" type, and no type. With another type the client does not mean to send
 * JSON. */
static bool is_json_type(struct str type)
{
    struct str media = str_trim(str_split(&type, ';'));

    if (!media.len)
        return true;
    return str_ieq(media, STR("application/json")) ||
           (media.len > 17 && str_ieq((struct str){media.ptr, 12}, STR("application/")) &&
            str_ieq((struct str){media.ptr + media.len - 5, 5}, STR("+json")));
}

size_t req_json_max(const struct req *r)
{
    return r->route->body_max ? r->route->body_max : http_server_limits(r->server)->json_body_bytes;
}

bool req_body_has_type(const struct req *r)
{
    struct str type = req_header(r, "content-type");

    return is_json_type(type) ||
           str_ieq(str_trim(str_split(&type, ';')), STR("application/x-www-form-urlencoded"));
}

int req_body_text(struct req *r, struct str *ret_text)
{
    size_t max_bytes = req_json_max(r);
    int rc = req_body_read_all(r, max_bytes, ret_text);

    return rc ? fail_body(r, rc, max_bytes) : 0;
}

int req_encoding(struct req *r, bool *ret_gzip)
{
    struct str encoding = str_trim(req_header(r, "content-encoding"));
    bool gzip = str_ieq(encoding, STR("gzip")) || str_ieq(encoding, STR("x-gzip"));

    if (gzip ? ret_gzip == NULL : encoding.len > 0 && !str_ieq(encoding, STR("identity"))) {
        resp_header(r, "Accept-Encoding", ret_gzip != NULL ? STR("gzip") : STR("identity"));
        return fail(r,
                    PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                    ret_gzip != NULL
                        ? "Send the body with Content-Encoding gzip or without Content-Encoding."
                        : "Send the body without Content-Encoding.");
    }
    if (ret_gzip != NULL)
        *ret_gzip = gzip;
    return 0;
}

int req_body_unpack(struct req *r, struct permit *permit, struct str *ret_text)
{
    size_t max_bytes = req_json_max(r);
    size_t bytes;
    int rc = req_unpack_measure(r, max_bytes, &bytes);

    if (rc != 0)
        return fail_body(r, rc, max_bytes);
    TRY(admission_bytes_hold(r, permit, bytes));
    TRY(req_unpack(r, bytes));
    return req_body_text(r, ret_text);
}

static int input_read_text(struct req *r, struct str *ret_text)
{
    if (r->has_body && !is_json_type(req_header(r, "content-type")))
        return fail(r, PROBLEM_UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json.");
    return req_body_text(r, ret_text);
}

/* A number that is out of range is also reported as a finding with its path. */
static int fail_json(struct req *r, struct str text, const struct jr_error *error)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    if (!error->range)
        return fail(r, PROBLEM_INVALID_JSON, "The body is not valid JSON: %s.", error->text);
    schema_error_add(r->task.arena,
                     errors,
                     jr_path(r->task.arena, text, error->at),
                     PROBLEM_OUT_OF_RANGE,
                     "the number is out of range");
    return fail_with(r,
                     PROBLEM_INVALID_JSON,
                     arena_printf(r->task.arena, "The body is not valid JSON: %s.", error->text),
                     errors);
}

int req_json_unparsed(struct req *r, struct str *ret_text)
{
    TRY(input_read_text(r, ret_text));
    if (!ret_text->len && !r->route->body_optional)
        return fail(r, PROBLEM_INVALID_JSON, "A JSON body is required.");
    return 0;
}

bool req_json_is_large(const struct req *r, struct str body)
{
    return r->route->large_as_text && body.len > http_server_limits(r->server)->json_body_bytes;
}

/* *ret_text (may be NULL): the text that was parsed. */
AWAITS static int input_read_json(struct req *r, json_t **ret_root, struct str *ret_text)
{
    struct str text = STR_NONE;
    struct jr_error error;

    *ret_root = NULL;
    TRY(req_json_unparsed(r, &text));
    if (!text.len)
        return 0;
    int rc =
        jr_parse_queued(&r->task, r->task.arena, text, r->route->exact_numbers, ret_root, &error);
    if (rc == -EAGAIN)
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "This project has too many large request bodies in flight; try again.");
    if (rc == JR_INVALID)
        return fail_json(r, text, &error);
    TRY(rc);
    if (ret_text)
        *ret_text = text;
    return 0;
}

int req_json(struct req *r, const struct schema *schema, void *ret_struct)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    json_t *root;

    TRY(input_read_json(r, &root, NULL));
    if (!root)
        MUST(jr_parse(r->task.arena, STR("{}"), &root, &(struct jr_error){.range = false}) == 0);
    if (!schema_decode(r->task.arena, schema, root, ret_struct, errors))
        return fail_fields(r, errors);
    return 0;
}

int req_json_any(struct req *r, json_t **ret_body)
{
    TRY(input_read_json(r, ret_body, NULL));
    if (*ret_body && !json_is_object(*ret_body))
        return fail(r, PROBLEM_VALIDATION_FAILED, "The body must be a JSON object.");
    return 0;
}

int req_json_text(struct req *r, struct str *ret_text)
{
    json_t *root;

    *ret_text = STR_NONE;
    return input_read_json(r, &root, ret_text);
}

int req_id(struct req *r, const char *param, int64_t *ret_id)
{
    int64_t id;

    if (!num_parse_i64(req_param(r, param), &id) || id < 1)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    *ret_id = id;
    return 0;
}

static const struct query_param *param_find(const struct query_param *params, struct str name)
{
    for (; params && params->name; params++) {
        if (str_is(name, params->name))
            return params;
    }
    return NULL;
}

static void check_number(struct arena *arena,
                         const struct query_param *param,
                         struct str value,
                         struct schema_errors *errors)
{
    struct str field = str_from(param->name);
    int64_t number;

    if (!num_parse_i64(value, &number))
        schema_error_add(arena, errors, field, PROBLEM_TYPE_MISMATCH, "expected an integer");
    else if (param->has_min && (double)number < param->min)
        schema_error_add(arena,
                         errors,
                         field,
                         PROBLEM_OUT_OF_RANGE,
                         "must be at least %lld",
                         (long long)param->min);
    else if (param->has_max && (double)number > param->max)
        schema_error_add(arena,
                         errors,
                         field,
                         PROBLEM_OUT_OF_RANGE,
                         "must be at most %lld",
                         (long long)param->max);
}

static bool is_allowed_value(const struct query_param *param, struct str value)
{
    for (const char *const *allowed = param->values; *allowed; allowed++) {
        if (str_is(value, *allowed))
            return true;
    }
    return false;
}

static bool is_allowed_list(const struct query_param *param, struct str values)
{
    while (values.ptr) {
        if (!is_allowed_value(param, str_split(&values, ',')))
            return false;
    }
    return true;
}

static void input_check_value(struct arena *arena,
                              const struct query_param *param,
                              struct str value,
                              struct schema_errors *errors)
{
    struct str field = str_from(param->name);

    if (param->type == FIELD_I64) {
        check_number(arena, param, value, errors);
    } else if (param->type == FIELD_BOOL) {
        if (!str_is(value, "true") && !str_is(value, "false"))
            schema_error_add(arena, errors, field, PROBLEM_TYPE_MISMATCH, "expected true or false");
    } else if (param->type == FIELD_TIME) {
        int64_t wall_ms;
        if (!clock_parse(value, &wall_ms))
            schema_error_add(arena,
                             errors,
                             field,
                             PROBLEM_PATTERN,
                             "expected a time such as 2026-01-31T12:00:00Z");
    } else if (param->values && !(param->type == FIELD_STRS ? is_allowed_list(param, value)
                                                            : is_allowed_value(param, value))) {
        schema_error_add(
            arena, errors, field, PROBLEM_VALIDATION_FAILED, "is not one of the allowed values");
    }
}

static bool param_is_repeated(const struct query *query, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (query->items[i].key_count == 0 &&
            str_eq(query->items[i].name, query->items[index].name))
            return true;
    }
    return false;
}

static void
check_item(struct req *r, const struct query *query, size_t index, struct schema_errors *errors)
{
    const struct query_item *item = &query->items[index];
    const struct query_param *param = param_find(r->route->query, item->name);
    struct arena *arena = r->task.arena;

    if (!param) {
        if (r->route->open_query)
            return;
        schema_error_add(arena,
                         errors,
                         item->name,
                         PROBLEM_UNKNOWN_PARAMETER,
                         "this endpoint has no such parameter");
    } else if (item->key_count > 0 && !param->deep) {
        schema_error_add(arena, errors, item->name, PROBLEM_INVALID_QUERY, QUERY_BRACKETS_ERROR);
    } else if (!param->deep && param_is_repeated(query, index)) {
        schema_error_add(
            arena, errors, item->name, PROBLEM_INVALID_QUERY, "is given more than once");
    } else if (!param->deep) {
        input_check_value(arena, param, item->value, errors);
    }
}

int req_query(struct req *r, const struct query **ret_query)
{
    struct query *query = ARENA_NEW(r->task.arena, query);
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    const char *reason;

    if (query_parse(r->task.arena, r->query, query, &reason) == QUERY_INVALID)
        return fail(r, PROBLEM_INVALID_QUERY, "The query string is invalid: %s.", reason);
    for (size_t i = 0; i < query->count; i++)
        check_item(r, query, i, errors);
    if (errors->count) {
        bool unknown = problem_find(errors->items[0].code) == PROBLEM_UNKNOWN_PARAMETER;
        return fail_with(r,
                         unknown ? PROBLEM_UNKNOWN_PARAMETER : PROBLEM_INVALID_QUERY,
                         arena_printf(r->task.arena,
                                      "Query parameter '%.*s': %.*s.",
                                      STR_ARG(errors->items[0].field),
                                      STR_ARG(errors->items[0].message)),
                         errors);
    }
    *ret_query = query;
    return 0;
}

int req_page(struct req *r, struct page *ret_page)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    const struct query *query = NULL;

    TRY(req_query(r, &query));
    if (!page_parse(r->task.arena, query, ret_page, errors))
        return fail_with(r, PROBLEM_INVALID_QUERY, STR("The page parameters are invalid."), errors);
    return 0;
}

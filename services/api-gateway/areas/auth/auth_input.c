/* Turns a form into a JSON object, which is then read by the same schema as a JSON body. */
#include "areas/auth/auth_input.h"

#include "http/query.h"
#include "json/jr.h"

#define FORM_MAX_BYTES 16384

static bool is_form(struct req *r)
{
    struct str type = req_header(r, "content-type");

    return str_ieq(str_trim(str_split(&type, ';')), STR("application/x-www-form-urlencoded"));
}

AWAITS static int read_form(struct req *r, json_t **ret_root)
{
    struct str text;
    struct query form;
    const char *reason;
    int rc = req_body_read_all(r, FORM_MAX_BYTES, &text);

    if (rc < 0)
        return rc;
    if (rc == REQ_BODY_TOO_LARGE)
        return fail(
            r, PROBLEM_PAYLOAD_TOO_LARGE, "The form may have at most %d bytes.", FORM_MAX_BYTES);
    if (rc == REQ_BODY_TIMEOUT)
        return fail(r, PROBLEM_REQUEST_TIMEOUT, "The body arrived too slowly.");
    if (rc == REQ_BODY_REFUSED)
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "Too many bodies from your address are on their way; try again.");
    if (rc)
        return fail(r, PROBLEM_BAD_REQUEST, "The body ended early or is not framed correctly.");
    if (query_parse(r->task.arena, text, &form, &reason) != 0)
        return fail(r, PROBLEM_BAD_REQUEST, "The form is invalid: %s.", reason);
    json_t *root = jr_attach(r->task.arena, json_object());
    for (size_t i = 0; i < form.count; i++) {
        const char *name = arena_cstr(r->task.arena, form.items[i].name);
        if (json_object_get(root, name))
            return fail(r, PROBLEM_BAD_REQUEST, "A member of the form is given more than once.");
        json_t *value = json_stringn(form.items[i].value.ptr, form.items[i].value.len);
        if (!value || json_object_set_new(root, name, value) != 0)
            return fail(r, PROBLEM_BAD_REQUEST, "The form is not UTF-8.");
    }
    *ret_root = root;
    return 0;
}

int auth_read_body(struct req *r, const struct schema *schema, void *ret_struct)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    json_t *root = NULL;

    if (!is_form(r))
        return req_json(r, schema, ret_struct);
    TRY(read_form(r, &root));
    if (!schema_decode(r->task.arena, schema, root, ret_struct, errors))
        return fail_fields(r, errors);
    return 0;
}

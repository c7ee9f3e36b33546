/* Answers of third-party APIs. */
#include "integrations/answer.h"

#include "base/charset.h"
#include "base/panic.h"
#include "base/secret_mask.h"
#include "base/utf8.h"
#include "integrations/content_type.h"
#include "json/jr_off_thread.h"
#include "loop/work.h"
#include "workflow/template.h"

#define MAPPED_ITEMS_MAX 10000

/* --- text --- */

/* Byte order marks of UTF-16. A mark overrides the charset of Content-Type. */
static const struct {
    struct str mark;
    const char *charset;
} marks[] = {
    {STR_INIT("\xff\xfe"), "utf-16le"},
    {STR_INIT("\xfe\xff"), "utf-16be"},
};

/* ASCII in UTF-16 has a zero in every second byte, which a text in UTF-8 never has. */
static bool body_looks_utf16(struct str body)
{
    return body.len >= 2 && body.len % 2 == 0 && (body.ptr[0] == 0) != (body.ptr[1] == 0);
}

/* Returns the charset of a body, and cuts off a byte order mark of UTF-16. */
static struct str charset_of(const struct content_type *type, struct str *body)
{
    if (str_starts(*body, STR(UTF8_MARK)))
        return STR("utf-8");
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        if (!str_starts(*body, marks[i].mark))
            continue;
        *body = (struct str){body->ptr + marks[i].mark.len, body->len - marks[i].mark.len};
        return str_from(marks[i].charset);
    }
    if (type->charset.len > 0)
        return type->charset;
    if (body_looks_utf16(*body))
        return STR("utf-16");
    return content_type_is_text(type) && !utf8_valid(*body) ? STR("windows-1252") : STR("utf-8");
}

struct decode_job {
    struct arena *arena;
    struct str charset, body;
    int rc;
};

static void answer_decode(void *arg)
{
    struct decode_job *in = arg;

    in->rc =
        charset_decode(in->arena, in->charset, in->body, FETCH_DEFAULT_RESPONSE_BYTES, &in->body);
}

/* Sets the reason of a failure of charset_decode(). */
static int
text_failure_result(struct task *task, int rc, struct str charset, struct str *ret_reason)
{
    if (rc == CHARSET_TOO_LARGE)
        return ANSWER_TOO_LARGE;
    if (rc == CHARSET_UNKNOWN)
        *ret_reason = arena_printf(task->arena,
                                   "its charset is not supported: %.*s",
                                   STR_ARG(utf8_cut(utf8_clean(task->arena, charset), 40)));
    else
        *ret_reason = arena_printf(task->arena, "it is not valid %.*s", STR_ARG(charset));
    return ANSWER_UNREADABLE;
}

int answer_text_read(struct task *task,
                     const struct fetch_response *response,
                     struct answer_text *ret_text,
                     struct str *ret_reason)
{
    const struct content_type type =
        content_type_read(task->arena, fetch_response_header(response, "content-type"));
    struct decode_job in = {.arena = task->arena, .body = response->body};

    *ret_text = (struct answer_text){.is_plain = content_type_is_text(&type)};
    if (response->unreadable) {
        *ret_reason = STR("its content coding is not supported (gzip and deflate are), or is "
                          "malformed");
        return ANSWER_UNREADABLE;
    }
    if (in.body.len == 0)
        return 0;
    in.charset = charset_of(&type, &in.body);
    if (charset_is_utf8(in.charset))
        in.rc = utf8_valid(in.body) ? 0 : CHARSET_INVALID;
    else
        work_off_thread(task, answer_decode, &in);
    if (in.rc != 0)
        return text_failure_result(task, in.rc, in.charset, ret_reason);
    if (memchr(in.body.ptr, 0, in.body.len) != NULL) {
        *ret_reason = STR("it contains U+0000");
        return ANSWER_UNREADABLE;
    }
    ret_text->text = utf8_unmarked(in.body);
    return 0;
}

/* --- headers --- */

static bool header_is_shown(struct str name)
{
    return !fetch_header_is_reserved(name) && !str_ieq(name, STR("content-encoding")) &&
           !secret_is_credential_name(name);
}

json_t *answer_headers(struct arena *arena, const struct fetch_response *response)
{
    json_t *stored = jr_attach(arena, json_object());
    size_t left = ANSWER_HEADERS_BYTES;

    for (size_t i = 0; i < response->nheaders; i++) {
        struct str name = arena_lower(arena, response->headers[i].name);
        struct str value = response->headers[i].value;
        const json_t *before = json_object_getn(stored, name.ptr, name.len);
        if (!header_is_shown(name))
            continue;
        if (name.len + value.len > left)
            break;
        left -= name.len + value.len;
        if (before != NULL)
            value = arena_printf(arena, "%s, %.*s", json_string_value(before), STR_ARG(value));
        MUST(json_object_setn_new_nocheck(stored, name.ptr, name.len, jr_text(value)) == 0);
    }
    return stored;
}

/* --- value --- */

json_t *answer_read(struct task *task, const struct answer_text *text)
{
    struct jr_error error;
    json_t *value = NULL;

    if (text->text.len == 0)
        return json_null();
    if (!text->is_plain &&
        jr_parse_external_off_thread(task, task->arena, text->text, &value, &error) == 0)
        return value;
    value = json_stringn_nocheck(text->text.ptr, text->text.len);
    MUST(value != NULL);
    jr_attach_large(task->arena, value);
    return value;
}

int answer_pick(
    struct arena *arena, struct str path, json_t *answer, json_t **ret_part, struct str *ret_reason)
{
    const struct template_context context = {.root = answer};
    struct reference *reference;

    *ret_part = answer;
    if (path.len == 0)
        return 0;
    TRY(reference_parse_path(arena, path, &reference, ret_reason));
    return reference_eval(arena, reference, &context, ret_part, ret_reason);
}

/* --- maps --- */

struct answer_map_member {
    const char *name;
    struct reference *reference;
};

/* Maps one item. A member whose path does not exist in the item becomes null. */
static json_t *
map_item(struct arena *arena, const struct answer_map_member *slots, size_t count, json_t *item)
{
    const struct template_context context = {.root = item};
    json_t *mapped = json_object();
    struct str ignored;

    for (size_t i = 0; i < count; i++) {
        json_t *value = NULL;
        if (reference_eval(arena, slots[i].reference, &context, &value, &ignored) != 0)
            value = json_null();
        MUST(json_object_set_nocheck(mapped, slots[i].name, value) == 0);
    }
    return mapped;
}

int answer_map(struct arena *arena,
               const struct integration_response *response,
               json_t *answer,
               json_t **ret_value,
               struct str *ret_reason)
{
    const char *name;
    json_t *path;
    json_t *part;
    size_t count = 0;

    TRY(answer_pick(arena, response->results_path.value, answer, &part, ret_reason));
    *ret_value = part;
    if (json_object_size(response->map.value) == 0)
        return 0;
    struct answer_map_member *slots =
        ARENA_ARRAY(arena, slots, json_object_size(response->map.value));
    json_object_foreach(response->map.value, name, path)
    {
        struct str text = {json_string_value(path), json_string_length(path)};
        TRY(reference_parse_path(arena, text, &slots[count].reference, ret_reason));
        slots[count++].name = name;
    }
    if (!json_is_array(part)) {
        *ret_value = map_item(arena, slots, count, part);
        jr_attach_large(arena, *ret_value);
        return 0;
    }
    if (json_array_size(part) > MAPPED_ITEMS_MAX) {
        *ret_reason = arena_printf(arena, "it has more than %d items", MAPPED_ITEMS_MAX);
        return TEMPLATE_TOO_LARGE;
    }
    *ret_value = json_array();
    for (size_t i = 0; i < json_array_size(part); i++)
        MUST(json_array_append_new(*ret_value,
                                   map_item(arena, slots, count, json_array_get(part, i))) == 0);
    jr_attach_large(arena, *ret_value);
    return 0;
}

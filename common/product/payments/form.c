/* Form bodies as the processor reads them: a[b][0]=c. */
#include "payments/form.h"
#include "base/codec.h"
#include "base/panic.h"
#include "payments/processor.h"

/* Far above three times the largest request body that can be configured: percent-encoding makes
 * three bytes of one. */
#define FORM_BYTES_MAX ((size_t)512 << 20U)

void form_init(struct form *form, struct arena *arena)
{
    strbuf_init(&form->text, arena, FORM_BYTES_MAX);
}

static void add_separator(struct form *form)
{
    if (form->text.len > 0)
        strbuf_char(&form->text, '&');
}

void form_str(struct form *form, const char *key, struct str value)
{
    if (value.ptr == NULL)
        return;
    add_separator(form);
    strbuf_cstr(&form->text, key);
    strbuf_char(&form->text, '=');
    strbuf_str(&form->text, codec_percent(form->text.arena, value));
}

void form_i64(struct form *form, const char *key, int64_t value)
{
    add_separator(form);
    strbuf_cstr(&form->text, key);
    strbuf_char(&form->text, '=');
    strbuf_i64(&form->text, value);
}

void form_bool(struct form *form, const char *key, bool value)
{
    form_str(form, key, value ? STR("true") : STR("false"));
}

void form_map(struct form *form, const char *prefix, const json_t *object)
{
    struct arena *arena = form->text.arena;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        if (!json_is_string(value))
            continue;
        struct str escaped = codec_percent(arena, str_from(name));
        form_str(form,
                 arena_printf(arena, "%s[%.*s]", prefix, STR_ARG(escaped)).ptr,
                 (struct str){json_string_value(value), json_string_length(value)});
    }
}

struct str form_text(const struct form *form)
{
    MUST(!form->text.overflow);
    return strbuf_view(&form->text);
}

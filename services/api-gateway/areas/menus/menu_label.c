/* Labels: {"en": "Orders", "de": "Bestellungen"}, or "Orders". */
#include "areas/menus/menus.h"
#include "base/utf8.h"

#define LOCALES_MAX 50

static bool label_text_ok(const json_t *value)
{
    struct str text = {json_string_value(value), json_string_length(value)};

    return json_is_string(value) && str_trim(text).len > 0 && utf8_length(text) <= MENU_LABEL_MAX;
}

static int bad_text(struct req *r, const char *member)
{
    return fail_field(r,
                      member,
                      PROBLEM_VALIDATION_FAILED,
                      "must be a text of 1 to %d characters, or an object of such texts by locale",
                      MENU_LABEL_MAX);
}

static int read_locales(struct req *r, const char *member, json_t *object)
{
    const char *tag;
    json_t *text;

    if (json_object_size(object) == 0 || json_object_size(object) > LOCALES_MAX)
        return fail_field(
            r, member, PROBLEM_OUT_OF_RANGE, "must have 1 to %d locales", LOCALES_MAX);
    json_object_foreach(object, tag, text)
    {
        if (!languages_tag_is_valid(str_from(tag)))
            return fail_field(r,
                              member,
                              PROBLEM_PATTERN,
                              "has a member whose name is not a locale such as de or pt-BR");
        if (!label_text_ok(text))
            return bad_text(r, member);
    }
    return 0;
}

int menu_label_read(struct req *r,
                    const char *member,
                    const struct in_json *in,
                    struct str *ret_label)
{
    *ret_label = STR_NONE;
    if (!in->set)
        return 0;
    if (json_is_object(in->value))
        TRY(read_locales(r, member, in->value));
    else if (!label_text_ok(in->value))
        return bad_text(r, member);
    *ret_label = jr_print(r->task.arena, in->value);
    return 0;
}

struct str menu_label_pick(struct arena *arena, struct str label, const struct languages *languages)
{
    struct str tags[LOCALES_MAX];
    json_t *texts[LOCALES_MAX];
    struct jr_error error;
    size_t count = 0;
    const char *tag;
    json_t *object;
    json_t *text;

    if (!str_starts(label, STR("{")) || jr_parse(arena, label, &object, &error) != 0)
        return label;
    json_object_foreach(object, tag, text)
    {
        if (count == LOCALES_MAX)
            break;
        tags[count] = str_from(tag);
        texts[count++] = text;
    }
    int picked = languages_pick(languages, tags, count);
    for (size_t i = 0; picked < 0 && i < count; i++)
        if (str_ieq(tags[i], STR("en")))
            picked = (int)i;
    return count ? jr_print(arena, texts[picked < 0 ? 0 : picked]) : STR("\"\"");
}

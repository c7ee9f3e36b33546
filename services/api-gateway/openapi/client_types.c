#include "openapi/client_types.h"

#include "client_ts.h" /* client_text, made from client/client.ts */
#include "openapi/parts.h"
#include "openapi/spec_entity.h"

/* Writes a comment on a line of its own. The text must not end the comment, nor the line. */
static void put_comment(struct jw *w, const char *indent, struct str text)
{
    struct strbuf *out = w->out;

    if (text.len == 0)
        return;
    strbuf_printf(out, "%s/** ", indent);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '/' && i > 0 && text.ptr[i - 1] == '*')
            strbuf_char(out, '\\');
        strbuf_char(out, (unsigned char)c < ' ' ? ' ' : c);
    }
    strbuf_cstr(out, " */\n");
}

/* A JSON text is a string literal of TypeScript, too. */
static void put_literal(struct jw *w, struct str text)
{
    struct jw literal;

    jw_init(&literal, w->out);
    jw_str(&literal, text);
}

static void put_value_type(struct jw *w, const struct model_field *field)
{
    const struct model_enum *values = field->type == TYPE_ENUM ? field->values : NULL;

    if (!values || values->count == 0)
        strbuf_cstr(w->out, model_type_info(field->type)->typescript);
    for (size_t i = 0; values && i < values->count; i++) {
        if (i > 0)
            strbuf_cstr(w->out, " | ");
        put_literal(w, values->values[i]);
    }
    if (!field->required)
        strbuf_cstr(w->out, " | null");
}

static void put_value(struct jw *w, const struct model_field *field)
{
    strbuf_printf(w->out, "      %.*s: ", STR_ARG(field->name));
    put_value_type(w, field);
    strbuf_cstr(w->out, ";\n");
}

/* A relation to an entity that the caller may not read cannot be followed. `hidden`: the row rule
 * of the target may hide related records. */
static void
put_relation(struct jw *w, const struct entity_doc *doc, const struct model_field *field)
{
    const struct entity *target = field->target;
    bool is_nullable = !field->required && !field->is_many;

    strbuf_printf(w->out, "      %.*s: { to: ", STR_ARG(field->name));
    if (caller_can_entity(doc->inputs->caller, target->id, ACT_READ))
        strbuf_printf(w->out, "'%.*s'", STR_ARG(target->name));
    else
        strbuf_cstr(w->out, "never");
    strbuf_printf(w->out,
                  "; many: %s; null: %s%s };\n",
                  field->is_many ? "true" : "false",
                  is_nullable ? "true" : "false",
                  target->row_level_security ? "; hidden: true" : "");
}

/* Whether create() must have the member. */
static bool is_required(const struct model_field *field, struct field_rights rights)
{
    return field->required && field->default_value == NULL && rights.can_create;
}

static bool is_readonly(const struct model_field *field, struct field_rights rights)
{
    (void)field;
    return !rights.can_create && !rights.can_update;
}

static bool is_writeonly(const struct model_field *field, struct field_rights rights)
{
    (void)field;
    return !rights.can_read;
}

/* Whether on_conflict may name the member. */
static bool is_unique(const struct model_field *field, struct field_rights rights)
{
    return field->unique && rights.can_read;
}

/* Sets of members, each a union of names. */
static const struct member_set {
    const char *name;
    bool (*has_field)(const struct model_field *field, struct field_rights rights);
} member_sets[] = {
    {"required", is_required},
    {"readonly", is_readonly},
    {"writeonly", is_writeonly},
    {"unique", is_unique},
};

AWAITS static int
put_member_set(struct jw *w, const struct entity_doc *doc, const struct member_set *set)
{
    bool is_empty = true;

    strbuf_printf(w->out, "    %s: ", set->name);
    for (size_t i = 0; i < doc->entity->field_count; i++) {
        const struct model_field *field = &doc->entity->fields[i];
        struct field_rights rights = entity_field_rights(doc, field);
        if (field->system || !field_is_shown(rights) || !set->has_field(field, rights))
            continue;
        strbuf_printf(w->out, "%s'%.*s'", is_empty ? "" : " | ", STR_ARG(field->name));
        is_empty = false;
    }
    strbuf_cstr(w->out, is_empty ? "never;\n" : ";\n");
    return openapi_chunk_done(doc->inputs);
}

/* Writes the values or the relations of an entity, one member for each. */
AWAITS static int put_members(struct jw *w, const struct entity_doc *doc, bool are_relations)
{
    strbuf_cstr(w->out, are_relations ? "    relations: {\n" : "    fields: {\n");
    for (size_t i = 0; i < doc->entity->field_count; i++) {
        const struct model_field *field = &doc->entity->fields[i];
        if (field->system || (field->type == TYPE_RELATION) != are_relations ||
            !field_is_shown(entity_field_rights(doc, field)))
            continue;
        if (are_relations)
            put_relation(w, doc, field);
        else
            put_value(w, field);
        TRY(openapi_chunk_done(doc->inputs));
    }
    strbuf_cstr(w->out, "    };\n");
    return 0;
}

AWAITS static int put_entity(struct jw *w, const struct entity_doc *doc)
{
    put_comment(w, "  ", doc->entity->label);
    strbuf_printf(w->out, "  %.*s: {\n", STR_ARG(doc->entity->name));
    TRY(put_members(w, doc, false));
    TRY(put_members(w, doc, true));
    for (size_t i = 0; i < ARRAY_LEN(member_sets); i++)
        TRY(put_member_set(w, doc, &member_sets[i]));
    strbuf_cstr(w->out, "  };\n");
    return 0;
}

int client_module(struct jw *w, const struct openapi_request *about)
{
    struct entity_doc *docs = entity_docs(about);

    strbuf_printf(
        w->out,
        "// The typed client of a Groundwork project, written from version %lld of the "
        "project's data model.\n"
        "// Do not edit this file: after a change of the model, GET "
        "{base_url}/docs/client.ts answers the next version.\n"
        "export const modelVersion = '%lld';\n\n"
        "/** The data model: entities, with the fields that the fetching user may see. */\n"
        "export interface Project {\n",
        (long long)about->model->version,
        (long long)about->model->version);
    for (size_t i = 0; i < about->model->entity_count; i++)
        TRY(put_entity(w, &docs[i]));
    strbuf_cstr(w->out, "}\n\n");
    for (size_t i = 0; i < ARRAY_LEN(client_text); i++) {
        strbuf_cstr(w->out, client_text[i]);
        TRY(openapi_chunk_done(about));
    }
    return openapi_chunk_done(about);
}

/* Definitions as documents, and the secrets that definitions use. */
#include "base/panic.h"
#include "fetch/fetch.h"
#include "json/jr.h"
#include "workflow/definition_private.h"

/* --- documents --- */

/* Takes ownership of `value`. */
static void doc_set(json_t *object, const char *name, json_t *value)
{
    MUST(json_object_set_new(object, name, value) == 0);
}

static json_t *doc_text(struct str value)
{
    return json_stringn(value.len > 0 ? value.ptr : "", value.len);
}

static json_t *doc_text_or_null(struct str value)
{
    return value.len > 0 ? doc_text(value) : json_null();
}

static json_t *link_doc(const struct definition *definition, int step)
{
    return step == STEP_NONE ? json_null() : doc_text(definition->steps[step].key);
}

static json_t *trigger_doc(const struct definition *definition)
{
    json_t *doc = json_object();
    enum event_subject subject;

    doc_set(doc, "kind", json_string(trigger_kind_name(definition->kind)));
    switch (definition->kind) {
    case TRIGGER_TIMED:
        doc_set(doc, "cron", doc_text(definition->cron_text));
        doc_set(doc, "timezone", doc_text(definition->timezone));
        if (definition->skips_late_ticks)
            doc_set(doc, "run_late", json_string("skip"));
        break;
    case TRIGGER_EVENT:
        doc_set(doc, "event", json_string(event_name(definition->event)));
        subject = event_info(definition->event)->subject;
        if (subject == SUBJECT_RECORDS || subject == SUBJECT_TAPS)
            doc_set(doc, "entity", doc_text(definition->entity));
        if (definition->filter != NULL)
            doc_set(doc, "filter", json_incref((json_t *)definition->filter));
        break;
    case TRIGGER_API:
        doc_set(doc, "route", doc_text(definition->route));
        break;
    case TRIGGER_MANUAL:
        break;
    }
    return doc;
}

/* Returns the parameters as they are stored: characters of an address that are not ASCII are
 * percent-encoded. */
static json_t *params_doc(struct arena *arena, const struct step *step)
{
    json_t *doc = json_incref((json_t *)step->params);

    for (const struct step_param *it = step_params(step->action); it->name != NULL; it++) {
        struct str given = jr_str(step->params, it->name);
        struct str url = it->check == check_param_url ? fetch_url_escape(arena, given) : given;
        if (url.ptr == given.ptr)
            continue;
        json_decref(doc);
        doc = json_copy((json_t *)step->params);
        doc_set(doc, it->name, doc_text(url));
    }
    return doc;
}

static json_t *
step_doc(struct arena *arena, const struct definition *definition, const struct step *step)
{
    json_t *doc = json_object();

    doc_set(doc, "key", doc_text(step->key));
    doc_set(doc, "name", doc_text_or_null(step->name));
    doc_set(doc, "action", json_string(step_action_name(step->action)));
    doc_set(doc, "enabled", json_boolean(step->enabled));
    doc_set(doc, "params", params_doc(arena, step));
    if (step->action == STEP_CONDITION) {
        doc_set(doc, "then", link_doc(definition, step->on_true));
        doc_set(doc, "else", link_doc(definition, step->on_false));
    } else {
        doc_set(doc, "next", link_doc(definition, step->next));
    }
    doc_set(doc, "on_failure", link_doc(definition, step->on_failure));
    doc_set(doc, "timeout_seconds", json_integer(step->timeout_ms / 1000));
    return doc;
}

json_t *definition_doc(struct arena *arena, const struct definition *definition)
{
    json_t *doc = jr_attach(arena, json_object());
    json_t *steps = json_array();

    for (size_t i = 0; i < definition->step_count; i++)
        MUST(json_array_append_new(steps, step_doc(arena, definition, &definition->steps[i])) == 0);
    doc_set(doc, "name", doc_text(definition->name));
    doc_set(doc, "enabled", json_boolean(definition->enabled));
    doc_set(doc, "trigger", trigger_doc(definition));
    doc_set(doc, "start_step", link_doc(definition, definition->start));
    doc_set(doc, "steps", steps);
    return doc;
}

/* --- secrets --- */

struct secret_collection {
    struct arena *arena;
    struct definition_secret *items;
    size_t count;
    size_t room;
    int step;
};

static int secret_collect(const struct reference_view *view, void *arg)
{
    struct secret_collection *all = arg;

    if (!str_is(view->root, "secrets"))
        return 0;
    for (size_t i = 0; i < all->count; i++)
        if (str_eq(all->items[i].name, view->second_part))
            return 0;
    ARENA_PUSH(all->arena,
               all->items,
               all->count,
               all->room,
               (struct definition_secret){arena_dup(all->arena, view->second_part), all->step});
    return 0;
}

size_t definition_secrets(struct arena *arena,
                          const struct definition *definition,
                          struct definition_secret **ret_secrets)
{
    struct secret_collection all = {.arena = arena};
    struct str place;
    struct str error;

    for (size_t i = 0; i < definition->step_count; i++) {
        const struct step *step = &definition->steps[i];
        all.step = (int)i;
        for (const struct step_param *it = step_params(step->action); it->name != NULL; it++) {
            const json_t *value = check_member(step->params, it->name);
            if (it->allows_secrets && value != NULL) /* the parser has checked the syntax */
                (void)template_visit(arena, value, true, secret_collect, &all, &place, &error);
        }
    }
    *ret_secrets = all.items;
    return all.count;
}

/* /search/settings: synonyms, stop words, typo tolerance, and whether the public may search. */
#include "areas/search/search_settings.h"

#include "search/tokens.h"
#include "search_settings_sql.h"

#define SYNONYM_GROUPS 500
#define SYNONYM_WORDS  32
#define STOP_WORDS     500
#define EXACT_FIELDS   500
#define WORD_LETTERS   64

struct typos_in {
    struct in_bool enabled;
    struct in_strs disabled_fields;
};
struct synonyms_in {
    struct in_strs words;
};
struct settings_in {
    struct in_bool is_public;
    struct in_list synonyms; /* of struct synonyms_in */
    struct in_strs stop_words;
    struct in_obj typo_tolerance; /* struct typos_in */
};

static const struct field synonym_fields[] = {
    {.name = "words",
     FIELD_AT(struct synonyms_in, words),
     .type = FIELD_STRS,
     .required = true,
     .min = 2,
     .max = SYNONYM_WORDS,
     .doc = "Single words; a search for one of the words also finds the other words, ranked after "
            "the searched word",
     .example = "[\"sofa\", \"couch\"]"},
};
static const struct schema synonym_schema =
    SCHEMA("SearchSynonyms", struct synonyms_in, synonym_fields);

static const struct field typo_fields[] = {
    {.name = "enabled",
     FIELD_AT(struct typos_in, enabled),
     .type = FIELD_BOOL,
     .doc = "Whether typos are excused: one typo in words of five or more letters, two typos in "
            "words of nine or more letters; default true"},
    {.name = "disabled_fields",
     FIELD_AT(struct typos_in, disabled_fields),
     .type = FIELD_STRS,
     .max = EXACT_FIELDS,
     .doc = "Fields in which typos are not excused, as entity.field",
     .example = "[\"products.sku\"]"},
};
static const struct schema typo_schema = SCHEMA("SearchTypos", struct typos_in, typo_fields);

static const struct field settings_fields[] = {
    {.name = "public",
     FIELD_AT(struct settings_in, is_public),
     .type = FIELD_BOOL,
     .nullable = true,
     .doc = "Whether GET /search/public is enabled; default true"},
    {.name = "synonyms",
     FIELD_AT(struct settings_in, synonyms),
     .type = FIELD_LIST,
     .nullable = true,
     .max = SYNONYM_GROUPS,
     .sub = &synonym_schema},
    {.name = "stop_words",
     FIELD_AT(struct settings_in, stop_words),
     .type = FIELD_STRS,
     .nullable = true,
     .max = STOP_WORDS,
     .doc = "Words that are ignored in queries that have other words too",
     .example = "[\"the\", \"of\"]"},
    {.name = "typo_tolerance",
     FIELD_AT(struct settings_in, typo_tolerance),
     .type = FIELD_OBJ,
     .nullable = true,
     .sub = &typo_schema},
};
static const struct schema settings_schema =
    SCHEMA("SearchSettingsUpdate", struct settings_in, settings_fields);

static const struct field settings_out_fields[] = {
    {.name = "public", .type = FIELD_BOOL, .required = true},
    {.name = "synonyms", .type = FIELD_LIST, .required = true, .sub = &synonym_schema},
    {.name = "stop_words", .type = FIELD_STRS, .required = true},
    {.name = "typo_tolerance", .type = FIELD_OBJ, .required = true, .sub = &typo_schema},
};
static const struct schema settings_out_schema = SCHEMA_OUT("SearchSettings", settings_out_fields);

/* --- as searches read them --- */

static size_t read_words(struct arena *arena, const json_t *list, struct str **ret_words)
{
    size_t count = 0;

    *ret_words = ARENA_ARRAY(arena, *ret_words, json_array_size(list) + 1);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *word = json_array_get(list, i);
        struct tokens tokens;
        struct search_token token;
        tokens_init(&tokens, (struct str){json_string_value(word), json_string_length(word)});
        if (tokens_next(&tokens, &token))
            (*ret_words)[count++] = arena_dup(arena, token.text);
    }
    return count;
}

static const json_t *settings_read_doc(struct arena *arena, struct str doc)
{
    struct jr_error error;
    json_t *root;

    return doc.ptr != NULL && jr_parse_stored(arena, doc, &root, &error) == 0 ? root : NULL;
}

void search_settings_read(struct arena *arena, struct str doc, struct search_settings *ret_settings)
{
    const json_t *root = settings_read_doc(arena, doc);
    const json_t *fields = json_object_get(root, "exact_fields");
    const json_t *synonyms = json_object_get(root, "synonyms");
    int64_t *ids = ARENA_ARRAY(arena, ids, json_array_size(fields) + 1);

    *ret_settings = (struct search_settings){
        .is_public = jr_bool(root, "public", true),
        .typos = jr_bool(root, "typos", true),
        .exact_fields = ids,
        .exact_field_count = json_array_size(fields),
        .synonym_count = json_array_size(synonyms),
    };
    for (size_t i = 0; i < json_array_size(fields); i++)
        ids[i] = json_integer_value(json_array_get(fields, i));
    ret_settings->stop_word_count =
        read_words(arena, json_object_get(root, "stop_words"), &ret_settings->stop_words);
    ret_settings->synonyms =
        ARENA_ARRAY(arena, ret_settings->synonyms, ret_settings->synonym_count + 1);
    for (size_t i = 0; i < ret_settings->synonym_count; i++)
        ret_settings->synonyms[i].count =
            read_words(arena, json_array_get(synonyms, i), &ret_settings->synonyms[i].words);
}

/* --- the resource --- */

static void write_words(struct jw *w, const json_t *words)
{
    jw_arr(w);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const json_t *word = json_array_get(words, i);
        jw_str(w, (struct str){json_string_value(word), json_string_length(word)});
    }
    jw_arr_end(w);
}

static const struct model_field *find_field_by_id(const struct model *model, int64_t id)
{
    for (size_t i = 0; i < model->entity_count; i++) {
        const struct model_field *field = entity_field_by_id(&model->entities[i], id);
        if (field != NULL && !field->system)
            return field;
    }
    return NULL;
}

static void write_typos(struct jw *w, const struct model *model, const json_t *root)
{
    const json_t *fields = json_object_get(root, "exact_fields");

    jw_obj(w);
    JW_BOOL(w, "enabled", jr_bool(root, "typos", true));
    jw_lit(w, "disabled_fields");
    jw_arr(w);
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const struct model_field *field =
            find_field_by_id(model, json_integer_value(json_array_get(fields, i)));
        char name[128];
        if (field == NULL)
            continue;
        int len = snprintf(
            name, sizeof(name), "%.*s.%.*s", STR_ARG(field->entity->name), STR_ARG(field->name));
        jw_str(w, (struct str){name, (size_t)len});
    }
    jw_arr_end(w);
    jw_obj_end(w);
}

static int reply_settings(struct req *r, struct str doc)
{
    const json_t *root = settings_read_doc(r->task.arena, doc);
    const json_t *synonyms = json_object_get(root, "synonyms");
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_BOOL(&w, "public", jr_bool(root, "public", true));
    jw_lit(&w, "synonyms");
    jw_arr(&w);
    for (size_t i = 0; i < json_array_size(synonyms); i++) {
        jw_obj(&w);
        jw_lit(&w, "words");
        write_words(&w, json_array_get(synonyms, i));
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_lit(&w, "stop_words");
    write_words(&w, json_object_get(root, "stop_words"));
    jw_lit(&w, "typo_tolerance");
    write_typos(&w, r->scope->model, root);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int search_settings_show(struct req *r)
{
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_SEARCH_SETTINGS_GET()));
    return reply_settings(r, rows.count > 0 ? sql_search_settings_get_row(&rows, 0).doc : STR_NONE);
}

/* --- changing them --- */

/* Returns whether the text is exactly one term of the index: words of settings are compared with
 * terms. "C++" counts as one: the word with its signs. */
static bool is_word(struct str text)
{
    struct tokens tokens;
    struct search_token token;

    tokens_init(&tokens, text);
    if (text.len > (size_t)WORD_LETTERS * 4 || !tokens_next(&tokens, &token))
        return false;
    if (token.kind == TOKEN_SIGNED)
        return tokens_next(&tokens, &token) && !tokens_next(&tokens, &token);
    return (token.kind == TOKEN_WORD || token.kind == TOKEN_SYMBOL) &&
           !tokens_next(&tokens, &token);
}

static void check_single_words(struct arena *arena,
                               const struct in_strs *words,
                               struct str path,
                               struct schema_errors *errors)
{
    for (size_t i = 0; i < words->count; i++)
        if (!is_word(words->items[i]))
            schema_error_add(arena,
                             errors,
                             arena_printf(arena, "%.*s[%zu]", STR_ARG(path), i),
                             PROBLEM_PATTERN,
                             "must be a single word");
}

static const struct model_field *find_dotted_field(const struct model *model, struct str name)
{
    struct str entity_name = str_split(&name, '.');
    const struct entity *entity = model_entity(model, entity_name);

    return entity != NULL && name.ptr != NULL ? entity_field(entity, name) : NULL;
}

static json_t *field_ids(struct req *r, const struct in_strs *names, struct schema_errors *errors)
{
    json_t *ids = json_array();

    for (size_t i = 0; i < names->count; i++) {
        const struct model_field *field = find_dotted_field(r->scope->model, names->items[i]);
        if (field == NULL || field->system)
            schema_error_add(r->task.arena,
                             errors,
                             arena_printf(r->task.arena, "typo_tolerance.disabled_fields[%zu]", i),
                             PROBLEM_PATTERN,
                             "must name a field, as entity.field");
        else
            (void)json_array_append_new(ids, json_integer(field->id));
    }
    return ids;
}

static json_t *words_json(const struct in_strs *words)
{
    json_t *list = json_array();

    for (size_t i = 0; i < words->count; i++)
        (void)json_array_append_new(list, json_stringn(words->items[i].ptr, words->items[i].len));
    return list;
}

static void
merge_synonyms(struct req *r, const struct in_list *in, json_t *doc, struct schema_errors *errors)
{
    const struct synonyms_in *groups = in->items;
    json_t *list = json_array();

    for (size_t i = 0; i < in->count; i++) {
        check_single_words(r->task.arena,
                           &groups[i].words,
                           arena_printf(r->task.arena, "synonyms[%zu].words", i),
                           errors);
        (void)json_array_append_new(list, words_json(&groups[i].words));
    }
    (void)json_object_set_new(doc, "synonyms", list);
}

static void
merge_typos(struct req *r, const struct in_obj *in, json_t *doc, struct schema_errors *errors)
{
    const struct typos_in *typos = in->value;

    if (in->null) {
        (void)json_object_del(doc, "typos");
        (void)json_object_del(doc, "exact_fields");
        return;
    }
    if (typos->enabled.set)
        (void)json_object_set_new(doc, "typos", json_boolean(typos->enabled.value));
    if (typos->disabled_fields.set)
        (void)json_object_set_new(
            doc, "exact_fields", field_ids(r, &typos->disabled_fields, errors));
}

static void search_settings_merge(struct req *r,
                                  const struct settings_in *in,
                                  json_t *doc,
                                  struct schema_errors *errors)
{
    if (in->is_public.set && in->is_public.null)
        (void)json_object_del(doc, "public");
    else if (in->is_public.set)
        (void)json_object_set_new(doc, "public", json_boolean(in->is_public.value));
    if (in->synonyms.set)
        merge_synonyms(r, &in->synonyms, doc, errors);
    if (in->stop_words.set) {
        check_single_words(r->task.arena, &in->stop_words, STR("stop_words"), errors);
        (void)json_object_set_new(doc, "stop_words", words_json(&in->stop_words));
    }
    if (in->typo_tolerance.set)
        merge_typos(r, &in->typo_tolerance, doc, errors);
}

static void search_settings_unref(void *doc)
{
    json_decref(doc);
}

AWAITS static int search_settings_update(struct req *r)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct settings_in in;
    struct rows rows;

    TRY(req_json(r, &settings_schema, &in));
    TRY(sql_begin(r));
    TRY(sql_all(r, &rows, SQL_SEARCH_SETTINGS_LOCK()));
    const json_t *before =
        rows.count > 0
            ? settings_read_doc(r->task.arena, sql_search_settings_lock_row(&rows, 0).doc)
            : NULL;
    json_t *doc = before != NULL ? json_deep_copy(before) : json_object();
    arena_defer(r->task.arena, search_settings_unref, doc);
    search_settings_merge(r, &in, doc, errors);
    if (errors->count > 0)
        return fail_fields(r, errors);
    struct str text = jr_print(r->task.arena, doc);
    const struct changed_member members[] = {
        {"public", in.is_public.set},
        {"synonyms", in.synonyms.set},
        {"stop_words", in.stop_words.set},
        {"typo_tolerance", in.typo_tolerance.set},
    };
    struct db_call calls[] = {
        db_call(SQL_SEARCH_SETTINGS_PUT(.doc = text)),
        gateway_audit(r,
                      "search_settings.update",
                      "search_settings",
                      0,
                      gateway_changed_detail(r, members, ARRAY_LEN(members))),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    return reply_settings(r, text);
}

static const struct route search_settings_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/search/settings",
        .id = "search_settings_show",
        .auth = AUTH_ADMIN,
        .success = {200, &settings_out_schema},
        .run = search_settings_show,
        .summary = "Read the settings of search",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/search/settings",
        .id = "search_settings_update",
        .auth = AUTH_ADMIN,
        .body = &settings_schema,
        .success = {200, &settings_out_schema},
        .run = search_settings_update,
        .summary = "Change the settings of search",
        .doc = "Members left out keep their value, null restores the default. The next search uses "
               "the new settings; nothing is indexed again.",
    },
};
ROUTES(search_settings, "Search");

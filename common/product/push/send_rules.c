/* Queries the templates and groups of buttons that sends use. */
#include "push/send_rules.h"

#include "send_rules_sql.h"

int push_template_find(struct task *task,
                       struct db *db,
                       struct str type,
                       bool *ret_found,
                       struct push_template *ret_template)
{
    struct rows rows;

    TRY(db_query(task, db, SQL_PUSH_TEMPLATE_FIND(.template_type = type), &rows));
    *ret_found = rows.count > 0;
    if (!rows.count)
        return 0;
    const struct sql_push_template_find_row row = sql_push_template_find_row(&rows, 0);
    *ret_template = (struct push_template){
        .title = row.title,
        .body = row.body,
        .image_url = row.image_url,
        .click_action = row.click_action,
        .category = row.category,
        .buttons = row.buttons,
        .is_active = row.is_active,
    };
    return 0;
}

static bool buttons_have(struct sql_strs ids, struct str id)
{
    for (size_t i = 0; i < ids.count; i++)
        if (str_eq(ids.items[i], id))
            return true;
    return false;
}

static struct str ids_join(struct arena *arena, struct sql_strs ids)
{
    struct str text = STR("none");

    for (size_t i = 0; i < ids.count; i++)
        text = i == 0 ? ids.items[0]
                      : arena_printf(arena, "%.*s, %.*s", STR_ARG(text), STR_ARG(ids.items[i]));
    return text;
}

static struct str push_refusal(struct arena *arena,
                               const struct sql_push_group_find_row *group,
                               struct str category,
                               struct sql_strs buttons)
{
    if (!group->any_group)
        return STR_NONE;
    if (!group->known)
        return arena_printf(arena, "There is no button group %.*s.", STR_ARG(category));
    if (!group->is_enabled)
        return arena_printf(arena, "The button group %.*s is disabled.", STR_ARG(category));
    for (size_t i = 0; i < buttons.count; i++)
        if (!buttons_have(group->actions, buttons.items[i]))
            return arena_printf(arena,
                                "The button group %.*s has no action %.*s; its actions are: %.*s.",
                                STR_ARG(category),
                                STR_ARG(buttons.items[i]),
                                STR_ARG(ids_join(arena, group->actions)));
    return STR_NONE;
}

int push_group_check(struct task *task,
                     struct db *db,
                     struct str category,
                     struct sql_strs buttons,
                     struct str *ret_refusal)
{
    struct rows rows;

    *ret_refusal = STR_NONE;
    if (category.len == 0)
        return 0;
    TRY(db_query(task, db, SQL_PUSH_GROUP_FIND(.category = category), &rows));
    const struct sql_push_group_find_row group = sql_push_group_find_row(task->arena, &rows, 0);
    *ret_refusal = push_refusal(task->arena, &group, category, buttons);
    return 0;
}

#pragma once
/* What the files of /push share. */
#include "app.h"

#define PUSH_ID_MAX      64  /* of templates, groups of buttons, their actions; characters */
#define PUSH_LINE_MAX    998 /* as steps of workflows have it */
#define PUSH_BODY_MAX    4000
#define PUSH_URL_MAX     2048
#define PUSH_BUTTONS_MAX 10

extern const char *const push_providers[]; /* fcm, web_push */

/* --- what is sent: members of test sends and of templates --- */

struct push_button_in {
    struct in_str id, label, click_action;
};
extern const struct schema push_button_schema;

struct push_content_in {
    struct in_str title, body, image_url, click_action, category;
    struct in_list buttons; /* of struct push_button_in */
};

/* clang-format off */
#define PUSH_CONTENT_MEMBERS(type)                                                                 \
    {.name = "title", FIELD_AT(type, content.title), .type = FIELD_STR, .nullable = true,          \
     .max = PUSH_LINE_MAX, .example = "\"Dinner at eight\""},                                      \
    {.name = "body", FIELD_AT(type, content.body), .type = FIELD_STR, .nullable = true,            \
     .max = PUSH_BODY_MAX, .example = "\"Are you coming?\""},                                      \
    {.name = "image_url", FIELD_AT(type, content.image_url), .type = FIELD_STR, .nullable = true,  \
     .max = PUSH_URL_MAX, .format = "url"},                                                        \
    {.name = "click_action", FIELD_AT(type, content.click_action), .type = FIELD_STR,              \
     .nullable = true, .max = PUSH_URL_MAX, .doc = "Deep link or URL, passed to the app",          \
     .example = "\"app://dinner/8\""},                                                             \
    {.name = "category", FIELD_AT(type, content.category), .type = FIELD_STR, .nullable = true,    \
     .min = 1, .max = PUSH_ID_MAX,                                                                 \
     .doc = "Group of buttons; without one a tap cannot be reported", .example = "\"rsvp\""},      \
    {.name = "buttons", FIELD_AT(type, content.buttons), .type = FIELD_LIST, .nullable = true,     \
     .max = PUSH_BUTTONS_MAX, .sub = &push_button_schema}
/* clang-format on */

/* Identifiers come back in paths, tokens and payloads: printable, without spaces. */
bool push_id_ok(struct str id);
/* 400 when a category or a button's id is none, or an id stands there twice. */
int push_content_check(struct req *r, const struct push_content_in *in);
/* JSON text of the list, arena-owned; STR_NONE when it is left out, null or empty. */
struct str push_buttons_json(struct req *r, const struct in_list *buttons);

/* Ids of the buttons of a send. */
struct push_buttons {
    const struct str *ids;
    size_t count;
};
/* co: 422 when a send may not use the category, or one of the buttons is none of its actions. */
AWAITS int push_category_check(struct req *r,
                               struct str category,
                               const struct push_buttons *buttons);

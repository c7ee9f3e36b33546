#pragma once
/* What the files of /push share. */
#include "app.h"

#define PUSH_ID_MAX   64  /* of templates, groups of buttons, their actions; characters */
#define PUSH_LINE_MAX 998 /* as steps of workflows have it */
#define PUSH_BODY_MAX 4000
#define PUSH_URL_MAX  2048
#define PUSH_BUTTONS  20

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
#define PUSH_CONTENT_MEMBERS(in)                                                                   \
    {.name = "title", FIELD_AT(in, content.title), .type = FIELD_STR, .nullable = true,          \
     .max = PUSH_LINE_MAX, .example = "\"Dinner at eight\""},                                      \
    {.name = "body", FIELD_AT(in, content.body), .type = FIELD_STR, .nullable = true,            \
     .max = PUSH_BODY_MAX, .example = "\"Are you coming?\""},                                      \
    {.name = "image_url", FIELD_AT(in, content.image_url), .type = FIELD_STR, .nullable = true,  \
     .max = PUSH_URL_MAX, .format = "url"},                                                        \
    {.name = "click_action", FIELD_AT(in, content.click_action), .type = FIELD_STR,              \
     .nullable = true, .max = PUSH_URL_MAX, .doc = "Deep link or URL, passed to the app",          \
     .example = "\"app://dinner/8\""},                                                             \
    {.name = "category", FIELD_AT(in, content.category), .type = FIELD_STR, .nullable = true,    \
     .min = 1, .max = PUSH_ID_MAX,                                                                 \
     .doc = "Group of buttons; without one a tap cannot be reported", .example = "\"rsvp\""},      \
    {.name = "buttons", FIELD_AT(in, content.buttons), .type = FIELD_LIST, .nullable = true,     \
     .max = PUSH_BUTTONS, .sub = &push_button_schema}
/* clang-format on */

/* Identifiers come back in paths, tokens and payloads: printable, without spaces. */
bool push_id_ok(struct str id);
/* 400 when a category or a button's id is none, or an id stands there twice. */
int push_content_check(struct req *r, const struct push_content_in *in);
/* JSON text of the list, arena-owned; STR_NONE when it is left out, null or empty. */
struct str push_buttons_json(struct req *r, const struct in_list *buttons);

/* --- projects that dispatchers look at --- */

/* co: dispatchers look at the project from then on. */
AWAITS int push_register_project(struct req *r);
/* The id of an entity that the body names as owner_entity_name; 400 when there is none. */
int push_owner_entity(struct req *r, struct str name, int64_t *ret_id) MUSTCHECK;

#pragma once
/* Declarations that the endpoints of /push share. */
#include "app.h"

#define PUSH_ID_MAX              64 /* characters of the id of a template, button group or action */
#define PUSH_LINE_MAX            998 /* as in SendPushNotification steps */
#define PUSH_BODY_MAX            4000
#define PUSH_URL_MAX             2048
#define PUSH_CONTENT_BUTTONS_MAX 20

extern const char *const push_providers[]; /* fcm, web_push */

/* --- content of a notification: members of test sends and of templates --- */

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
     .doc = "Id of the button group; a tap on a notification without a group cannot be reported",  \
     .example = "\"rsvp\""},                                                                       \
    {.name = "buttons", FIELD_AT(in, content.buttons), .type = FIELD_LIST, .nullable = true,     \
     .max = PUSH_CONTENT_BUTTONS_MAX, .sub = &push_button_schema}
/* clang-format on */

/* any: Whether an id is valid: 1 to PUSH_ID_MAX printable ASCII characters without spaces, slashes,
 * backslashes and double quotes. Ids are used unescaped in paths, tokens and payloads. */
bool push_id_is_valid(struct str id);
/* any: Checks the ids of the category and the buttons. Returns 0, or puts a 400 when an id is
 * invalid or two buttons have the same id. */
int push_content_check(struct req *r, const struct push_content_in *in);
/* any: Returns the list of buttons as JSON text in the request's arena; STR_NONE when the list is
 * left out, null or empty. */
struct str push_buttons_json(struct req *r, const struct in_list *buttons);

/* --- projects that dispatchers poll --- */

/* co: Registers the request's project: dispatchers poll the project from then on. Returns 0, or the
 * status of an answer that was put. */
AWAITS int push_register_project(struct req *r);
/* any: Finds the id of the entity `name`, the body's owner_entity_name. Returns 0, or puts a 400
 * when there is no such entity. */
int push_owner_entity(struct req *r, struct str name, int64_t *ret_id) MUSTCHECK;

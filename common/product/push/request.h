#pragma once
/*
 * Reads push_sends.request, which the gateway and the workflow runner write: the message and its
 * audience. Templates are already merged and button groups checked. Pure; any thread, one arena
 * each.
 */
#include <jansson.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"
#include "push/payload.h"

/* Values of push_deliveries.provider. */
enum push_provider { PUSH_FCM = 1, PUSH_WEB = 2 };
#define PUSH_PROVIDERS 2

/* Returns "fcm" or "web_push". */
const char *push_provider_name(enum push_provider provider);
/* Returns the provider of this name; 0 = none. */
enum push_provider push_provider_find(struct str name);

enum push_audience_kind { PUSH_TO_USERS, PUSH_TO_OWNER, PUSH_TO_ALL };

struct push_audience {
    enum push_audience_kind kind;
    const int64_t *users; /* PUSH_TO_USERS */
    size_t nusers;
    int64_t owner_entity_id; /* PUSH_TO_OWNER; 0 = use owner_entity_name */
    struct str owner_entity_name;
    int64_t owner_record_id;
    enum push_provider provider; /* only devices of this provider; 0 = all */
};

#define PUSH_USERS_MAX   10000
#define PUSH_BUTTONS_MAX 20
#define PUSH_DATA_MAX    100

struct push_request {
    struct push_message message; /* without notification_id and sent_ms */
    struct push_audience audience;
};

/* Reads a request. 0, arena-owned, or PUSH_REQUEST_BAD with *ret_code: a literal that is fit for a
 * row and a log. */
int push_request_read(struct arena *arena,
                      struct str json,
                      struct push_request *ret_request,
                      struct str *ret_code) MUSTCHECK;

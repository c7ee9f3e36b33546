#pragma once
/*
 * push_sends.request, as gateway and runner write it: what is sent, and to whom. Templates are
 * merged and button groups checked by then. Pure; any thread, one arena each.
 */
#include <jansson.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"
#include "push/payload.h"

/* push_deliveries.provider */
enum push_provider { PUSH_FCM = 1, PUSH_WEB = 2 };
#define PUSH_PROVIDERS 2

/* "fcm", "web_push" */
const char *push_provider_name(enum push_provider provider);
/* 0: there is no such provider. */
enum push_provider push_provider_of(struct str name);

enum push_audience_kind { PUSH_TO_USERS, PUSH_TO_OWNER, PUSH_TO_ALL };

struct push_audience {
    enum push_audience_kind kind;
    const int64_t *users; /* PUSH_TO_USERS */
    size_t nusers;
    int64_t owner_entity_id; /* PUSH_TO_OWNER; 0: by its name */
    struct str owner_entity_name;
    int64_t owner_record_id;
    enum push_provider provider; /* that one alone; 0 = all */
};

#define PUSH_USERS_MAX   10000
#define PUSH_BUTTONS_MAX 20
#define PUSH_DATA_MAX    100

struct push_request {
    struct push_message message; /* without notification_id and sent_ms */
    struct push_audience audience;
};

/* 0, arena-owned, or PUSH_REQUEST_BAD with *ret_code: a word that can stand in a row and a log. */
int push_request_read(struct arena *arena,
                      struct str json,
                      struct push_request *ret_request,
                      struct str *ret_code) MUSTCHECK;

#pragma once
/*
 * The credentials of a project for the push providers, opened and cached while they do not change:
 * the parsed service account with its access token, and the key pair with its VAPID tokens. Loop
 * thread.
 */
#include "app.h"

#include "base/list.h"
#include "loop/task.h"
#include "push/answer.h"
#include "push/fcm_account.h"
#include "push/request.h"
#include "push/vapid.h"
#include "window.h"

/* Ids of the entity and fields that have the tokens of FCM. */
struct push_source {
    int64_t entity_id; /* 0: the tokens are in push_devices instead */
    int64_t token_field_id;
    int64_t owner_field_id; /* 0: the records have no owner */
};

/* The access token of FCM. One task requests it for all tasks that need it. */
struct grant {
    struct arena *arena; /* of the token; NULL: there is no token */
    struct fcm_token token;
    int64_t until_ms;  /* wall: the token is used until then */
    bool is_requested; /* a task is requesting the token */
    struct list waiters;
    int64_t failed_until_mono_ms; /* after a refusal: no request before this time */
    char code[PUSH_CODE_MAX + 1]; /* of the refusal */
};

/* The credentials of a project. Reference counted, because they may be replaced while a request is
 * under way. */
struct providers {
    int refs;
    int64_t project;
    struct arena *arena;
    struct str rows_text; /* the rows as they were read */
    int64_t used_mono_ms;
    bool has_fcm;
    struct fcm_account account;
    struct str send_url;
    struct push_source source;
    struct grant grant;
    struct ec_key *key;
    struct vapid *vapid;  /* NULL: web push is not configured */
    struct window window; /* slots that the project's sends share (window.h) */
};

/* co: Reads the rows of the project's credentials, and opens them if they have changed. *ret is
 * held until providers_release(). A credential that cannot be opened or parsed counts as missing.
 * Returns 0, a DB_*, or a negative. */
AWAITS int providers_get(struct task *task, struct project *project, struct providers **ret);
/* any: Holds the providers once more, until another providers_release(); returns them. */
static inline struct providers *providers_hold(struct providers *providers)
{
    providers->refs++;
    return providers;
}
/* any: Ends one hold; the last one frees the providers. NULL is fine. */
void providers_release(struct providers *providers);
/* any: Whether the project has credentials for the provider. */
bool providers_has(const struct providers *providers, enum push_provider provider);
/* any: Empties the cache, at the end of the process. */
void providers_done(void);

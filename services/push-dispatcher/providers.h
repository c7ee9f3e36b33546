#pragma once
/*
 * A project's credentials of the providers, opened and kept while they are the same: the parsed
 * service account with its access token, the key pair with its VAPID tokens. Loop thread.
 */
#include "app.h"

#include "base/list.h"
#include "loop/task.h"
#include "push/answer.h"
#include "push/fcm_account.h"
#include "push/request.h"
#include "push/vapid.h"
#include "window.h"

/* Where tokens of FCM stand when they are an entity's; ids. */
struct push_source {
    int64_t entity_id; /* 0: devices are registered with us */
    int64_t token_field_id;
    int64_t owner_field_id; /* 0: nobody owns them */
};

/* The access token, asked for once however many want it. */
struct grant {
    struct arena *arena; /* of the token; NULL: there is none */
    struct fcm_token token;
    int64_t until_ms; /* wall: used so long */
    bool asked;       /* one task asks */
    struct list waiters;
    int64_t failed_until_mono_ms; /* it was refused: not asked for again before */
    char code[PUSH_CODE_MAX + 1]; /* why */
};

/* Counted: credentials may be replaced while a request is under way. */
struct providers {
    int refs;
    int64_t project;
    struct arena *arena;
    struct str made_of; /* rows as they were read */
    int64_t used_mono_ms;
    bool has_fcm;
    struct fcm_account account;
    struct str send_url;
    struct push_source source;
    struct grant grant;
    struct ec_key *key;
    struct vapid *vapid;  /* NULL: web push is not configured */
    struct window window; /* of the project's sends */
};

/* co: reads the project's rows, and opens them if they are others than before. Held until
 * providers_release(). A credential that cannot be opened is none. 0, a DB_*, or a negative. */
AWAITS int providers_get(struct task *task, struct project *project, struct providers **ret);
static inline struct providers *providers_hold(struct providers *providers)
{
    providers->refs++;
    return providers;
}
/* any: NULL is fine. */
void providers_release(struct providers *providers);
bool providers_has(const struct providers *providers, enum push_provider provider);
/* any: at the process's end. */
void providers_done(void);

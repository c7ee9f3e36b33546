#pragma once
/*
 * Structured logs: one JSON line on stderr per event, with time, level, service, pid, event name,
 * context and fields. Code below app/ logs at level debug only; the edge of the service, which
 * decides what a failure means, logs it once. Bodies, tokens and secrets are never logged: L_SECRET
 * prints only a length.
 */
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* The context in every line. Each task has one; loop/ selects that of the running task. */
struct log_ctx {
    struct str request_id;
    struct str project;
    const char *route; /* route id */
};

struct log_field {
    const char *key;
    enum { LOG_F_STR, LOG_F_I64, LOG_F_BOOL, LOG_F_SECRET, LOG_F_SITE } kind;
    struct str text;
    int64_t number;
};

#define L_STR(k, v)     ((struct log_field){.key = (k), .kind = LOG_F_STR, .text = (v)})
#define L_CSTR(k, v)    ((struct log_field){.key = (k), .kind = LOG_F_STR, .text = str_from(v)})
#define L_I64(k, v)     ((struct log_field){.key = (k), .kind = LOG_F_I64, .number = (v)})
#define L_BOOL(k, v)    ((struct log_field){.key = (k), .kind = LOG_F_BOOL, .number = (v)})
#define L_SECRET(k, v)  ((struct log_field){.key = (k), .kind = LOG_F_SECRET, .text = (v)})
#define L_RESULT(k, rc) L_CSTR((k), result_name(rc))
/* "at": "<file>:<line>", where `rc` arose; no field when `site` records another result. */
#define L_AT(site, rc) log_site_field((site), (rc))
/* Does the work of L_AT(). */
struct log_field log_site_field(const struct result_site *site, int rc);

/* log_info("db.reconnected", L_CSTR("server", name), L_I64("tries", n)); fields are optional. */
#define log_event(level, event, ...)                                                               \
    log_write((level),                                                                             \
              (event),                                                                             \
              (const struct log_field[]){{0}, ##__VA_ARGS__},                                      \
              sizeof((const struct log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct log_field))
#define log_debug(event, ...) log_event(LOG_DEBUG, event, ##__VA_ARGS__)
#define log_info(event, ...)  log_event(LOG_INFO, event, ##__VA_ARGS__)
#define log_warn(event, ...)  log_event(LOG_WARN, event, ##__VA_ARGS__)
#define log_error(event, ...) log_event(LOG_ERROR, event, ##__VA_ARGS__)

/* Sets the name of the service, borrowed for the life of the process, and the least level that is
 * logged. Call it at the start. */
void log_init(const char *service, enum log_level level);
/* any: Queues one line, or drops the whole line when it is too long. The first field is a
 * placeholder and is skipped. Use log_event(). */
void log_write(enum log_level level,
               const char *event,
               const struct log_field *fields,
               size_t count);
/* Sets the context of this thread, borrowed; NULL = none. loop/ calls it for the running task. */
void log_context_set(const struct log_ctx *ctx);
/* Returns the context of this thread, for the tests of loop/. */
const struct log_ctx *log_context(void);
/* Returns the level that "debug", "info", "warn" or "error" names, -1 for any other text. */
int log_level_parse(struct str text);
/* any: Writes the queued lines: at the end of a turn of the event loop, at exit and at a panic.
 * Lines are also written when the queue of 32 KB is nearly full, and after each error. */
void log_flush(void);

#pragma once
/*
 * Structured logs: one JSON line per event on stderr: time, level, service, pid, event name,
 * context, fields. Code below app/ does not log above debug; the edge that decides does, once.
 * Never bodies, tokens or secrets: L_SECRET prints a length only.
 */
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* What every line carries; hangs off the running task and is swapped when coroutines switch. */
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
/* "at": "<file>:<line>" where `rc` arose, when that is what `site` notes; else no field. */
#define L_AT(site, rc) log_at((site), (rc))
struct log_field log_at(const struct result_site *site, int rc);

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

/* Once at start; both are borrowed for the life of the process. */
void log_init(const char *service, enum log_level level);
/* The first field is a placeholder and is skipped. Writes one whole line or drops it. */
void log_write(enum log_level level,
               const char *event,
               const struct log_field *fields,
               size_t count);
/* The context of the running task; loop/ swaps it. NULL = none. Borrowed. */
void log_context_set(const struct log_ctx *ctx);
/* What was set, for the tests of loop/ that see it swapped. */
const struct log_ctx *log_context(void);
/* debug|info|warn|error -> level; -1 when unknown. */
int log_level_parse(struct str text);
/* Lines queued are written when 32 KB are full or this is called (end of loop turn, exit,
 * panic). */
void log_flush(void);

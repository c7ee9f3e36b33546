/*
 * Structured logs. Lines are built in one buffer of the process, under a lock because worker
 * threads log too. Each write(2) gets whole lines.
 */
#include "log/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/utf8.h"

#define QUEUE_BYTES ((size_t)32 * 1024)
#define LINE_BYTES  ((size_t)8 * 1024)
#define STUCK_MS    100 /* how long a full pipe may block the process before lines are dropped */

/* The space for one line. A field that does not fit sets `overflow`, and the whole line is
 * dropped. */
struct line {
    char *at;
    char *end;
    bool overflow;
};

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static const char *service_name = "";
static enum log_level level_min = LOG_INFO;
static char pid_text[24]; /* printed once per process; a forked child clears it */
static _Thread_local const struct log_ctx *context;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char queue[QUEUE_BYTES];
static size_t queued;
static int64_t dropped; /* lines dropped since the last queued line */

static void log_put(struct line *line, const char *text, size_t len)
{
    if (line->overflow || len > (size_t)(line->end - line->at)) {
        line->overflow = true;
        return;
    }
    memcpy(line->at, text, len);
    line->at += len;
}

static void put_cstr(struct line *line, const char *text)
{
    log_put(line, text, strlen(text));
}

static void put_i64(struct line *line, int64_t value)
{
    char text[20];
    log_put(line, text, num_print_i64(text, value));
}

static bool is_plain(unsigned char c, bool utf8)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && (c < 0x80 || utf8);
}

static void log_put_escape(struct line *line, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char unicode[] = {'\\', 'u', '0', '0', hex[c >> 4U], hex[c & 15U]};
    char simple[] = {'\\', (char)c};

    switch (c) {
    case '"':
    case '\\':
        break;
    case '\n':
        simple[1] = 'n';
        break;
    case '\r':
        simple[1] = 'r';
        break;
    case '\t':
        simple[1] = 't';
        break;
    default:
        log_put(line, unicode, sizeof(unicode));
        return;
    }
    log_put(line, simple, sizeof(simple));
}

/* Writes a JSON string. In a text that is not UTF-8, bytes above 0x7f are escaped as if they were
 * Latin-1: the line is valid JSON and the bytes can be recognised. */
static void put_string(struct line *line, struct str text)
{
    bool utf8 = utf8_valid(text);
    size_t start = 0;

    log_put(line, "\"", 1);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (is_plain(c, utf8))
            continue;
        log_put(line, text.ptr + start, i - start);
        log_put_escape(line, c);
        start = i + 1;
    }
    if (text.len > start)
        log_put(line, text.ptr + start, text.len - start);
    log_put(line, "\"", 1);
}

static void log_put_key(struct line *line, const char *key)
{
    log_put(line, ",", 1);
    put_string(line, str_from(key));
    log_put(line, ":", 1);
}

struct log_field log_site_field(const struct result_site *site, int rc)
{
    bool is_logged = rc != 0 && site->rc == rc;

    return (struct log_field){
        .key = "at",
        .kind = LOG_F_SITE,
        .text = is_logged ? str_from(site->file) : STR_NONE,
        .number = site->line,
    };
}

static void put_site(struct line *line, const struct log_field *site)
{
    if (!site->text.ptr)
        return;
    log_put_key(line, site->key);
    log_put(line, "\"", 1);
    log_put(line, site->text.ptr, site->text.len);
    log_put(line, ":", 1);
    put_i64(line, site->number);
    log_put(line, "\"", 1);
}

static void log_put_field(struct line *line, const struct log_field *field)
{
    if (field->kind == LOG_F_SITE) {
        put_site(line, field);
        return;
    }
    log_put_key(line, field->key);
    switch (field->kind) {
    case LOG_F_STR:
        put_string(line, field->text);
        break;
    case LOG_F_I64:
        put_i64(line, field->number);
        break;
    case LOG_F_BOOL:
        put_cstr(line, field->number ? "true" : "false");
        break;
    case LOG_F_SECRET:
        put_cstr(line, "\"[secret, ");
        put_i64(line, (int64_t)field->text.len);
        put_cstr(line, " bytes]\"");
        break;
    case LOG_F_SITE:
        break;
    }
}

static void put_head(struct line *line, enum log_level level, const char *event)
{
    char time[CLOCK_TEXT_BYTES];

    put_cstr(line, "{\"time\":\"");
    put_cstr(line, clock_format(time, clock_wall_ms()));
    put_cstr(line, "\",\"level\":\"");
    put_cstr(line, level_names[level]);
    put_cstr(line, "\",\"service\":");
    put_string(line, str_from(service_name));
    put_cstr(line, ",\"pid\":");
    put_cstr(line, pid_text);
    put_cstr(line, ",\"event\":");
    put_string(line, str_from(event));
}

static void put_context(struct line *line)
{
    if (!context)
        return;
    if (context->request_id.len > 0) {
        log_put_key(line, "request_id");
        put_string(line, context->request_id);
    }
    if (context->project.len > 0) {
        log_put_key(line, "project");
        put_string(line, context->project);
    }
    if (context->route) {
        log_put_key(line, "route");
        put_string(line, str_from(context->route));
    }
}

/* Writes the queue, under the lock. Waits up to STUCK_MS for a slow reader of the pipe. */
static void queue_write(void)
{
    size_t done = 0;

    while (done < queued) {
        ssize_t n = write(STDERR_FILENO, queue + done, queued - done);
        if (n >= 0) {
            done += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        struct pollfd slow = {.fd = STDERR_FILENO, .events = POLLOUT};
        if (errno != EAGAIN || poll(&slow, 1, STUCK_MS) <= 0)
            break;
    }
    for (size_t i = done; i < queued; i++)
        dropped += queue[i] == '\n';
    queued = 0;
}

/* Prints the pid once, under the lock. */
static void pid_refresh(void)
{
    if (pid_text[0] == '\0')
        pid_text[num_print_i64(pid_text, getpid())] = '\0';
}

/* A child begins with an empty queue: the parent writes the queued lines. */
static void log_reset_child(void)
{
    (void)pthread_mutex_init(&lock, NULL);
    queued = 0;
    dropped = 0;
    memset(pid_text, 0, sizeof(pid_text));
}

/* A panic inside of this file already holds the lock: the queued lines are lost then, but not the
 * message of the panic. */
static void flush_at_panic(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    queue_write();
    (void)pthread_mutex_unlock(&lock);
}

void log_init(const char *service, enum log_level level)
{
    static bool prepared;

    service_name = service;
    level_min = level;
    if (prepared)
        return;
    prepared = true;
    (void)pthread_atfork(NULL, NULL, log_reset_child);
    panic_hook_set(flush_at_panic);
}

void log_write(enum log_level level,
               const char *event,
               const struct log_field *fields,
               size_t count)
{
    if (level < level_min)
        return;
    /* Preserve errno: the caller may report it next. */
    int saved_errno = errno;
    (void)pthread_mutex_lock(&lock);
    if (QUEUE_BYTES - queued < LINE_BYTES)
        queue_write();
    pid_refresh();

    struct line line = {.at = queue + queued, .end = queue + queued + LINE_BYTES};
    put_head(&line, level, event);
    put_context(&line);
    for (size_t i = 1; i < count; i++)
        log_put_field(&line, &fields[i]);
    if (dropped > 0) {
        log_put_key(&line, "dropped");
        put_i64(&line, dropped);
    }
    put_cstr(&line, "}\n");
    if (line.overflow) {
        dropped++;
    } else {
        queued = (size_t)(line.at - queue);
        dropped = 0;
    }
    if (level >= LOG_ERROR)
        queue_write();
    (void)pthread_mutex_unlock(&lock);
    errno = saved_errno;
}

void log_context_set(const struct log_ctx *ctx)
{
    context = ctx;
}

const struct log_ctx *log_context(void)
{
    return context;
}

int log_level_parse(struct str text)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        if (str_is(text, level_names[i]))
            return (int)i;
    }
    return -1;
}

void log_flush(void)
{
    int saved_errno = errno;
    (void)pthread_mutex_lock(&lock);
    queue_write();
    (void)pthread_mutex_unlock(&lock);
    errno = saved_errno;
}

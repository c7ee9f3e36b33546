/* Calls of media-sandbox: sends it the bytes of the file that it requests, and reads its answer. */
#include "files/media.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/panic.h"
#include "files/type.h"
#include "log/log.h"
#include "loop/helper.h"

#define PROGRAM     "media-sandbox"
#define WAITING_MAX 64
#define ARG_BYTES   24
#define SIDE_MAX    1000000U
#define TRIES       2 /* the sandbox may have ended for a reason other than this picture */

static struct helper *helper; /* NULL = not started */

const char *media_check(const char *program)
{
    return helper_check(PROGRAM, program);
}

void media_start(const struct media_config *config)
{
    static char memory[ARG_BYTES];
    static char seconds[ARG_BYTES];

    (void)snprintf(memory, sizeof(memory), "%lld", (long long)config->memory_bytes);
    (void)snprintf(seconds, sizeof(seconds), "%lld", (long long)((config->time_ms + 999) / 1000));
    helper = helper_new(&(struct helper_config){
        .name = PROGRAM,
        .slots = "media_processes",
        .program = config->program,
        .args = {str_from(memory), str_from(seconds)},
        .calls = config->processes,
        .waiting = WAITING_MAX,
    });
}

void media_stop(void)
{
    helper_stop(helper);
    helper = NULL;
}

unsigned media_starts(void)
{
    return helper ? helper_starts(helper) : 0;
}

bool media_tells(struct str mime_type)
{
    const char *kind = type_kind(mime_type);

    return strcmp(kind, "image") == 0 || strcmp(kind, "video") == 0 || strcmp(kind, "audio") == 0 ||
           str_is(mime_type, "application/ogg");
}

struct opt_f64 media_duration(const struct media_facts *facts)
{
    return (struct opt_f64){round(facts->duration * 1000) / 1000, facts->duration > 0};
}

/* One request to media-sandbox. */
struct asked {
    struct task *task;
    const struct media_file *file;
    struct media_request request;
    struct helper_call *call;
    struct store_reader *reader;
    struct str ahead;    /* bytes of the file that were read last, borrowed from the reader */
    int64_t ahead_at;    /* their offset */
    media_piece_fn take; /* NULL = no variant is made */
    void *arg;
    int64_t made; /* bytes of the variant */
    char *piece;  /* MEDIA_PIECE_BYTES, arena-owned */
};

/* --- bytes of the file --- */

/* Returns how many bytes to request from the store: making a variant usually reads the whole file,
 * probing a recording only some places. */
static int64_t media_will_read(const struct asked *asked, int64_t offset)
{
    int64_t rest = asked->file->size - offset;

    return asked->take || rest < (int64_t)MEDIA_PIECE_BYTES ? rest : (int64_t)MEDIA_PIECE_BYTES;
}

AWAITS static int media_read_more(struct asked *asked, int64_t offset)
{
    int64_t bytes = media_will_read(asked, offset);

    if (!asked->reader)
        TRY(store_open(asked->task, &asked->file->key, offset, bytes, &asked->reader));
    TRY(store_read(asked->reader, offset, bytes, &asked->ahead));
    asked->ahead_at = offset;
    return 0;
}

AWAITS static int media_answer_read(struct asked *asked, const struct media_message *message)
{
    int64_t offset = message->offset;
    struct str piece = STR_NONE;

    if (offset < 0 || message->bytes > MEDIA_PIECE_BYTES)
        return PICTURE_BROKEN;
    if (offset < asked->file->size && message->bytes > 0) {
        int64_t end = asked->ahead_at + (int64_t)asked->ahead.len;
        if (offset < asked->ahead_at || offset >= end)
            TRY(media_read_more(asked, offset));
        size_t skip = (size_t)(offset - asked->ahead_at);
        piece = (struct str){asked->ahead.ptr + skip, asked->ahead.len - skip};
        if (piece.len > message->bytes)
            piece.len = message->bytes;
    }
    uint32_t count = (uint32_t)piece.len;
    TRY(helper_write(asked->call, (struct str){(const char *)&count, sizeof(count)}));
    return piece.len > 0 ? helper_write(asked->call, piece) : 0;
}

/* --- the sandbox's answer --- */

AWAITS static int media_take_piece(struct asked *asked, const struct media_message *message)
{
    asked->made += message->bytes;
    if (!asked->take || message->bytes > MEDIA_PIECE_BYTES || asked->made > MEDIA_VARIANT_BYTES)
        return PICTURE_TOO_LARGE;
    if (!asked->piece)
        asked->piece = arena_alloc(asked->task->arena, MEDIA_PIECE_BYTES);
    TRY(helper_read(asked->call, asked->piece, message->bytes));
    return asked->take(asked->arg, (struct str){asked->piece, message->bytes});
}

static int media_failure_result(uint32_t code)
{
    static const int results[] = {
        [MEDIA_NOT_PICTURE] = PICTURE_NONE,
        [MEDIA_BROKEN] = PICTURE_BROKEN,
        [MEDIA_TOO_LARGE] = PICTURE_TOO_LARGE,
        [MEDIA_TOO_SLOW] = PICTURE_TOO_SLOW,
    };

    return code < ARRAY_LEN(results) ? results[code] : PICTURE_BROKEN;
}

AWAITS static int media_listen(struct asked *asked, struct media_facts *ret)
{
    struct media_message message;

    TRY(helper_write(asked->call,
                     (struct str){(const char *)&asked->request, sizeof(asked->request)}));
    for (;;) {
        TRY(helper_read(asked->call, &message, sizeof(message)));
        if (message.says == MEDIA_SAYS_READ)
            TRY(media_answer_read(asked, &message));
        else if (message.says == MEDIA_SAYS_PIECE)
            TRY(media_take_piece(asked, &message));
        else if (message.says == MEDIA_SAYS_DONE && message.bytes == sizeof(*ret))
            return helper_read(asked->call, ret, sizeof(*ret));
        else
            return message.says == MEDIA_SAYS_FAIL ? media_failure_result(message.bytes)
                                                   : PICTURE_BROKEN;
    }
}

/* Tries again while no bytes of the variant have arrived: the sandbox may have been ended for a
 * reason other than this picture. */
AWAITS static int media_ask(struct asked *asked, bool strangers, struct media_facts *ret)
{
    struct share_owner owner = {asked->task->tenant, strangers};
    int rc = HELPER_ENDED;

    if (!helper)
        return HELPER_ENDED;
    asked->request.size = asked->file->size;
    for (unsigned i = 0; i < TRIES && rc == HELPER_ENDED && asked->made == 0; i++) {
        TRY(helper_open(asked->task, helper, owner, &asked->call));
        rc = media_listen(asked, ret);
        helper_close(asked->call);
    }
    if (asked->reader)
        store_close(asked->reader);
    return rc == HELPER_ENDED ? PICTURE_BROKEN : rc;
}

int media_look(struct task *task, const struct media_file *file, struct media_facts *ret)
{
    struct asked asked = {
        .task = task,
        .file = file,
        .request = {.op = MEDIA_OP_PROBE},
    };

    TRY(media_ask(&asked, false, ret));
    if (ret->width > SIDE_MAX || ret->height > SIDE_MAX || !isfinite(ret->duration))
        *ret = (struct media_facts){0}; /* a sandbox that reports such facts is compromised */
    return 0;
}

int media_look_briefly(struct task *task,
                       const struct media_file *file,
                       int64_t end_ms,
                       struct media_facts *ret)
{
    int64_t deadline_ms = task->deadline_ms;

    if (deadline_ms == 0 || end_ms < deadline_ms)
        task->deadline_ms = end_ms;
    int rc = media_look(task, file, ret);
    task->deadline_ms = deadline_ms;
    if (rc == 0)
        return 0;
    *ret = (struct media_facts){0};
    log_debug("files.look_failed", L_CSTR("key", file->key.name), L_RESULT("rc", rc));
    return rc == -ECANCELED ? rc : 0;
}

int media_make(struct task *task,
               const struct media_file *file,
               const struct media_variant *variant,
               bool strangers,
               media_piece_fn take,
               void *arg,
               struct media_facts *ret)
{
    struct asked asked = {
        .task = task,
        .file = file,
        .request =
            {
                .op = MEDIA_OP_VARIANT,
                .format = variant->format,
                .fit = variant->fit,
                .width = variant->width,
                .height = variant->height,
                .is_still = variant->is_still,
            },
        .take = take,
        .arg = arg,
    };

    return media_ask(&asked, strangers, ret);
}

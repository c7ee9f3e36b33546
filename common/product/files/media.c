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

bool media_may_have_facts(struct str mime_type)
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
struct sandbox_call {
    struct task *task;
    const struct media_file *file;
    struct media_request request;
    struct helper_call *call;
    struct store_reader *reader;
    struct str prefetched;     /* bytes of the file that were read last, borrowed from the reader */
    int64_t prefetched_offset; /* their offset */
    media_chunk_fn take_chunk; /* NULL = no variant is made */
    void *arg;
    int64_t made_bytes; /* bytes of the variant */
    char *chunk;        /* MEDIA_CHUNK_BYTES, arena-owned */
};

/* --- bytes of the file --- */

/* Returns how many bytes to request from the store: making a variant usually reads the whole file,
 * probing a recording only some places. */
static int64_t media_prefetch_bytes(const struct sandbox_call *call, int64_t offset)
{
    int64_t rest = call->file->size - offset;

    return call->take_chunk || rest < (int64_t)MEDIA_CHUNK_BYTES ? rest
                                                                 : (int64_t)MEDIA_CHUNK_BYTES;
}

AWAITS static int media_prefetch(struct sandbox_call *call, int64_t offset)
{
    int64_t bytes = media_prefetch_bytes(call, offset);

    if (!call->reader)
        TRY(store_open(call->task, &call->file->key, offset, bytes, &call->reader));
    TRY(store_read(call->reader, offset, bytes, &call->prefetched));
    call->prefetched_offset = offset;
    return 0;
}

AWAITS static int media_answer_read(struct sandbox_call *call, const struct media_message *message)
{
    int64_t offset = message->offset;
    struct str chunk = STR_NONE;

    if (offset < 0 || message->bytes > MEDIA_CHUNK_BYTES)
        return PICTURE_MALFORMED;
    if (offset < call->file->size && message->bytes > 0) {
        int64_t end = call->prefetched_offset + (int64_t)call->prefetched.len;
        if (offset < call->prefetched_offset || offset >= end)
            TRY(media_prefetch(call, offset));
        size_t skip = (size_t)(offset - call->prefetched_offset);
        chunk = (struct str){call->prefetched.ptr + skip, call->prefetched.len - skip};
        if (chunk.len > message->bytes)
            chunk.len = message->bytes;
    }
    uint32_t count = (uint32_t)chunk.len;
    TRY(helper_write(call->call, (struct str){(const char *)&count, sizeof(count)}));
    return chunk.len > 0 ? helper_write(call->call, chunk) : 0;
}

/* --- the sandbox's answer --- */

AWAITS static int media_take_chunk(struct sandbox_call *call, const struct media_message *message)
{
    call->made_bytes += message->bytes;
    if (!call->take_chunk || message->bytes > MEDIA_CHUNK_BYTES ||
        call->made_bytes > MEDIA_VARIANT_BYTES)
        return PICTURE_TOO_LARGE;
    if (!call->chunk)
        call->chunk = arena_alloc(call->task->arena, MEDIA_CHUNK_BYTES);
    TRY(helper_read(call->call, call->chunk, message->bytes));
    return call->take_chunk(call->arg, (struct str){call->chunk, message->bytes});
}

static int media_failure_result(uint32_t code)
{
    static const int results[] = {
        [MEDIA_NOT_PICTURE] = PICTURE_NONE,
        [MEDIA_MALFORMED] = PICTURE_MALFORMED,
        [MEDIA_TOO_LARGE] = PICTURE_TOO_LARGE,
        [MEDIA_TOO_SLOW] = PICTURE_TOO_SLOW,
    };

    return code < ARRAY_LEN(results) ? results[code] : PICTURE_MALFORMED;
}

AWAITS static int sandbox_call_serve(struct sandbox_call *call, struct media_facts *ret)
{
    struct media_message message;

    TRY(helper_write(call->call,
                     (struct str){(const char *)&call->request, sizeof(call->request)}));
    for (;;) {
        TRY(helper_read(call->call, &message, sizeof(message)));
        if (message.kind == MEDIA_MESSAGE_READ)
            TRY(media_answer_read(call, &message));
        else if (message.kind == MEDIA_MESSAGE_CHUNK)
            TRY(media_take_chunk(call, &message));
        else if (message.kind == MEDIA_MESSAGE_DONE && message.bytes == sizeof(*ret))
            return helper_read(call->call, ret, sizeof(*ret));
        else
            return message.kind == MEDIA_MESSAGE_FAIL ? media_failure_result(message.bytes)
                                                      : PICTURE_MALFORMED;
    }
}

/* Tries again while no bytes of the variant have arrived: the sandbox may have been ended for a
 * reason other than this picture. */
AWAITS static int
sandbox_call_run(struct sandbox_call *call, bool strangers, struct media_facts *ret)
{
    struct share_owner owner = {call->task->project, strangers};
    int rc = HELPER_ENDED;

    if (!helper)
        return HELPER_ENDED;
    call->request.size = call->file->size;
    for (unsigned i = 0; i < TRIES && rc == HELPER_ENDED && call->made_bytes == 0; i++) {
        TRY(helper_open(call->task, helper, owner, &call->call));
        rc = sandbox_call_serve(call, ret);
        helper_close(call->call);
    }
    if (call->reader)
        store_close(call->reader);
    return rc == HELPER_ENDED ? PICTURE_MALFORMED : rc;
}

int media_facts_read(struct task *task, const struct media_file *file, struct media_facts *ret)
{
    struct sandbox_call call = {
        .task = task,
        .file = file,
        .request = {.op = MEDIA_OP_PROBE},
    };

    TRY(sandbox_call_run(&call, false, ret));
    if (ret->width > SIDE_MAX || ret->height > SIDE_MAX || !isfinite(ret->duration))
        *ret = (struct media_facts){0}; /* a sandbox that reports such facts is compromised */
    return 0;
}

int media_facts_read_until(struct task *task,
                           const struct media_file *file,
                           int64_t end_ms,
                           struct media_facts *ret)
{
    int64_t deadline_ms = task->deadline_ms;

    if (deadline_ms == 0 || end_ms < deadline_ms)
        task->deadline_ms = end_ms;
    int rc = media_facts_read(task, file, ret);
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
               media_chunk_fn take,
               void *arg,
               struct media_facts *ret)
{
    struct sandbox_call call = {
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
        .take_chunk = take,
        .arg = arg,
    };

    return sandbox_call_run(&call, strangers, ret);
}

/* Memory that requests hold: each arena has an account and takes chunks of its project's share. */
#include "db/answer_private.h"

#include <errno.h>

#include "base/clock.h"
#include "base/panic.h"
#include "db/db.h"

enum {
    CHUNK_BYTES = 32 * 1024, /* taken from the share at a time; less than a chunk is not counted */
    LARGE_BYTES = 64 * 1024, /* results of this size and above are freed by db_answer_settle() */
    WAITING_MAX = 512,       /* tasks of one project that may wait for the share */
    ROW_FACTOR = 2,          /* a row counts for itself and for the text that is made of it */
};

struct answer {
    uint64_t rows;    /* bytes of results */
    uint64_t text;    /* bytes of other memory, and of the answer once it is written */
    uint64_t charged; /* bytes that `rows` and `text` have taken from the project's share */
    struct share *share;
    struct large_result *large; /* newest first */
};

struct large_result {
    struct large_result *older;
    void *result;
    arena_fn fn;
    uint64_t bytes;
};

static struct shares shares;
static uint64_t per_answer;

void db_answers_init(const struct answers_config *config)
{
    uint64_t least = db_answers_least(config->per_answer);

    per_answer = config->per_answer;
    shares_init(&shares,
                &(struct shares_config){
                    .name = "request_bytes",
                    .limit = config->per_process > least ? config->per_process : least,
                    .per_owner = SHARES_ANY,
                    .waiting = WAITING_MAX,
                    .leave_room = true,
                });
}

void db_answers_done(void)
{
    if (per_answer > 0)
        shares_done(&shares);
    per_answer = 0;
}

struct shares *db_answers_shares(void)
{
    return &shares;
}

/* --- accounts --- */

static void answer_refund(struct answer *answer, uint64_t bytes)
{
    if (bytes == 0)
        return;
    answer->charged -= bytes;
    shares_release(&shares, answer->share, bytes);
}

static void free_large(struct answer *answer)
{
    while (answer->large != NULL) {
        struct large_result *large = answer->large;
        answer->large = large->older;
        large->fn(large->result);
    }
}

static void answer_end(void *ptr)
{
    struct answer *answer = ptr;

    free_large(answer);
    answer_refund(answer, answer->charged);
}

static struct answer *answer_of(struct task *task)
{
    void **slot = arena_slot(task->arena);

    if (*slot == NULL) {
        struct answer *answer = ARENA_NEW(task->arena, answer);
        arena_defer(task->arena, answer_end, answer);
        *slot = answer;
    }
    return *slot;
}

uint64_t db_answer_held(struct arena *arena)
{
    const struct answer *answer = *arena_slot(arena);
    return answer != NULL ? answer->rows + answer->text : 0;
}

/* Bytes that an account (struct answer) takes from the project's share: ROW_FACTOR times `rows`,
 * plus `text`, rounded down to whole chunks. */
static uint64_t chunks_due(uint64_t rows, uint64_t text)
{
    return (ROW_FACTOR * rows + text) / CHUNK_BYTES * CHUNK_BYTES;
}

static int answer_charge(struct task *task, struct answer *answer)
{
    uint64_t wanted = chunks_due(answer->rows, answer->text);

    if (wanted <= answer->charged)
        return 0;
    if (shares_try(&shares, share_owner_of(task), wanted - answer->charged, &answer->share) != 0)
        return DB_BUSY;
    answer->charged = wanted;
    return 0;
}

/* Returns to the share the bytes that are charged but no longer held. */
static void answer_refund_excess(struct answer *answer)
{
    uint64_t wanted = chunks_due(answer->rows, answer->text);

    if (answer->charged > wanted)
        answer_refund(answer, answer->charged - wanted);
}

static uint64_t bytes_subtract(uint64_t held, uint64_t bytes)
{
    return held - (bytes < held ? bytes : held);
}

static bool is_counted(const struct task *task)
{
    return per_answer > 0 && task != NULL && task->project != 0;
}

int answer_count_rows(struct task *task, uint64_t bytes, bool bounded)
{
    int rc = 0;

    if (!is_counted(task))
        return 0;
    struct answer *answer = answer_of(task);
    answer->rows += bytes;
    if (bounded && answer->rows + answer->text > per_answer)
        rc = DB_TOO_LARGE;
    if (rc == 0)
        rc = answer_charge(task, answer);
    if (rc == 0 || !bounded)
        return 0;
    answer->rows -= bytes;
    return rc;
}

void answer_uncount_rows(struct task *task, uint64_t bytes)
{
    if (bytes == 0 || !is_counted(task))
        return;
    struct answer *answer = answer_of(task);
    answer->rows = bytes_subtract(answer->rows, bytes);
    answer_refund_excess(answer);
}

void db_answer_hold(struct task *task, uint64_t bytes)
{
    if (bytes == 0 || !is_counted(task))
        return;
    struct answer *answer = answer_of(task);
    answer->text += bytes;
    (void)answer_charge(task, answer);
}

void db_answer_release(struct task *task, uint64_t bytes)
{
    if (bytes == 0 || !is_counted(task))
        return;
    struct answer *answer = answer_of(task);
    answer->text = bytes_subtract(answer->text, bytes);
    answer_refund_excess(answer);
}

int answer_wait(struct task *task, int64_t limit_ms)
{
    struct answer *answer = answer_of(task);
    uint64_t whole = ROW_FACTOR * per_answer;
    uint64_t amount = whole > answer->charged ? whole - answer->charged : CHUNK_BYTES;
    int64_t end_ms = clock_mono_ms() + limit_ms;
    int rc = shares_acquire(task, &shares, share_owner_of(task), amount, limit_ms, &answer->share);

    if (rc == -EAGAIN || (rc == -ETIMEDOUT && clock_mono_ms() >= end_ms &&
                          (task->deadline_ms == 0 || clock_mono_ms() < task->deadline_ms)))
        return DB_BUSY;
    if (rc == 0)
        answer->charged += amount; /* charged before the rows arrive */
    return rc;
}

void answer_defer_free(struct task *task, void *result, uint64_t bytes, arena_fn fn)
{
    if (bytes < LARGE_BYTES || !is_counted(task)) {
        arena_defer(task->arena, fn, result);
        return;
    }
    struct answer *answer = answer_of(task);
    struct large_result *large = ARENA_NEW(task->arena, large);
    *large =
        (struct large_result){.older = answer->large, .result = result, .fn = fn, .bytes = bytes};
    answer->large = large;
}

int db_answer_settle(struct task *task, size_t bytes)
{
    if (!is_counted(task) || (*arena_slot(task->arena) == NULL && chunks_due(0, bytes) == 0))
        return 0;
    struct answer *answer = answer_of(task);
    for (const struct large_result *it = answer->large; it != NULL; it = it->older)
        answer->rows = bytes_subtract(answer->rows, it->bytes);
    free_large(answer);
    answer->text += bytes;
    int rc = answer_charge(task, answer);
    if (rc != 0)
        answer->text -= bytes;
    answer_refund_excess(answer);
    return rc;
}

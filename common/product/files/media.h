#pragma once
/*
 * What pictures and recordings say of themselves, and pictures in other sizes: both are
 * media-sandbox's to find out, which reads the store through this process and can do nothing else.
 *
 * Results: those of the store; PICTURE_NONE, PICTURE_BROKEN, PICTURE_TOO_LARGE, PICTURE_TOO_SLOW:
 * the picture's fault; HELPER_ENDED, -EAGAIN: later; -ECANCELED, -ETIMEDOUT.
 */
#include "db/sql.h"
#include "files/store.h"
#include "media/wire.h"

struct media_config {
    const char *program;  /* NULL = media-sandbox beside this program */
    unsigned processes;   /* that work at once */
    int64_t memory_bytes; /* that each may take */
    int64_t time_ms;      /* of the processor */
};

/* any: NULL, or the program that cannot be executed. */
const char *media_check(const char *program);
/* any: once in each worker; starts nothing yet. */
void media_start(const struct media_config *config);
void media_stop(void);
/* any: how often the program was started. */
unsigned media_starts(void);

struct media_file {
    struct file_key key;
    int64_t size;
};

/* any: may its head tell a size or a duration? */
bool media_tells(struct str mime_type);
/* co: what it says; 0 with nothing in it when it says nothing. */
AWAITS int media_look(struct task *task, const struct media_file *file, struct media_facts *ret)
    MUSTCHECK;
/* co: the same before end_ms (monotonic), and nothing where that fails: 0 or -ECANCELED. */
AWAITS int media_look_briefly(struct task *task,
                              const struct media_file *file,
                              int64_t end_ms,
                              struct media_facts *ret) MUSTCHECK;

/* any: in whole milliseconds, for a row. */
struct opt_f64 media_duration(const struct media_facts *facts);

struct media_variant {
    enum media_fit fit;
    enum media_kind format;
    uint32_t width, height;
    bool is_still; /* the first frame of a picture that moves */
};
/* Takes the next bytes of what is made; what it returns other than 0 ends it. */
typedef AWAITS int (*media_piece_fn)(void *arg, struct str piece);
/* co: `strangers`: on the share of those that a project does not know. */
AWAITS int media_make(struct task *task,
                      const struct media_file *file,
                      const struct media_variant *variant,
                      bool strangers,
                      media_piece_fn take,
                      void *arg,
                      struct media_facts *ret) MUSTCHECK;

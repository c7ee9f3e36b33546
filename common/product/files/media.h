#pragma once
/*
 * Size and duration of pictures and recordings, and pictures in other sizes (variants). The program
 * media-sandbox decodes the bytes, which are untrusted. The program can only read the file that it
 * decodes, through this process.
 *
 * Results: those of the store. PICTURE_NONE, PICTURE_MALFORMED, PICTURE_TOO_LARGE and
 * PICTURE_TOO_SLOW mean that the picture is at fault. HELPER_ENDED and -EAGAIN: try again later.
 * -ECANCELED, -ETIMEDOUT.
 */
#include "db/sql.h"
#include "files/store.h"
#include "media/wire.h"

struct media_config {
    const char *program;  /* NULL = media-sandbox in the folder of this program */
    unsigned processes;   /* most that run concurrently */
    int64_t memory_bytes; /* limit of each process */
    int64_t time_ms;      /* processor time limit of each process */
};

/* any: Returns NULL, or the path of the program if it cannot be executed; borrowed until the next
 * call. */
const char *media_check(const char *program);
/* any: Configures media-sandbox; call once in each worker. The first use starts the program. */
void media_start(const struct media_config *config);
/* any: Ends media-sandbox and its current work. */
void media_stop(void);
/* any: Returns how often the program was started. */
unsigned media_starts(void);

struct media_file {
    struct file_key key;
    int64_t size;
};

/* any: Returns whether files of this type may have a size or a duration. */
bool media_may_have_facts(struct str mime_type);
/* co: Reads size and duration of a file. Members of *ret that the file does not state are 0. */
AWAITS int media_facts_read(struct task *task,
                            const struct media_file *file,
                            struct media_facts *ret) MUSTCHECK;
/* co: Same as media_facts_read(), but ends at end_ms (monotonic). Returns 0 with an empty *ret
 * after any failure except -ECANCELED. */
AWAITS int media_facts_read_until(struct task *task,
                                  const struct media_file *file,
                                  int64_t end_ms,
                                  struct media_facts *ret) MUSTCHECK;

/* any: Returns the duration in seconds, rounded to milliseconds; not set if it is 0. */
struct opt_f64 media_duration(const struct media_facts *facts);

struct media_variant {
    enum media_fit fit;
    enum media_kind format;
    uint32_t width, height;
    bool is_still; /* only the first frame of an animated picture */
};
/* Takes the next bytes of a variant, which are borrowed for the call. A result other than 0 ends
 * media_make(), which returns this result. */
typedef AWAITS int (*media_chunk_fn)(void *arg, struct str chunk);
/* co: Makes a variant of a picture: passes its bytes to take(arg, chunk), then sets *ret to the
 * variant's facts. `strangers`: an anonymous client requests it, so it counts against the share of
 * the project's anonymous clients. */
AWAITS int media_make(struct task *task,
                      const struct media_file *file,
                      const struct media_variant *variant,
                      bool strangers,
                      media_chunk_fn take,
                      void *arg,
                      struct media_facts *ret) MUSTCHECK;

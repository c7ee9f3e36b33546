/*
 * Randomness straight from the kernel. Ids are unique but not secret, so their random bytes come
 * from a buffer: a system call for each request would be noticeable. A forked child starts with an
 * empty buffer.
 */
#include "base/rand.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/panic.h"

void rand_bytes(void *ret_buf, size_t bytes)
{
    char *at = ret_buf;

    while (bytes > 0) {
        ssize_t got = getrandom(at, bytes, 0);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            PANIC("getrandom: errno %d", errno);
        }
        at += got;
        bytes -= (size_t)got;
    }
}

uint64_t rand_u64(void)
{
    uint64_t value;
    rand_bytes(&value, sizeof(value));
    return value;
}

static __thread unsigned char pool[4096];
static __thread size_t pool_left;

static void id_pool_clear(void)
{
    pool_left = 0;
}

static void id_pool_watch_forks(void)
{
    MUST(pthread_atfork(NULL, NULL, id_pool_clear) == 0);
}

/* Takes random bytes from the buffer, for ids only. */
static void id_pool_take(void *ret_buf, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (pool_left < bytes) {
        MUST(pthread_once(&once, id_pool_watch_forks) == 0);
        rand_bytes(pool, sizeof(pool));
        pool_left = sizeof(pool);
    }
    pool_left -= bytes;
    memcpy(ret_buf, pool + pool_left, bytes);
}

void rand_ulid(char ret_text[27])
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint64_t ms = (uint64_t)clock_wall_ms();
    unsigned char noise[16];

    id_pool_take(noise, sizeof(noise));
    for (int i = 9; i >= 0; i--) {
        ret_text[i] = alphabet[ms & 31U];
        ms >>= 5U;
    }
    for (int i = 0; i < 16; i++)
        ret_text[10 + i] = alphabet[noise[i] & 31U];
    ret_text[26] = '\0';
}

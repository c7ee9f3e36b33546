/* Reads and writes whole messages. */
#include "media-sandbox/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void read_exactly(void *bytes, size_t count)
{
    char *at = bytes;

    while (count > 0) {
        ssize_t got = read(STDIN_FILENO, at, count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* the daemon has closed the connection */
            _exit(0);
        at += got;
        count -= (size_t)got;
    }
}

static void write_exactly(const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t done = write(STDOUT_FILENO, at, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            _exit(0);
        at += done;
        count -= (size_t)done;
    }
}

void peer_request(struct media_request *ret)
{
    read_exactly(ret, sizeof(*ret));
}

static int64_t peer_ask(void *arg, int64_t offset, uint8_t *into, size_t bytes)
{
    struct media_message message = {.says = MEDIA_SAYS_READ, .offset = offset};
    uint32_t got;

    (void)arg;
    message.bytes = bytes < MEDIA_PIECE_BYTES ? (uint32_t)bytes : MEDIA_PIECE_BYTES;
    write_exactly(&message, sizeof(message));
    read_exactly(&got, sizeof(got));
    if (got > message.bytes)
        _exit(1);
    read_exactly(into, got);
    return got;
}

void peer_source(struct media_source *ret, int64_t size)
{
    ret->size = size;
    ret->arg = NULL;
    ret->read = peer_ask;
    ret->window_at = 0;
    ret->window_bytes = 0;
}

uint8_t *peer_read_all(struct media_source *source)
{
    int64_t at = 0;

    if (source->size > MEDIA_INPUT_LIMIT)
        peer_fail(MEDIA_TOO_LARGE);
    uint8_t *all = peer_alloc((size_t)source->size, 1);
    while (at < source->size) {
        int64_t got = source->read(source->arg, at, all + at, (size_t)(source->size - at));
        if (got <= 0)
            peer_fail(MEDIA_BROKEN);
        at += got;
    }
    return all;
}

void peer_piece(const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        size_t some = count < MEDIA_PIECE_BYTES ? count : MEDIA_PIECE_BYTES;
        struct media_message message = {.says = MEDIA_SAYS_PIECE, .bytes = (uint32_t)some};

        write_exactly(&message, sizeof(message));
        write_exactly(at, some);
        at += some;
        count -= some;
    }
}

void peer_done(const struct media_facts *facts)
{
    struct media_message message = {.says = MEDIA_SAYS_DONE, .bytes = sizeof(*facts)};

    write_exactly(&message, sizeof(message));
    write_exactly(facts, sizeof(*facts));
    _exit(0);
}

void peer_fail(enum media_failure failure)
{
    struct media_message message = {.says = MEDIA_SAYS_FAIL, .bytes = failure};

    write_exactly(&message, sizeof(message));
    _exit(0);
}

void *peer_alloc(size_t count, size_t bytes)
{
    size_t all;
    void *memory = NULL;

    if (!__builtin_mul_overflow(count, bytes, &all))
        memory = malloc(all > 0 ? all : 1);
    if (!memory)
        peer_fail(MEDIA_TOO_LARGE);
    return memory;
}

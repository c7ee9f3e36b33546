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

void peer_read_request(struct media_request *ret)
{
    read_exactly(ret, sizeof(*ret));
}

static int64_t peer_read_at(void *arg, int64_t offset, uint8_t *into, size_t bytes)
{
    struct media_message message = {.kind = MEDIA_MESSAGE_READ, .offset = offset};
    uint32_t got;

    (void)arg;
    message.bytes = bytes < MEDIA_CHUNK_BYTES ? (uint32_t)bytes : MEDIA_CHUNK_BYTES;
    write_exactly(&message, sizeof(message));
    read_exactly(&got, sizeof(got));
    if (got > message.bytes)
        _exit(1);
    read_exactly(into, got);
    return got;
}

void peer_source_init(struct media_source *ret, int64_t size)
{
    ret->size = size;
    ret->arg = NULL;
    ret->read = peer_read_at;
    ret->window_at = 0;
    ret->window_bytes = 0;
}

uint8_t *peer_read_all(struct media_source *source)
{
    int64_t at = 0;

    if (source->size > MEDIA_INPUT_LIMIT)
        peer_send_failure(MEDIA_TOO_LARGE);
    uint8_t *all = peer_alloc((size_t)source->size, 1);
    while (at < source->size) {
        int64_t got = source->read(source->arg, at, all + at, (size_t)(source->size - at));
        if (got <= 0)
            peer_send_failure(MEDIA_MALFORMED);
        at += got;
    }
    return all;
}

void peer_send_chunk(const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        size_t some = count < MEDIA_CHUNK_BYTES ? count : MEDIA_CHUNK_BYTES;
        struct media_message message = {.kind = MEDIA_MESSAGE_CHUNK, .bytes = (uint32_t)some};

        write_exactly(&message, sizeof(message));
        write_exactly(at, some);
        at += some;
        count -= some;
    }
}

void peer_send_done(const struct media_facts *facts)
{
    struct media_message message = {.kind = MEDIA_MESSAGE_DONE, .bytes = sizeof(*facts)};

    write_exactly(&message, sizeof(message));
    write_exactly(facts, sizeof(*facts));
    _exit(0);
}

void peer_send_failure(enum media_failure failure)
{
    struct media_message message = {.kind = MEDIA_MESSAGE_FAIL, .bytes = failure};

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
        peer_send_failure(MEDIA_TOO_LARGE);
    return memory;
}

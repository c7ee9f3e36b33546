#pragma once
/* The connection to the daemon on fd 0 and 1: the daemon's request, the file's bytes, the answer.
 * Any failure ends this process, because it serves only one request. All functions block. */
#include <stddef.h>

#include "media/wire.h"

/* Reads the request. */
void peer_read_request(struct media_request *ret);
/* Initialises `ret` to read the file of `size` bytes through the connection. */
void peer_source_init(struct media_source *ret, int64_t size);
/* Returns the whole file in malloc'd memory. Fails with MEDIA_TOO_LARGE above MEDIA_INPUT_LIMIT,
 * with MEDIA_MALFORMED if the file ends early. */
uint8_t *peer_read_all(struct media_source *source);
/* Sends the next bytes of the variant, in messages of at most MEDIA_CHUNK_BYTES. */
void peer_send_chunk(const void *bytes, size_t count);
/* Send the end of the answer, peer_send_done() with facts and peer_send_failure() with a failure,
 * and exit. */
_Noreturn void peer_send_done(const struct media_facts *facts);
_Noreturn void peer_send_failure(enum media_failure failure);
/* Returns malloc'd memory for `count` items of `bytes` each; fails with MEDIA_TOO_LARGE. */
void *peer_alloc(size_t count, size_t bytes);

#pragma once
/* The daemon at the other end of fd 0 and 1: its request, the file's bytes, the answer. Whatever
 * goes wrong ends this process: it is one request's alone. */
#include <stddef.h>

#include "media/wire.h"

void peer_request(struct media_request *ret);
/* Looks at the file. */
void peer_source(struct media_source *ret, int64_t size);
/* All of it, malloc'd; fails above MEDIA_INPUT_LIMIT. */
uint8_t *peer_read_all(struct media_source *source);
void peer_piece(const void *bytes, size_t count);
_Noreturn void peer_done(const struct media_facts *facts);
_Noreturn void peer_fail(enum media_failure failure);
/* malloc(), or MEDIA_TOO_LARGE. */
void *peer_alloc(size_t count, size_t bytes);

#pragma once
/* Envelopes as bytes. Only wire.c uses protobuf-c. */
#include "bus/bus.h"

struct arena;

/* any: Returns the serialised envelope of a notification, arena-owned. */
struct str wire_pack(struct arena *arena,
                     enum bus_topic topic,
                     const struct bus_notification *notification,
                     int64_t now_ms);
/* any: Reads an envelope. The bytes are untrusted: any client with access to Redis may have written
 * them. Texts are copied into the arena. Unknown fields and bodies are ignored. Returns 0, or
 * WIRE_BAD (not an envelope, too long, no project). */
int wire_unpack(struct arena *arena, struct str bytes, struct bus_entry *ret_entry) MUSTCHECK;

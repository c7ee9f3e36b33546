#pragma once
/* Envelopes as bytes: the only place that knows protobuf-c. */
#include "bus/bus.h"

struct arena;

/* any: the serialised envelope of a notification, arena-owned. */
struct str wire_pack(struct arena *arena,
                     enum bus_topic topic,
                     const struct bus_notification *notification,
                     int64_t now_ms);
/* any: reads bytes that may come from anyone who can write to Redis; texts are copied into the
 * arena. Unknown fields and bodies are ignored. 0, or WIRE_BAD (not an envelope, too long, no
 * project). */
int wire_unpack(struct arena *arena, struct str bytes, struct bus_entry *ret_entry) MUSTCHECK;

#pragma once
/* The servers of a client, and the node that owns each slot. */
#include "redis/link_private.h"

void cluster_init(struct redis *redis);
void cluster_done(struct redis *redis);
/* any: adds a server that is not connected yet, and takes ownership of the address. NULL when there
 * are too many. */
struct node *cluster_add(struct redis *redis, struct address *address);
/* any: the node that a command is to be sent to; never NULL. */
struct node *cluster_route(struct redis *redis, size_t argc, const struct str *argv);
/* any: reads an error of the server at `from`. Returns the node to go to after "MOVED slot
 * host:port" and "ASK slot host:port" (*ret_asking), else NULL. After an error that shows that the
 * slots are outdated, the client learns them again. */
struct node *cluster_redirect(struct redis *redis,
                              const struct address *from,
                              struct str error,
                              bool *ret_asking);

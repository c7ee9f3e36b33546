#pragma once
/* The servers, and who owns which slot. */
#include "redis/link_private.h"

void cluster_init(struct redis *redis);
void cluster_done(struct redis *redis);
/* any: one more server, not connected yet; takes the address over. NULL when there are too many. */
struct node *cluster_add(struct redis *redis, struct address *address);
/* any: the node that a command goes to; never NULL. */
struct node *cluster_route(struct redis *redis, size_t argc, const struct str *argv);
/* any: understands "MOVED slot host:port" and "ASK slot host:port" from `from`: the node to go to,
 * NULL when the text is neither. What else it says about the cluster is noted as well. */
struct node *cluster_redirect(struct redis *redis,
                              const struct address *from,
                              struct str error,
                              bool *ret_asking);

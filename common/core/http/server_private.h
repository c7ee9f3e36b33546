#pragma once
/* Called by connections and exchanges for their server. */
#include "http/conn_private.h"

void server_accept_more(struct http_server *server);
/* A connection or an exchange has ended: reports a finished drain, frees a stopped server. */
void server_end_if_idle(struct http_server *server);
struct arena *server_arena_take(struct http_server *server);
void server_arena_give(struct http_server *server, struct arena *arena);

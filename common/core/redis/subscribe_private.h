#pragma once
/* Subscriptions that outlive a connection. */
struct redis;

void subscribe_init(struct redis *redis);
void subscribe_done(struct redis *redis);

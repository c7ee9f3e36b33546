#pragma once
/*
 * Whether two ways to say the same agree: of each list how many ids it has and the sum of what is
 * made of them, added from one side and taken by the other. Lists that are left over differ.
 */
#include <stddef.h>
#include <stdint.h>

struct tally;

/* Returns owned. */
struct tally *tally_new(void);
void tally_free(struct tally *tally);
void tally_add(struct tally *tally, int32_t term, int16_t field, int64_t id);
void tally_take(struct tally *tally, int32_t term, int16_t field, int64_t id);
/* The list differs whatever its sum is. */
void tally_spoil(struct tally *tally, int32_t term, int16_t field);

struct tally_list {
    int32_t term;
    int16_t field;
};
/* Up to `max` lists that differ, and how many there are. */
size_t tally_differ(const struct tally *tally, struct tally_list *lists, size_t max);

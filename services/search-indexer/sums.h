#pragma once
/*
 * Whether two ways to say the same agree: of each list how many ids it has and the sum of what is
 * made of them, added from one side and taken by the other. Lists that are left over differ.
 */
#include <stddef.h>
#include <stdint.h>

struct sums;

/* Returns owned. */
struct sums *sums_new(void);
void sums_free(struct sums *sums);
void sums_add(struct sums *sums, int32_t term, int16_t field, int64_t id);
void sums_take(struct sums *sums, int32_t term, int16_t field, int64_t id);
/* The list differs whatever its sum is. */
void sums_spoil(struct sums *sums, int32_t term, int16_t field);

struct sums_list {
    int32_t term;
    int16_t field;
};
/* Up to `max` lists that differ, and how many there are. */
size_t sums_differ(const struct sums *sums, struct sums_list *lists, size_t max);

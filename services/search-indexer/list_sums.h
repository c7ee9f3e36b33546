#pragma once
/* Finds out whether two sources hold the same posting lists, without storing the lists: the ids of
 * one source are added, the ids of the other source are subtracted. Of each list the number of ids
 * and the sum of their hashes are kept. A list whose number or sum is not 0 in the end differs. */
#include <stddef.h>
#include <stdint.h>

struct list_sums;

/* list_sums_new() returns owned; list_sums_free() frees it, also NULL. list_sums_add() and
 * list_sums_subtract() add and subtract an id of a list. */
struct list_sums *list_sums_new(void);
void list_sums_free(struct list_sums *sums);
void list_sums_add(struct list_sums *sums, int32_t term, int16_t field, int64_t id);
void list_sums_subtract(struct list_sums *sums, int32_t term, int16_t field, int64_t id);
/* Marks a list as different, independently of its sum. */
void list_sums_mark_different(struct list_sums *sums, int32_t term, int16_t field);

struct list_sums_key {
    int32_t term;
    int16_t field;
};
/* Stores up to `max` lists that differ, and returns how many differ. */
size_t list_sums_differences(const struct list_sums *sums, struct list_sums_key *lists, size_t max);

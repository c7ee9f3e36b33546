#pragma once
/* Tells whether two sources hold the same posting lists, without storing the lists: one side adds
 * its ids, the other one subtracts its own. Of each list the number of ids and the sum of their
 * hashes are kept. A list whose number or sum is not 0 in the end differs. */
#include <stddef.h>
#include <stdint.h>

struct tally;

/* tally_new() returns owned; tally_free() frees it, also NULL. tally_add() and tally_take() add and
 * subtract an id of a list. */
struct tally *tally_new(void);
void tally_free(struct tally *tally);
void tally_add(struct tally *tally, int32_t term, int16_t field, int64_t id);
void tally_take(struct tally *tally, int32_t term, int16_t field, int64_t id);
/* Marks a list as different, independently of its sum. */
void tally_spoil(struct tally *tally, int32_t term, int16_t field);

struct tally_list {
    int32_t term;
    int16_t field;
};
/* Stores up to `max` lists that differ, and returns how many differ. */
size_t tally_differ(const struct tally *tally, struct tally_list *lists, size_t max);

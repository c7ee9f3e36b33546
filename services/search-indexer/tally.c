/* Sums of lists in a hash table. */
#include "tally.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/panic.h"

enum { TALLY_FIRST = 4096 };

struct sum {
    int32_t term; /* 0 = free slot */
    int16_t field;
    bool spoilt;
    int32_t n;
    uint64_t total;
};

struct tally {
    struct sum *slots;
    size_t count, slot_count;
};

static struct sum *tally_slots(size_t count)
{
    struct sum *slots = calloc(count, sizeof(*slots));

    MUST(slots != NULL);
    return slots;
}

struct tally *tally_new(void)
{
    struct tally *tally = calloc(1, sizeof(*tally));

    MUST(tally != NULL);
    tally->slot_count = TALLY_FIRST;
    tally->slots = tally_slots(tally->slot_count);
    return tally;
}

void tally_free(struct tally *tally)
{
    if (tally == NULL)
        return;
    free(tally->slots);
    free(tally);
}

static uint64_t tally_mix(uint64_t value)
{
    value = (value ^ (value >> 31)) * UINT64_C(0x7fb5d329728ea185);
    value = (value ^ (value >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    return value ^ (value >> 33);
}

static struct sum *tally_slot(const struct tally *tally, int32_t term, int16_t field)
{
    size_t slot = tally_mix(((uint64_t)(uint32_t)term << 16) | (uint16_t)field);

    for (slot &= tally->slot_count - 1;; slot = (slot + 1) & (tally->slot_count - 1)) {
        struct sum *sum = &tally->slots[slot];
        if (sum->term == 0 || (sum->term == term && sum->field == field))
            return sum;
    }
}

static void tally_widen(struct tally *tally)
{
    struct sum *old = tally->slots;
    size_t count = tally->slot_count;

    tally->slot_count *= 2;
    tally->slots = tally_slots(tally->slot_count);
    for (size_t i = 0; i < count; i++)
        if (old[i].term != 0)
            *tally_slot(tally, old[i].term, old[i].field) = old[i];
    free(old);
}

static struct sum *tally_get(struct tally *tally, int32_t term, int16_t field)
{
    struct sum *sum = tally_slot(tally, term, field);

    if (sum->term != 0)
        return sum;
    if (tally->count * 2 >= tally->slot_count) {
        tally_widen(tally);
        sum = tally_slot(tally, term, field);
    }
    tally->count++;
    *sum = (struct sum){.term = term, .field = field};
    return sum;
}

void tally_add(struct tally *tally, int32_t term, int16_t field, int64_t id)
{
    struct sum *sum = tally_get(tally, term, field);

    sum->n++;
    sum->total += tally_mix((uint64_t)id);
}

void tally_take(struct tally *tally, int32_t term, int16_t field, int64_t id)
{
    struct sum *sum = tally_get(tally, term, field);

    sum->n--;
    sum->total -= tally_mix((uint64_t)id);
}

void tally_spoil(struct tally *tally, int32_t term, int16_t field)
{
    tally_get(tally, term, field)->spoilt = true;
}

size_t tally_differ(const struct tally *tally, struct tally_list *lists, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < tally->slot_count; i++) {
        const struct sum *sum = &tally->slots[i];
        if (sum->term == 0 || (sum->n == 0 && sum->total == 0 && !sum->spoilt))
            continue;
        if (count < max)
            lists[count] = (struct tally_list){sum->term, sum->field};
        count++;
    }
    return count;
}

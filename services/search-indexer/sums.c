/* Sums of lists, by hash. */
#include "sums.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/panic.h"

enum { SUMS_FIRST = 4096 };

struct sum {
    int32_t term; /* 0 = a free slot */
    int16_t field;
    bool spoilt;
    int32_t n;
    uint64_t total;
};

struct sums {
    struct sum *slots;
    size_t count, slot_count;
};

static struct sum *sums_slots(size_t count)
{
    struct sum *slots = calloc(count, sizeof(*slots));

    MUST(slots != NULL);
    return slots;
}

struct sums *sums_new(void)
{
    struct sums *sums = calloc(1, sizeof(*sums));

    MUST(sums != NULL);
    sums->slot_count = SUMS_FIRST;
    sums->slots = sums_slots(sums->slot_count);
    return sums;
}

void sums_free(struct sums *sums)
{
    if (sums == NULL)
        return;
    free(sums->slots);
    free(sums);
}

static uint64_t sums_mix(uint64_t value)
{
    value = (value ^ (value >> 31)) * UINT64_C(0x7fb5d329728ea185);
    value = (value ^ (value >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    return value ^ (value >> 33);
}

static struct sum *sums_slot(const struct sums *sums, int32_t term, int16_t field)
{
    size_t slot = sums_mix(((uint64_t)(uint32_t)term << 16) | (uint16_t)field);

    for (slot &= sums->slot_count - 1;; slot = (slot + 1) & (sums->slot_count - 1)) {
        struct sum *sum = &sums->slots[slot];
        if (sum->term == 0 || (sum->term == term && sum->field == field))
            return sum;
    }
}

static void sums_widen(struct sums *sums)
{
    struct sum *old = sums->slots;
    size_t count = sums->slot_count;

    sums->slot_count *= 2;
    sums->slots = sums_slots(sums->slot_count);
    for (size_t i = 0; i < count; i++)
        if (old[i].term != 0)
            *sums_slot(sums, old[i].term, old[i].field) = old[i];
    free(old);
}

static struct sum *sums_get(struct sums *sums, int32_t term, int16_t field)
{
    struct sum *sum = sums_slot(sums, term, field);

    if (sum->term != 0)
        return sum;
    if (sums->count * 2 >= sums->slot_count) {
        sums_widen(sums);
        sum = sums_slot(sums, term, field);
    }
    sums->count++;
    *sum = (struct sum){.term = term, .field = field};
    return sum;
}

void sums_add(struct sums *sums, int32_t term, int16_t field, int64_t id)
{
    struct sum *sum = sums_get(sums, term, field);

    sum->n++;
    sum->total += sums_mix((uint64_t)id);
}

void sums_take(struct sums *sums, int32_t term, int16_t field, int64_t id)
{
    struct sum *sum = sums_get(sums, term, field);

    sum->n--;
    sum->total -= sums_mix((uint64_t)id);
}

void sums_spoil(struct sums *sums, int32_t term, int16_t field)
{
    sums_get(sums, term, field)->spoilt = true;
}

size_t sums_differ(const struct sums *sums, struct sums_list *lists, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < sums->slot_count; i++) {
        const struct sum *sum = &sums->slots[i];
        if (sum->term == 0 || (sum->n == 0 && sum->total == 0 && !sum->spoilt))
            continue;
        if (count < max)
            lists[count] = (struct sums_list){sum->term, sum->field};
        count++;
    }
    return count;
}

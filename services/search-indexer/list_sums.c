/* Sums of lists in a hash table. */
#include "list_sums.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/panic.h"

enum { LIST_SUMS_FIRST = 4096 };

struct list_sum {
    int32_t term; /* 0 = free slot */
    int16_t field;
    bool is_different;
    int32_t n;
    uint64_t total;
};

struct list_sums {
    struct list_sum *slots;
    size_t count, slot_count;
};

static struct list_sum *list_sums_slots(size_t count)
{
    struct list_sum *slots = calloc(count, sizeof(*slots));

    MUST(slots != NULL);
    return slots;
}

struct list_sums *list_sums_new(void)
{
    struct list_sums *sums = calloc(1, sizeof(*sums));

    MUST(sums != NULL);
    sums->slot_count = LIST_SUMS_FIRST;
    sums->slots = list_sums_slots(sums->slot_count);
    return sums;
}

void list_sums_free(struct list_sums *sums)
{
    if (sums == NULL)
        return;
    free(sums->slots);
    free(sums);
}

static uint64_t list_sums_hash(uint64_t value)
{
    value = (value ^ (value >> 31)) * UINT64_C(0x7fb5d329728ea185);
    value = (value ^ (value >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    return value ^ (value >> 33);
}

static struct list_sum *list_sums_slot(const struct list_sums *sums, int32_t term, int16_t field)
{
    size_t slot = list_sums_hash(((uint64_t)(uint32_t)term << 16) | (uint16_t)field);

    for (slot &= sums->slot_count - 1;; slot = (slot + 1) & (sums->slot_count - 1)) {
        struct list_sum *sum = &sums->slots[slot];
        if (sum->term == 0 || (sum->term == term && sum->field == field))
            return sum;
    }
}

static void list_sums_widen(struct list_sums *sums)
{
    struct list_sum *old = sums->slots;
    size_t count = sums->slot_count;

    sums->slot_count *= 2;
    sums->slots = list_sums_slots(sums->slot_count);
    for (size_t i = 0; i < count; i++)
        if (old[i].term != 0)
            *list_sums_slot(sums, old[i].term, old[i].field) = old[i];
    free(old);
}

static struct list_sum *list_sums_get(struct list_sums *sums, int32_t term, int16_t field)
{
    struct list_sum *sum = list_sums_slot(sums, term, field);

    if (sum->term != 0)
        return sum;
    if (sums->count * 2 >= sums->slot_count) {
        list_sums_widen(sums);
        sum = list_sums_slot(sums, term, field);
    }
    sums->count++;
    *sum = (struct list_sum){.term = term, .field = field};
    return sum;
}

void list_sums_add(struct list_sums *sums, int32_t term, int16_t field, int64_t id)
{
    struct list_sum *sum = list_sums_get(sums, term, field);

    sum->n++;
    sum->total += list_sums_hash((uint64_t)id);
}

void list_sums_subtract(struct list_sums *sums, int32_t term, int16_t field, int64_t id)
{
    struct list_sum *sum = list_sums_get(sums, term, field);

    sum->n--;
    sum->total -= list_sums_hash((uint64_t)id);
}

void list_sums_mark_different(struct list_sums *sums, int32_t term, int16_t field)
{
    list_sums_get(sums, term, field)->is_different = true;
}

size_t list_sums_differences(const struct list_sums *sums, struct list_sums_key *lists, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < sums->slot_count; i++) {
        const struct list_sum *sum = &sums->slots[i];
        if (sum->term == 0 || (sum->n == 0 && sum->total == 0 && !sum->is_different))
            continue;
        if (count < max)
            lists[count] = (struct list_sums_key){sum->term, sum->field};
        count++;
    }
    return count;
}

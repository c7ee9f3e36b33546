/* Until conf_end.h, entries become elements of a struct conf_item[] for the struct CONF_OWNER.
 * Included many times, on purpose. */
#define CONF_STR(name, fallback, min, max, text)                                                   \
    CONF_ITEM(CONF_KIND_STR, name, fallback, NULL, min, max, text)
#define CONF_SECRET(name, fallback, min, max, text)                                                \
    CONF_ITEM(CONF_KIND_SECRET, name, fallback, NULL, min, max, text)
#define CONF_KEY(name, fallback, min, max, text)                                                   \
    CONF_ITEM(CONF_KIND_KEY, name, fallback, NULL, min, max, text)
#define CONF_LIST(name, fallback, min, max, text)                                                  \
    CONF_ITEM(CONF_KIND_LIST, name, fallback, NULL, min, max, text)
#define CONF_CHOICE(name, fallback, choices, text)                                                 \
    CONF_ITEM(CONF_KIND_CHOICE, name, fallback, choices, 0, 0, text)
#define CONF_BOOL(name, fallback, text) CONF_ITEM(CONF_KIND_BOOL, name, #fallback, NULL, 0, 0, text)
#define CONF_INT(name, fallback, min, max, text)                                                   \
    CONF_ITEM(CONF_KIND_INT, name, #fallback, NULL, min, max, text)
#define CONF_MS(name, fallback, min, max, text)                                                    \
    CONF_ITEM(CONF_KIND_MS, name, #fallback, NULL, min, max, text)
#define CONF_BYTES(name, fallback, min, max, text)                                                 \
    CONF_ITEM(CONF_KIND_BYTES, name, #fallback, NULL, min, max, text)
#define CONF_ITEM(item_kind, member, text_or_default, choice, least, most, meaning)                \
    {                                                                                              \
        .name = #member,                                                                           \
        .kind = (item_kind),                                                                       \
        .offset = offsetof(CONF_OWNER, member),                                                    \
        .fallback = (text_or_default),                                                             \
        .choices = (choice),                                                                       \
        .min = (least),                                                                            \
        .max = (most),                                                                             \
        .text = (meaning),                                                                         \
    },

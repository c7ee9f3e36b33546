/* Until conf_end.h, entries become members of a struct. Included many times, on purpose. */
#define CONF_STR(name, fallback, min, max, text)    struct str name;
#define CONF_SECRET(name, fallback, min, max, text) struct str name;
#define CONF_KEY(name, fallback, min, max, text)    struct str name;
#define CONF_LIST(name, fallback, min, max, text)   struct conf_list name;
#define CONF_CHOICE(name, fallback, choices, text)  struct str name;
#define CONF_BOOL(name, fallback, text)             bool name;
#define CONF_INT(name, fallback, min, max, text)    CONF_NUMBER(int, name, fallback, min, max)
#define CONF_MS(name, fallback, min, max, text)     CONF_NUMBER(int64_t, name, fallback, min, max)
#define CONF_BYTES(name, fallback, min, max, text)  CONF_NUMBER(size_t, name, fallback, min, max)
#define CONF_NUMBER(type, name, fallback, min, max)                                                \
    type name;                                                                                     \
    _Static_assert((min) >= 0 && (fallback) >= (min) && (fallback) <= (max),                       \
                   #name ": the default is out of bounds");

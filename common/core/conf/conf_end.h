/* Undefines the macros of conf_members.h or conf_table.h. Included many times, on purpose. */
#undef CONF_STR
#undef CONF_SECRET
#undef CONF_KEY
#undef CONF_LIST
#undef CONF_CHOICE
#undef CONF_BOOL
#undef CONF_INT
#undef CONF_MS
#undef CONF_BYTES
#undef CONF_NUMBER
#undef CONF_ITEM

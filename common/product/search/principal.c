#include "search/principal.h"

#include "base/num.h"

static bool is_principal(char kind)
{
    return kind == 'o' || kind == 'u' || kind == 'g' || kind == 'r';
}

struct str principal_print(char *buffer, char kind, int64_t id)
{
    buffer[0] = '@';
    buffer[1] = kind;
    return (struct str){buffer, 2 + num_print_i64(buffer + 2, id)};
}

bool principal_parse(struct str word, char *ret_kind, int64_t *ret_id)
{
    int64_t id;

    if (word.len < 3 || word.ptr[0] != '@' || !is_principal(word.ptr[1]) ||
        !num_parse_i64((struct str){word.ptr + 2, word.len - 2}, &id))
        return false;
    *ret_kind = word.ptr[1];
    *ret_id = id;
    return true;
}

/* Texts as cells of CSV. */
#include "records/transfer/cell.h"

#include "base/ascii.h"

bool cell_is_guarded(struct str text)
{
    size_t at = 0;

    while (at < text.len && text.ptr[at] == '\'')
        at++;
    return at < text.len && ascii_among(text.ptr[at], "=+-@\t\r\n");
}

struct str cell_unguarded(struct str cell)
{
    if (cell.len > 0 && cell.ptr[0] == '\'' && cell_is_guarded(cell))
        return (struct str){cell.ptr + 1, cell.len - 1};
    return cell;
}

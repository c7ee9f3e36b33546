/* X-Request-Id: the caller's when it is a sane token, so that traces join up; else a ULID. */
#include "app/request.h"
#include "base/ascii.h"
#include "base/rand.h"

#define REQUEST_ID_MAX 64

static bool is_sane(struct str id)
{
    return id.len >= 1 && id.len <= REQUEST_ID_MAX && ascii_only(id, ASCII_ALNUM, "-_.");
}

void request_id_set(struct req *r)
{
    struct str id = req_header(r, "x-request-id");

    if (!is_sane(id)) {
        char *text = arena_alloc(r->task.arena, 27);
        rand_ulid(text);
        id = (struct str){text, 26};
    }
    r->request_id = id;
    r->task.log.request_id = id;
}

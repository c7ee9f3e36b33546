/* The access line. */
#include <errno.h>

#include "app/request.h"

/* What nobody foresaw: what the handler ended with, or what it made a 500 of. */
static void failed_line(const struct req *r)
{
    int rc = r->failure != 0 ? r->failure : r->task.site.rc;

    log_error("request.failed", L_RESULT("error", rc), L_AT(&r->task.site, rc));
}

void access_line(struct req *r, const char *caller, int64_t spent_us)
{
    /* The coroutine has ended; its context still names the request. */
    log_context_set(&r->task.log);
    if (r->status == 500 ||
        (r->failure != 0 && r->failure != -ECANCELED && r->failure != -ETIMEDOUT))
        failed_line(r);
    log_info("access",
             L_CSTR("method", http_method_name(r->method)),
             L_I64("status", r->status),
             L_I64("us", spent_us),
             L_I64("db_us", r->task.db_us),
             L_I64("bytes_in", (int64_t)r->bytes_in),
             L_I64("bytes_out", (int64_t)r->bytes_out),
             L_CSTR("caller", caller),
             L_CSTR("code", r->error_code ? r->error_code : ""),
             L_CSTR("peer", r->peer));
    log_context_set(NULL);
}

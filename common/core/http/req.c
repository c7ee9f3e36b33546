/* Looking at a request. */
#include "http/req.h"

#include "base/panic.h"

struct str req_header(const struct req *req, const char *name)
{
    struct str wanted = str_from(name);
    for (size_t i = 0; i < req->header_count; i++)
        if (req->headers[i].name.len == wanted.len && str_ieq(req->headers[i].name, wanted))
            return req->headers[i].value;
    return STR_NONE;
}

struct str req_param(const struct req *req, const char *name)
{
    struct str wanted = str_from(name);
    for (size_t i = 0; i < req->param_count; i++)
        if (str_eq(req->param_names[i], wanted))
            return req->params[i];
    return STR_NONE;
}

const char *http_method_name(enum http_method method)
{
    static const char *const names[] = {
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "OTHER"};
    MUST((size_t)method < ARRAY_LEN(names));
    return names[method];
}

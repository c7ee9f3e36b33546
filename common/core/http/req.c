/* Accessors of a request. */
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

static const char *const method_names[] = {
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "OTHER"};

const char *http_method_name(enum http_method method)
{
    MUST((size_t)method < ARRAY_LEN(method_names));
    return method_names[method];
}

enum http_method http_method_find(struct str name)
{
    size_t method = 0;

    while (method < HTTP_OTHER_M && !str_is(name, method_names[method]))
        method++;
    return (enum http_method)method;
}

/*
 * Parses the head of a request. llhttp 8.1 checks the grammar. Built without its strict mode, it
 * accepts bare line feeds, spaces in names, folded lines and repeated framing fields. Each of these
 * has been used to smuggle a request past a proxy, so all of them are refused here.
 */
#include "http/parse_private.h"

#include <llhttp.h>

#include "base/ascii.h"
#include "http/server.h"

#define FAULT(name, status, code, detail)                                                          \
    static const struct http_fault fault_##name = {(status), (code), (detail)}

FAULT(byte, 400, PROBLEM_BAD_REQUEST, "The request head has a byte that is not allowed.");
FAULT(line_end, 400, PROBLEM_BAD_REQUEST, "Lines of the request head must end in CR LF.");
FAULT(fold, 400, PROBLEM_BAD_REQUEST, "Folded header lines are not supported.");
FAULT(request_line, 400, PROBLEM_BAD_REQUEST, "The request line is malformed.");
FAULT(header, 400, PROBLEM_BAD_REQUEST, "A header line is malformed.");
FAULT(target, 400, PROBLEM_BAD_REQUEST, "The request target is malformed.");
FAULT(host, 400, PROBLEM_BAD_REQUEST, "Exactly one valid Host header is required.");
FAULT(other_host,
      400,
      PROBLEM_BAD_REQUEST,
      "The request target and the Host header name different hosts.");
FAULT(length, 400, PROBLEM_BAD_REQUEST, "Content-Length must be one decimal number.");
FAULT(both, 400, PROBLEM_BAD_REQUEST, "Send either Content-Length or Transfer-Encoding, not both.");
FAULT(coding,
      400,
      PROBLEM_BAD_REQUEST,
      "Transfer-Encoding must be exactly \"chunked\", and needs HTTP/1.1.");
FAULT(other_coding, 501, PROBLEM_BAD_REQUEST, "The only supported transfer coding is \"chunked\".");
FAULT(method, 501, PROBLEM_BAD_REQUEST, "This method is not supported.");
FAULT(preface,
      400,
      PROBLEM_BAD_REQUEST,
      "HTTP/2 is not supported; send the request over HTTP/1.1.");
FAULT(version, 505, PROBLEM_BAD_REQUEST, "Only HTTP/1.0 and HTTP/1.1 are supported.");
FAULT(expect, 417, PROBLEM_EXPECTATION_FAILED, "The Expect header only supports \"100-continue\".");
FAULT(uri_long, 414, PROBLEM_URI_TOO_LONG, "The request target is too long.");
FAULT(head_large, 431, PROBLEM_HEADERS_TOO_LARGE, "The request head is too large.");
FAULT(header_many, 431, PROBLEM_HEADERS_TOO_LARGE, "The request has too many header lines.");

enum byte_class { BYTE_BAD, BYTE_HIGH, BYTE_TEXT, BYTE_TOKEN, BYTE_BLANK, BYTE_CR, BYTE_LF };

/* Characters of tokens (RFC 9110 section 5.6.2), other visible characters, blanks, and bytes from
 * 0x80 on, which only values may have. Other bytes have no agreed meaning in a head. */
static const uint8_t byte_classes[256] = {
    ['\t'] = BYTE_BLANK,
    [' '] = BYTE_BLANK,
    ['\r'] = BYTE_CR,
    ['\n'] = BYTE_LF,
    ['!'] = BYTE_TOKEN,
    ['"'] = BYTE_TEXT,
    ['#' ... '\''] = BYTE_TOKEN,
    ['(' ... ')'] = BYTE_TEXT,
    ['*' ... '+'] = BYTE_TOKEN,
    [','] = BYTE_TEXT,
    ['-' ... '.'] = BYTE_TOKEN,
    ['/'] = BYTE_TEXT,
    ['0' ... '9'] = BYTE_TOKEN,
    [':' ... '@'] = BYTE_TEXT,
    ['A' ... 'Z'] = BYTE_TOKEN,
    ['[' ... ']'] = BYTE_TEXT,
    ['^' ... 'z'] = BYTE_TOKEN,
    ['{'] = BYTE_TEXT,
    ['|'] = BYTE_TOKEN,
    ['}'] = BYTE_TEXT,
    ['~'] = BYTE_TOKEN,
    [0x80 ... 0xff] = BYTE_HIGH,
};

static enum byte_class http_class_of(char c)
{
    return (enum byte_class)byte_classes[(unsigned char)c];
}

static bool http_is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (http_class_of(text.ptr[i]) != BYTE_TOKEN)
            return false;
    return text.len > 0;
}

/* Room for "METHOD SP ... SP HTTP/1.1" around the longest accepted target. */
#define REQUEST_LINE_EXTRA 64U

static const struct http_fault *scan_size_fault(const struct head_scan *scan,
                                                const struct http_limits *limits)
{
    if (scan->lines == 0 && scan->line_bytes > limits->target_bytes + REQUEST_LINE_EXTRA)
        return &fault_uri_long;
    if (scan->bytes > limits->header_bytes)
        return scan->lines == 0 ? &fault_uri_long : &fault_head_large;
    return NULL;
}

/* Handles the end of a line. */
static int scan_line(struct head_scan *scan,
                     const struct http_limits *limits,
                     const struct http_fault **ret_fault)
{
    scan->after_cr = false;
    scan->in_value = false;
    if (scan->line_bytes == 0) {
        if (scan->lines > 0)
            return HEAD_COMPLETE;
        if (scan->lead_crlf) {
            *ret_fault = &fault_request_line;
            return HEAD_BAD;
        }
        scan->lead_crlf = true;
        return HEAD_MORE;
    }
    scan->lines++;
    scan->line_bytes = 0;
    if (scan->lines > limits->header_count + 1) {
        *ret_fault = &fault_header_many;
        return HEAD_BAD;
    }
    return HEAD_MORE;
}

static int scan_byte(struct head_scan *scan,
                     const struct http_limits *limits,
                     char c,
                     const struct http_fault **ret_fault)
{
    enum byte_class class = http_class_of(c);

    scan->bytes++;
    if (class == BYTE_BAD || (class == BYTE_HIGH && !scan->in_value)) {
        *ret_fault = &fault_byte;
    } else if (scan->after_cr != (class == BYTE_LF)) {
        *ret_fault = &fault_line_end;
    } else if (class == BYTE_LF) {
        return scan_line(scan, limits, ret_fault);
    } else if (class == BYTE_CR) {
        scan->after_cr = true;
        return HEAD_MORE;
    } else if (class == BYTE_BLANK && scan->line_bytes == 0) {
        *ret_fault = scan->lines > 0 ? &fault_fold : &fault_request_line;
    } else if (c == '\t' && scan->lines == 0) {
        *ret_fault = &fault_request_line;
    } else {
        scan->line_bytes++;
        scan->in_value = scan->in_value || (c == ':' && scan->lines > 0);
        *ret_fault = scan_size_fault(scan, limits);
        if (!*ret_fault)
            return HEAD_MORE;
    }
    return HEAD_BAD;
}

int head_scan(struct head_scan *scan,
              const struct http_limits *limits,
              const char *data,
              size_t len,
              size_t *ret_used,
              const struct http_fault **ret_fault)
{
    for (size_t i = 0; i < len; i++) {
        int rc = scan_byte(scan, limits, data[i], ret_fault);
        if (rc != HEAD_MORE) {
            *ret_used = i + 1;
            return rc;
        }
    }
    *ret_used = len;
    return HEAD_MORE;
}

/* --- the request line --- */

static const struct {
    struct str name;
    enum http_method method;
} methods[] = {
    {STR_INIT("GET"), HTTP_GET_M},
    {STR_INIT("HEAD"), HTTP_HEAD_M},
    {STR_INIT("POST"), HTTP_POST_M},
    {STR_INIT("PUT"), HTTP_PUT_M},
    {STR_INIT("PATCH"), HTTP_PATCH_M},
    {STR_INIT("DELETE"), HTTP_DELETE_M},
    {STR_INIT("OPTIONS"), HTTP_OPTIONS_M},
};

static const struct http_fault *parse_method(struct str name, struct head *head)
{
    head->method = HTTP_OTHER_M;
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_eq(name, methods[i].name)) {
            head->method = methods[i].method;
            return NULL;
        }
    if (!http_is_token(name))
        return &fault_request_line;
    return str_eq(name, STR("PRI")) ? &fault_preface : &fault_method;
}

static const struct http_fault *parse_version(struct str version, struct head *head)
{
    if (str_eq(version, STR("HTTP/1.1"))) {
        head->http10 = false;
        return NULL;
    }
    if (str_eq(version, STR("HTTP/1.0"))) {
        head->http10 = true;
        return NULL;
    }
    if (version.len == 8 && str_starts(version, STR("HTTP/")) && version.ptr[6] == '.' &&
        ascii_is(version.ptr[5], ASCII_DIGIT) && ascii_is(version.ptr[7], ASCII_DIGIT))
        return &fault_version;
    return &fault_request_line;
}

static const struct http_fault *
parse_request_line(struct str line, const struct http_limits *limits, struct head *head)
{
    struct str rest = line;
    struct str method = str_split(&rest, ' ');
    struct str target = str_split(&rest, ' ');
    const struct http_fault *fault;

    if (!rest.ptr || target.len == 0)
        return &fault_request_line;
    fault = parse_method(method, head);
    if (fault)
        return fault;
    fault = parse_version(rest, head);
    if (fault)
        return fault;
    if (target.len > limits->target_bytes)
        return &fault_uri_long;
    if (memchr(target.ptr, '#', target.len))
        return &fault_target;
    head->target = target;
    return NULL;
}

/* --- header fields --- */

/* The header fields that decide about framing and the connection. */
struct fields {
    struct str host;
    unsigned hosts, lengths, codings;
    struct str length, coding;
    bool close, keep_alive;
};

/* Framing fields are read strictly: at most one blank before the value, nothing after it. */
static bool is_bare(const struct http_header *header)
{
    const char *colon = header->name.ptr + header->name.len;
    return header->value.ptr - colon <= 2 && header->value.ptr[header->value.len] == '\r';
}

static void read_connection(struct str list, struct fields *fields)
{
    while (list.ptr) {
        struct str option = str_trim(str_split(&list, ','));
        if (str_ieq(option, STR("close")))
            fields->close = true;
        else if (str_ieq(option, STR("keep-alive")))
            fields->keep_alive = true;
    }
}

static const struct http_fault *
http_read_field(const struct http_header *header, struct fields *fields, struct head *head)
{
    switch (header->name.len) {
    case 4:
        if (str_ieq(header->name, STR("host"))) {
            fields->hosts++;
            fields->host = header->value;
        }
        break;
    case 6:
        if (str_ieq(header->name, STR("expect")) && !head->http10) {
            if (!str_ieq(header->value, STR("100-continue")))
                return &fault_expect;
            head->expects_continue = true;
        }
        break;
    case 10:
        if (str_ieq(header->name, STR("connection")))
            read_connection(header->value, fields);
        break;
    case 14:
        if (str_ieq(header->name, STR("content-length"))) {
            fields->lengths++;
            fields->length = header->value;
            if (!is_bare(header))
                return &fault_length;
        }
        break;
    case 17:
        if (str_ieq(header->name, STR("transfer-encoding"))) {
            fields->codings++;
            fields->coding = header->value;
            if (!is_bare(header))
                return &fault_coding;
        }
        break;
    default:
        break;
    }
    return NULL;
}

static bool parse_length(struct str text, int64_t *ret_length)
{
    int64_t length = 0;
    if (text.len == 0 || text.len > 18)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        length = length * 10 + (text.ptr[i] - '0');
    }
    *ret_length = length;
    return true;
}

/* Decides how the body is framed (RFC 9112 sections 6.1 and 6.3). */
static const struct http_fault *framing_check(const struct fields *fields, struct head *head)
{
    head->content_length = -1;
    head->chunked = false;
    if (fields->codings > 0 && fields->lengths > 0)
        return &fault_both;
    if (fields->codings > 0) {
        if (head->http10 || fields->codings > 1)
            return &fault_coding;
        if (!str_ieq(fields->coding, STR("chunked")))
            return http_is_token(fields->coding) && !str_ieq(fields->coding, STR("identity"))
                       ? &fault_other_coding
                       : &fault_coding;
        head->chunked = true;
    }
    if (fields->lengths > 1)
        return &fault_length;
    if (fields->lengths == 1 && !parse_length(fields->length, &head->content_length))
        return &fault_length;
    return NULL;
}

/* Returns the length of the uri-host at the start of `host`, 0 without one. A comma is legal in a
 * name but only ever means two hosts, so it ends the name. In brackets (RFC 3986 section 3.2.2)
 * only IPv6 addresses were ever defined. */
static size_t host_name_len(struct str host)
{
    size_t i = 0;

    if (host.len > 0 && host.ptr[0] == '[') {
        for (i = 1; i < host.len && ascii_is_in(host.ptr[i], "0123456789abcdefABCDEF:.");)
            i++;
        return i >= 3 && i < host.len && host.ptr[i] == ']' ? i + 1 : 0;
    }
    while (i < host.len && http_class_of(host.ptr[i]) == BYTE_TOKEN &&
           !ascii_is_in(host.ptr[i], "#^`|"))
        i++;
    return i;
}

/* Checks for uri-host [":" port] (RFC 9110 section 7.2). */
static bool http_host_ok(struct str host)
{
    size_t i = host_name_len(host);

    if (i == 0 || i == host.len)
        return i > 0;
    if (host.ptr[i] != ':' || host.len - i > 6)
        return false;
    for (i++; i < host.len; i++)
        if (host.ptr[i] < '0' || host.ptr[i] > '9')
            return false;
    return true;
}

/* Splits a target in origin, absolute or asterisk form (RFC 9112 section 3.2) into path and
 * query. */
static const struct http_fault *target_split(struct str host, struct head *head)
{
    struct str target = head->target;
    const char *question;

    if (str_eq(target, STR("*"))) {
        if (head->method != HTTP_OPTIONS_M)
            return &fault_target;
    } else if (target.ptr[0] != '/') {
        size_t scheme = 7;
        size_t authority;
        if (target.len > 8 && str_ieq((struct str){target.ptr, 8}, STR("https://")))
            scheme = 8;
        else if (target.len <= 7 || !str_ieq((struct str){target.ptr, 7}, STR("http://")))
            return &fault_target;
        target = (struct str){target.ptr + scheme, target.len - scheme};
        for (authority = 0; authority < target.len; authority++)
            if (target.ptr[authority] == '/' || target.ptr[authority] == '?')
                break;
        if (!str_ieq((struct str){target.ptr, authority}, host))
            return &fault_other_host;
        target = (struct str){target.ptr + authority, target.len - authority};
        if (target.len == 0)
            target = STR("/");
        else if (target.ptr[0] == '?')
            return &fault_target;
    }
    head->target = target;
    question = memchr(target.ptr, '?', target.len);
    head->path = question ? (struct str){target.ptr, (size_t)(question - target.ptr)} : target;
    head->query = question ? (struct str){question + 1, target.len - head->path.len - 1} : STR("");
    return NULL;
}

/* --- llhttp --- */

struct grammar {
    struct head *head;
    size_t room;
    struct str url;
    bool complete;
};

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct grammar *grammar = parser->data;
    grammar->url = (struct str){at, len};
    return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
    struct grammar *grammar = parser->data;
    struct head *head = grammar->head;
    if (head->header_count == grammar->room)
        return HPE_USER;
    /* llhttp does not report an empty value: assume an empty value after the colon. */
    head->headers[head->header_count++] =
        (struct http_header){.name = {at, len}, .value = {at + len + 1, 0}};
    return 0;
}

/* Bytes above 0x7F are opaque (RFC 9110 section 5.5), and no value that we compare has any. A
 * question mark instead of each prevents matches, and keeps the raw bytes from being passed on. */
static struct str high_bytes_mask(struct str value)
{
    char *text = (char *)value.ptr; /* points into the head's own buffer */

    for (size_t i = 0; i < value.len; i++) {
        if (http_class_of(text[i]) == BYTE_HIGH)
            text[i] = '?';
    }
    return value;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    struct grammar *grammar = parser->data;
    if (grammar->head->header_count == 0)
        return HPE_USER;
    grammar->head->headers[grammar->head->header_count - 1].value =
        high_bytes_mask(str_trim((struct str){at, len}));
    return 0;
}

static int on_complete(llhttp_t *parser)
{
    struct grammar *grammar = parser->data;
    grammar->complete = true;
    return HPE_PAUSED; /* bodies are read by body_decode() */
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_complete,
};

/* The head is complete and contiguous, so the parser is needed for this call only and never splits
 * spans. */
static const struct http_fault *
parse_grammar(struct arena *arena, struct str text, size_t header_lines, struct head *head)
{
    struct grammar grammar = {.head = head, .room = header_lines};
    llhttp_t parser;

    head->headers = ARENA_ARRAY(arena, head->headers, header_lines + 1);
    head->header_count = 0;
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = &grammar;
    if (llhttp_execute(&parser, text.ptr, text.len) != HPE_PAUSED || !grammar.complete)
        return &fault_header;
    if (head->header_count != header_lines || !str_eq(grammar.url, head->target))
        return &fault_header;
    for (size_t i = 0; i < head->header_count; i++)
        if (!http_is_token(head->headers[i].name))
            return &fault_header;
    return NULL;
}

static const struct http_fault *http_parse_text(struct arena *arena,
                                                struct str text,
                                                size_t header_lines,
                                                const struct http_limits *limits,
                                                struct head *head)
{
    const char *line_end = memchr(text.ptr, '\r', text.len);
    struct fields fields = {0};
    const struct http_fault *fault;

    fault = parse_request_line((struct str){text.ptr, (size_t)(line_end - text.ptr)}, limits, head);
    if (fault)
        return fault;
    fault = parse_grammar(arena, text, header_lines, head);
    if (fault)
        return fault;
    for (size_t i = 0; i < head->header_count; i++) {
        fault = http_read_field(&head->headers[i], &fields, head);
        if (fault)
            return fault;
    }
    fault = framing_check(&fields, head);
    if (fault)
        return fault;
    if (fields.hosts > 1 || (fields.hosts == 0 && !head->http10) ||
        (fields.hosts == 1 && !http_host_ok(fields.host)))
        return &fault_host;
    head->keep_alive = !fields.close && (!head->http10 || fields.keep_alive);
    return target_split(fields.host, head);
}

int head_parse(struct arena *arena,
               struct str text,
               const struct head_scan *scan,
               const struct http_limits *limits,
               struct head *ret_head,
               const struct http_fault **ret_fault)
{
    if (scan->lead_crlf)
        text = (struct str){text.ptr + 2, text.len - 2};
    *ret_head = (struct head){.method = HTTP_OTHER_M, .content_length = -1};
    *ret_fault = http_parse_text(arena, text, scan->lines - 1, limits, ret_head);
    return *ret_fault ? HEAD_BAD : 0;
}

"""H10: requests that two parsers may split differently, one or more for each class of fault that differential
testing of servers and proxies has found (the HTTP Garden, RFC 9112 section 11.2).

Each payload is the bytes of one client. The payload contains INNER, a whole request that is visible only to a parser
that splits the bytes differently from the gateway. The required outcomes are:

  HEAD   refused by its head: one answer of 4xx or 5xx, then the connection ends
  BODY   the head is sound, its body is not: at most one answer, then the connection ends
  ONE    one sound request, whose body INNER is (or nothing follows)
  TWO    two sound requests, the second is INNER
"""
import collections

HEAD, BODY, ONE, TWO = "head", "body", "one", "two"
Case = collections.namedtuple("Case", "name verdict payload")

HOST = b"Host: h\r\nX-Request-Id: OUTER\r\n"
POST = b"POST PATH HTTP/1.1\r\n" + HOST
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
INNER = b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Request-Id: INNER\r\n\r\n"
# Placeholders with the length of the ids, so that lengths are known before the ids are filled in.
OUTER_ID, INNER_ID = b"OUTER", b"INNER"


def ids(number):
    """The ids of one transmission, with the length of their placeholders."""
    return f"o{number:04d}".encode(), f"i{number:04d}".encode()


def fill(case, path, number):
    """The bytes to send, and the ids of the outer and the inner request."""
    outer, inner = ids(number)
    data = case.payload.replace(OUTER_ID, outer).replace(INNER_ID, inner).replace(b"PATH", path.encode())
    return data, outer.decode(), inner.decode()


def sized(head, body=INNER, value=b"%d"):
    """A request whose Content-Length is written as `value` (%d is the true length)."""
    return head + b"Content-Length: " + value.replace(b"%d", b"%d" % len(body)) + b"\r\n\r\n" + body


def chunk(data):
    return b"%x\r\n" % len(data) + data + b"\r\n"


LAST = b"0\r\n\r\n"
HEX = b"%x" % len(INNER)

_lengths = [
    ("plus", b"+%d"), ("minus", b"-%d"), ("minus_zero", b"-0"), ("plus_zero", b"+0"), ("hexadecimal", b"0x%d"),
    ("underscore", b"%d_0"), ("underscore_inside", b"0_%d"), ("prefix", b"%dZ"), ("decimal", b"%d.0"),
    ("exponent", b"1e2"), ("list", b"%d, %d"), ("list_differs", b"0, %d"), ("list_of_nothing", b","),
    ("trailing_comma", b"%d,"), ("empty", b""), ("blank", b" "), ("blank_after", b"%d "), ("tab_after", b"%d\t"),
    ("inner_blank", b"%d 0"), ("vertical_tab", b"\x0b%d"), ("form_feed", b"%d\x0c"), ("nul", b"%d\x00"),
    ("nul_first", b"\x00%d"), ("next_line", b"\x85%d"), ("no_break_space", b"%d\xa0"),
    ("wide_digit", b"\xef\xbc\x91"),
    ("quoted", b'"%d"'), ("semicolon", b"%d;a"), ("huge", b"18446744073709551616"),
    ("huge_wraps", b"1844674407370955161%d"), ("signed_huge", b"9223372036854775808"), ("cr", b"%d\r"),
]
_two_lengths = [
    ("same", b"%d", b"%d"), ("differs", b"0", b"%d"), ("differs_the_other_way", b"%d", b"0"),
    ("empty_first", b"", b"%d"), ("empty_second", b"%d", b""),
]
_codings = [
    ("twice_in_list", b"chunked, chunked"), ("comma_first", b",chunked"), ("comma_last", b"chunked,"),
    ("then_identity", b"chunked, identity"), ("identity_first", b"identity, chunked"),
    ("gzip_first", b"gzip, chunked"),
    ("identity", b"identity"), ("unknown", b"xchunked"), ("unknown_word", b"blegh"), ("quoted", b'"chunked"'),
    ("parameter", b"chunked;a=b"), ("semicolon", b"chunked;"), ("empty", b""), ("vertical_tab", b"\x0bchunked"),
    ("form_feed", b"chunked\x0c"), ("nul", b"chunked\x00"), ("nul_first", b"\x00chunked"),
    ("next_line", b"\x85chunked"),
    ("no_break_space", b"\xa0chunked\xa0"), ("high", b"\xffchunked\xff"), ("cr_first", b"\rchunked"),
    ("cr_last", b"chunked\r"), ("two_words", b"chunked chunked"), ("prefix", b"chunke"),
    ("long_s", b"chun\xe2\x84\xaaed"),
    ("folded", b"\r\n chunked"), ("folded_by_tab", b"chunked\r\n\t"), ("lf_folded", b"\n chunked"),
]
# Size lines of a chunk whose data starts with INNER; another parser may take the remaining bytes for a request.
_sizes = [
    ("hexadecimal", b"0x" + HEX), ("upper_x", b"0X" + HEX), ("plus", b"+" + HEX), ("minus", b"-" + HEX),
    ("minus_hexadecimal_zero", b"-0x0"), ("underscore", b"0_" + HEX), ("prefix", HEX + b"these-bytes"),
    ("word", b"Z"),
    ("blank_first", b" " + HEX), ("many_blanks_first", b"           " + HEX), ("blank_after", HEX + b" "),
    ("tab_after", HEX + b"\t"), ("bad_blank", HEX + b" ;a"), ("empty", b""), ("only_extension", b";a"),
    ("extension_empty", HEX + b";"), ("extension_no_value", HEX + b";a="), ("extension_unbalanced", HEX + b';a="b'),
    ("extension_after_quote", HEX + b';a="b"c'), ("extension_two_words", HEX + b";a b"),
    ("extension_nul", HEX + b";a\x00"),
    ("extension_lf", HEX + b";a\nb"), ("extension_cr", HEX + b"\r;a"), ("extension_cr_inside", HEX + b";a=b\r\rX"),
    ("extension_high", HEX + b";\xff"), ("seventeen_digits", HEX.rjust(17, b"0")), ("huge", b"f" * 16),
    ("wraps_64", b"1" + HEX.rjust(16, b"0")), ("wraps_32", b"1" + HEX.rjust(8, b"0")),
    ("wide_digit", b"\xef\xbc\x91"),
    ("next_line", HEX + b"\x85"), ("decimal_point", HEX + b".0"), ("quoted", b'"' + HEX + b'"'),
    ("comma", HEX + b",0"),
    ("nul", HEX + b"\x00"), ("vertical_tab", b"\x0b" + HEX), ("negative_wraps", b"-" + b"f" * 16),
]
_trailers = [
    ("no_colon", b"bad"), ("empty_name", b": v"), ("blank_before_colon", b"T : v"), ("folded", b" T: v"),
    ("lf", b"T: v\n"), ("nul", b"T: \x00"), ("cr", b"T: a\rb"), ("high_name", b"T\xff: v"),
]
# A malformed line of a head, between valid ones.
_lines = [
    ("blank_before_colon", b"Content-Length : 5"), ("tab_before_colon", b"Content-Length\t: 5"),
    ("blank_first", b" Content-Length: 5"), ("no_colon", b"Content-Length 5"), ("empty_name", b": 5"),
    ("empty_name_and_value", b":"), ("name_over_two_lines", b"Transfer-\r\nEncoding: chunked"),
    ("folded", b"X: a\r\n Content-Length: 5"), ("folded_by_tab", b"X: a\r\n\tb"),
    ("folded_empty", b"X: a\r\n \r\nY: b"),
    ("nul_in_value", b"X: a\x00b"), ("nul_at_end", b"X: a\x00"), ("nul_in_name", b"X\x00: a"),
    ("nul_before_length", b"\x00Content-Length: 5"), ("cr_in_value", b"X: this\rvalue"),
    ("cr_then_field", b"X: a\rContent-Length: 5"),
    ("cr_at_end", b"X: a\r"), ("cr_nul", b"X: v\x00\ralue"), ("lf_then_field", b"X: a\nContent-Length: 5"),
    ("lf_lf", b"X:\n\nY: b"), ("cr_first", b"\rX: a"), ("next_line_in_name", b"Content-Length\x85: 5"),
    ("no_break_space_in_name", b"Content-Length\xa0: 5"), ("high_in_name", b"X\xef: a"),
    ("delimiters_in_name", b'X"(),/;<=>?@[/]{}: a'), ("controls_in_name", b"X\x01\x02\x0b\x0c: a"),
    ("delete_in_value", b"X: \x7f"),
    ("escape_in_value", b"X: \x1b[0m"), ("second_host", b"Host: other"), ("same_host_twice", b"Host: h"),
    ("unicode_colon", b"X\xef\xbc\x9a a"),
]
_request_lines = [
    ("http_0_9", b"GET /healthz"), ("http_0_9_version", b"GET /healthz HTTP/0.9"),
    ("version_2", b"GET /healthz HTTP/2.0"),
    ("version_1_2", b"GET /healthz HTTP/1.2"), ("version_1_10", b"GET /healthz HTTP/1.10"),
    ("version_1_32", b"GET /healthz HTTP/1.32"),
    ("version_01_1", b"GET /healthz HTTP/01.1"), ("version_huge", b"GET /healthz HTTP/4294967297.257"),
    ("version_cr", b"GET /healthz HTTP/\r\r1.1"),
    ("version_none", b"GET /healthz HTTP/"), ("version_lower", b"GET /healthz http/1.1"),
    ("version_comma", b"GET /healthz HTTP/1,1"),
    ("version_blank", b"GET /healthz HTTP/1.1 "), ("version_twice", b"GET /healthz HTTP/1.1 HTTP/1.1"),
    ("other_protocol", b"GET /healthz ICE/1.0"),
    ("method_delimiters", b'G=":<>(e),[T];?" /healthz HTTP/1.1'), ("method_nul", b"\x00 /healthz HTTP/1.1"),
    ("method_lower", b"get /healthz HTTP/1.1"),
    ("method_long", b"G" * 5000 + b" /healthz HTTP/1.1"), ("method_none", b"/healthz HTTP/1.1"),
    ("method_connect", b"CONNECT h:80 HTTP/1.1"),
    ("method_trace", b"TRACE /healthz HTTP/1.1"), ("method_colon", b"GET: /healthz HTTP/1.1"),
    ("lf_before_version", b"GET /healthz\nHTTP/1.1"), ("lf_after_method", b"GET\n/healthz HTTP/1.1"),
    ("tab", b"GET\t/healthz\tHTTP/1.1"),
    ("vertical_tab", b"GET\x0b/healthz HTTP/1.1"), ("two_blanks", b"GET  /healthz HTTP/1.1"),
    ("blank_first", b" GET /healthz HTTP/1.1"),
    ("target_mark", b"GET ! HTTP/1.1"), ("target_star", b"GET * HTTP/1.1"),
    ("target_relative", b"GET healthz HTTP/1.1"),
    ("target_blank", b"GET /health z HTTP/1.1"), ("target_nul", b"GET /healthz\x00 HTTP/1.1"),
    ("target_high", b"GET /\xff HTTP/1.1"),
    ("target_fragment", b"GET /healthz#a HTTP/1.1"), ("target_cr", b"GET /healthz\r HTTP/1.1"),
    ("target_empty", b"GET  HTTP/1.1"),
    ("absolute_other_host", b"GET http://other/healthz HTTP/1.1"),
    ("absolute_user", b"GET http://u@h/healthz HTTP/1.1"),
    ("absolute_other_scheme", b"GET ftp://h/healthz HTTP/1.1"),
    ("absolute_no_host", b"GET http:///healthz HTTP/1.1"),
    ("absolute_port", b"GET http://h:1/healthz HTTP/1.1"), ("authority", b"GET h:80 HTTP/1.1"),
    ("response", b"HTTP/1.1 200 OK"), ("nothing", b"\r\n\r"),
]
_hosts = [
    ("none", b""), ("empty", b"Host:\r\n"), ("path", b"Host: h/x\r\n"), ("user", b"Host: u@h\r\n"),
    ("list", b"Host: h, other\r\n"),
    ("nul", b"Host: h\x00.other\r\n"), ("high", b"Host: \xffh\xff\r\n"), ("blank_inside", b"Host: h other\r\n"),
    ("port_word", b"Host: h:x\r\n"),
    ("folded", b"Host:\r\n h\r\n"), ("blank_before_colon", b"Host : h\r\n"), ("cr", b"Host: h\rother\r\n"),
]


def _cases():
    for name, value in _lengths:
        yield f"length_{name}", HEAD, sized(POST, value=value)
    for name, first, second in _two_lengths:
        size = b"%d" % len(INNER)
        lines = b"".join(b"Content-Length: " + value.replace(b"%d", size) + b"\r\n" for value in (first, second))
        yield f"length_twice_{name}", HEAD, POST + lines + b"\r\n" + INNER
    yield "length_leading_zero", ONE, sized(POST, value=b"0%d")
    yield "length_of_get", ONE, sized(GET)
    yield "length_zero", TWO, POST + b"Content-Length: 0\r\n\r\n" + INNER
    yield "length_lower_case", ONE, POST + b"content-length:%d\r\n\r\n" % len(INNER) + INNER

    for name, value in _codings:
        yield f"coding_{name}", HEAD, POST + b"Transfer-Encoding: " + value + b"\r\n\r\n" + LAST + INNER
        yield f"coding_{name}_and_length", HEAD, sized(POST + b"Transfer-Encoding: " + value + b"\r\n", LAST + INNER)
    both = b"Transfer-Encoding: chunked\r\n"
    yield "coding_and_length", HEAD, sized(POST + both, LAST + INNER)
    yield "length_and_coding", HEAD, POST + b"Content-Length: 5\r\n" + both + b"\r\n" + LAST + INNER
    yield "coding_and_bad_length", HEAD, POST + b"Content-Length: bla\r\n" + both + b"\r\n" + LAST + INNER
    yield "coding_twice", HEAD, POST + both + both + b"\r\n" + LAST + INNER
    yield "coding_twice_differs", HEAD, POST + both + b"Transfer-Encoding: identity\r\n\r\n" + LAST + INNER
    yield "coding_of_1_0", HEAD, POST.replace(b"HTTP/1.1", b"HTTP/1.0") + both + b"\r\n" + LAST + INNER
    yield "coding_upper_case", TWO, POST + b"TRANSFER-ENCODING: CHUNKED\r\n\r\n" + LAST + INNER
    yield "coding_of_get", TWO, GET + both + b"\r\n" + LAST + INNER

    for name, size in _sizes:
        yield f"size_{name}", BODY, CHUNKED + size + b"\r\n" + INNER + b"\r\n" + LAST
        yield f"size_{name}_ends", BODY, CHUNKED + size + b"\r\n\r\n" + INNER
    body = chunk(b"body")
    yield "chunk_lf", BODY, CHUNKED + HEX + b"\n" + INNER + b"\r\n" + LAST
    yield "chunk_cr", BODY, CHUNKED + HEX + b"\r" + INNER + b"\r\n" + LAST
    yield "chunk_cr_x", BODY, CHUNKED + HEX + b"\rX" + INNER + b"\r\n" + LAST
    yield "chunk_end_lf", BODY, CHUNKED + b"4\r\nbody\n" + LAST + INNER
    yield "chunk_end_none", BODY, CHUNKED + b"4\r\nbody" + LAST + INNER
    yield "chunk_end_xx", BODY, CHUNKED + b"4\r\nbodyXX" + LAST + INNER
    yield "chunk_end_cr_x", BODY, CHUNKED + b"4\r\nbody\rX" + LAST + INNER
    yield "chunk_too_long", BODY, CHUNKED + b"4\r\nbodybody\r\n" + LAST + INNER
    yield "chunk_extra_line", BODY, CHUNKED + b"%x\r\n" % (len(LAST) + len(INNER)) + LAST + INNER + b"\r\n\r\n" + LAST
    yield "last_lf", BODY, CHUNKED + body + b"0\n\n" + INNER
    yield "last_lf_lf", BODY, CHUNKED + body + b"0\r\n\n" + INNER
    yield "last_xx", BODY, CHUNKED + body + b"0\r\nXX" + INNER
    yield "last_invalid", BODY, CHUNKED + b"INVALID!!!\r\n" + INNER
    for name, line in _trailers:
        yield f"trailer_{name}", BODY, CHUNKED + body + b"0\r\n" + line + b"\r\n\r\n" + INNER
    yield "trailer_request_line", BODY, CHUNKED + b"0\r\nX:POST /evil\x00 HTTP/1.1\r\n\r\n" + INNER
    yield "trailer_sound", TWO, CHUNKED + body + b"0\r\nT: v\r\n\r\n" + INNER
    yield "trailer_framing", TWO, CHUNKED + body + b"0\r\nContent-Length: 9\r\nTransfer-Encoding: x\r\n\r\n" + INNER
    yield "chunk_leading_zeros", TWO, CHUNKED + b"0004\r\nbody\r\n000\r\n\r\n" + INNER
    yield "chunk_extension", TWO, CHUNKED + b'4;a;b="c\\"d"\r\nbody\r\n0;e\r\n\r\n' + INNER
    yield "chunk_is_a_request", ONE, CHUNKED + chunk(INNER) + LAST
    yield "chunk_end_then_nul", TWO, CHUNKED + LAST + INNER

    for name, line in _lines:
        yield f"line_{name}", HEAD, GET + line + b"\r\n\r\n" + INNER
        yield f"line_{name}_first", HEAD, GET.replace(b"Host:", line + b"\r\nHost:", 1) + b"\r\n" + INNER
    yield "lines_lf", HEAD, GET.replace(b"\r\n", b"\n") + b"\n" + INNER
    yield "lines_cr", HEAD, GET.replace(b"\r\n", b"\r") + b"\r" + INNER
    yield "lines_end_lf", HEAD, GET + b"\n" + INNER
    yield "lines_end_cr_x", HEAD, GET + b"\rZ" + INNER
    yield "lines_empty_before", HEAD, b"\r\n\r\n" + GET + b"\r\n" + INNER
    yield "lines_lf_before", HEAD, b"\n" + GET + b"\r\n" + INNER
    yield "lines_nul_before", HEAD, b"\x00" + GET + b"\r\n" + INNER
    for name, line in _request_lines:
        yield f"request_{name}", HEAD, line + b"\r\n" + HOST + b"\r\n" + INNER
    for name, line in _hosts:
        yield f"host_{name}", HEAD, b"GET /healthz HTTP/1.1\r\nX-Request-Id: OUTER\r\n" + line + b"\r\n" + INNER
    yield "request_absolute", TWO, GET.replace(b"/healthz", b"http://h/healthz") + b"\r\n" + INNER
    yield "request_preface", HEAD, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + INNER
    yield "request_tls", HEAD, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + INNER

    yield "pipeline", TWO, GET + b"\r\n" + INNER
    settings = b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
    yield "upgrade_h2c", TWO, GET + b"Connection: Upgrade, HTTP2-Settings\r\n" + settings + INNER
    key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    yield "upgrade_websocket", TWO, GET + b"Connection: upgrade\r\nUpgrade: websocket\r\n" + key + INNER
    yield "connection_names_length", ONE, sized(POST + b"Connection: content-length\r\n")
    yield "connection_close", ONE, GET + b"Connection: close\r\n\r\n" + INNER
    yield "connection_close_pipelined_garbage", ONE, GET + b"Connection: close\r\n\r\nInvalid\r\n\r\n"
    yield "expect_unknown", HEAD, sized(POST + b"Expect: 200-maybe\r\n")
    yield "http_1_0", ONE, GET.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n" + INNER


CASES = [Case(*case) for case in _cases()]

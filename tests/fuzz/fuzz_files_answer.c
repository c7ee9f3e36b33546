/* Answers of an S3 store: the parsed parts lie within the answer, and parsing ends. */
#include <stdint.h>

#include "base/panic.h"
#include "files/store_s3_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_within(struct str whole, struct str part)
{
    MUST(!part.ptr || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const inner[] = {"Key", "UploadId", "ETag", "Code", "IsTruncated"};
    struct str text = {(const char *)data, size};
    struct str rest = text;
    struct str element;

    while (s3_xml_next(&rest, "Upload", &element)) {
        size_t left = rest.len;
        check_within(text, element);
        check_within(text, rest);
        for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++)
            check_within(element, s3_xml_text(element, inner[i]));
        MUST(left < size);
    }
    for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++) {
        struct str found = s3_xml_text(text, inner[i]);
        check_within(text, found);
        if (found.ptr && s3_is_plain(found))
            MUST(!memchr(found.ptr, '<', found.len) && !memchr(found.ptr, '\n', found.len));
    }
    return 0;
}

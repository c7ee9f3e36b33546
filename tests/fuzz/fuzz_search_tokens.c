/*
 * Any bytes as a text: terms are valid UTF-8 and not too long, positions ascend, and splitting a
 * term again gives the same term.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/panic.h"
#include "base/utf8.h"
#include "search/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Splitting a folded word gives the same word again. */
static void cut_again(const struct search_token *token)
{
    char copy[TERM_BYTES];
    struct tokens tokens;
    struct search_token again;
    struct str term = {memcpy(copy, token->text.ptr, token->text.len), token->text.len};

    tokens_init(&tokens, term);
    MUST(tokens_next(&tokens, &again));
    MUST(str_eq(again.text, term));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tokens tokens;
    struct search_token token;
    uint32_t place = 0;
    size_t count = 0;

    tokens_init(&tokens, (struct str){(const char *)data, size});
    while (tokens_next(&tokens, &token)) {
        MUST(++count <= 2 * size);
        MUST(token.text.len > 0 && token.text.len <= TERM_BYTES && utf8_valid(token.text));
        MUST(token.letters == utf8_length(token.text));
        MUST(token.begin < token.end && token.end <= size && token.position >= place);
        place = token.position;
        if (token.kind == TOKEN_WORD || token.kind == TOKEN_PART)
            cut_again(&token);
    }
    return 0;
}

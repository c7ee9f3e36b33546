#pragma once
/*
 * Encrypts messages for web push (RFC 8291): one record of the content encoding aes128gcm (RFC
 * 8188), under a key that is agreed between the message's own key pair and the subscription. No
 * shared state and no arena: any thread, so that a batch may be encrypted outside of the event
 * loop.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "push/webpush_subscription.h"

/* The size that every push service accepts (RFC 8030 section 7.2). */
#define WEBPUSH_BODY_MAX     4096
#define WEBPUSH_SALT_BYTES   16
#define WEBPUSH_HEADER_BYTES 86 /* salt, record size, key id: the message's public point */
/* Header, the delimiter after the text, and the authentication tag. */
#define WEBPUSH_OVERHEAD_BYTES (WEBPUSH_HEADER_BYTES + 1 + 16)
#define WEBPUSH_TEXT_MAX       (WEBPUSH_BODY_MAX - WEBPUSH_OVERHEAD_BYTES) /* 3,993 */

/* An encrypted message. Too large for a coroutine's stack. */
struct webpush_body {
    size_t len;
    uint8_t bytes[WEBPUSH_BODY_MAX];
};

/* Encrypts `text` and `padding` zero bytes after it, which hide the length of the text. Makes a new
 * key pair and salt each time. 0 or WEBPUSH_TOO_LARGE or WEBPUSH_KEY_BAD. */
int webpush_encrypt(const struct webpush_subscription *subscription,
                    struct str text,
                    size_t padding,
                    struct webpush_body *ret_body) MUSTCHECK;

/* Encrypts like webpush_encrypt(), with a given key pair and salt, for published test vectors. The
 * key pair and the salt must never be used for a second message. */
int webpush_encrypt_with(const struct ec_key *own,
                         const uint8_t salt[WEBPUSH_SALT_BYTES],
                         const struct webpush_subscription *subscription,
                         struct str text,
                         size_t padding,
                         struct webpush_body *ret_body) MUSTCHECK;

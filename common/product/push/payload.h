#pragma once
/*
 * Payloads for devices, made from the message of a send. Pure; any thread, one arena each. Texts
 * are valid UTF-8.
 *
 * FCM gets one body for iOS and Android, because a token does not show which of them a device has.
 * iOS finds the actions that the app has registered by the category in aps.category. An app on
 * Android draws the buttons of data.buttons, a list as JSON text, and gets data.category, too. A
 * browser gets a standard list of actions, from FCM (webpush) as from our own service worker. Every
 * payload has data.notification_id (tap_token.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct push_button {
    struct str id;
    struct str label;
    struct str click_action; /* may be empty */
};

struct push_datum {
    struct str name;
    struct str value;
};

/* The message of one send, the same for all its devices. Payloads leave empty texts out. */
struct push_message {
    struct str title;
    struct str body;
    struct str image_url;
    struct str click_action; /* deep link or URL, passed to the app */
    struct str category;
    const struct push_button *buttons;
    size_t nbuttons;
    const struct push_datum *data; /* names accepted by push_data_name_ok(), each once */
    size_t ndata;
    struct str notification_id; /* never empty */
    int64_t ttl_s;   /* how long a provider stores it for an offline device; 0 = its own default */
    int64_t sent_ms; /* wall clock; on iOS ttl_s counts from this time */
};

#define PUSH_TTL_S_MAX 2419200 /* four weeks */

/* Returns true for a name that the data of a send may use. FCM refuses the names that it reserves
 * (from, message_type, google..., gcm...). The names notification_id, category, buttons and
 * click_action are allowed, but the message's own value replaces the one in data. */
bool push_data_name_ok(struct str name);

#define PUSH_FCM_BYTES_MAX 4096 /* maximum size of a message for one device */
/* Returns the size of a message for FCM. FCM does not document how it counts: this is the size of
 * the JSON of notification and data, with all of our additions, plus the larger of the parts for
 * iOS and for browsers. A message within PUSH_FCM_BYTES_MAX is therefore small enough for every
 * device. */
size_t push_fcm_bytes(struct arena *arena, const struct push_message *message);
/* Returns the body of messages:send that follows the token: {"message":{"token":<token><rest>. Made
 * once for a send; arena-owned. */
struct str push_fcm_body_end(struct arena *arena, const struct push_message *message);
/* Returns the whole body for one device, from the result of push_fcm_body_end(); arena-owned. */
struct str push_fcm_body(struct arena *arena, struct str rest, struct str token);

/* Returns the payload for our service worker, to be encrypted by webpush_encrypt(); arena-owned.
 * Check its length against WEBPUSH_TEXT_MAX before the send. */
struct str push_web_payload(struct arena *arena, const struct push_message *message);

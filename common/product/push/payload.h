#pragma once
/*
 * What travels to a device, from what a send says. Pure; any thread, one arena each. Texts are
 * valid UTF-8.
 *
 * FCM gets one body for iOS and Android, since a token does not tell which it is: the category in
 * aps.category, where iOS looks for the actions that the app has registered, and data.category and
 * data.buttons, a list as JSON text, for an app on Android to draw. What FCM does with a browser's
 * token (webpush) is like what our own service worker gets: a standard list of actions.
 * Every payload carries data.notification_id (tap_token.h).
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

/* One send; the same for all its devices. Empty texts are left out of the payloads. */
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
    int64_t
        ttl_s; /* how long a provider keeps it for a device that is away; 0: as long as it likes */
    int64_t sent_ms; /* wall clock; what ttl_s counts from on iOS */
};

#define PUSH_TTL_S_MAX 2419200 /* four weeks */

/* A name that a send's data may use. FCM refuses its own (from, message_type, google..., gcm...).
 * notification_id, category, buttons and click_action are ours: there the message's own value goes
 * first. */
bool push_data_name_ok(struct str name);

/* What FCM takes for one device. FCM does not say how it counts: this is the JSON of notification
 * and data with all that is added to them, and of what an iPhone or a browser gets besides,
 * whichever is more. So what is within the limit here is so for every device. */
#define PUSH_FCM_BYTES_MAX 4096
size_t push_fcm_bytes(struct arena *arena, const struct push_message *message);
/* A body of messages:send without the token: {"message":{"token":<token>,<rest>. Made once a send;
 * arena-owned. */
struct str push_fcm_rest(struct arena *arena, const struct push_message *message);
/* The whole body for one device; arena-owned. */
struct str push_fcm_body(struct arena *arena, struct str rest, struct str token);

/* What the service worker gets, to be encrypted (webpush_encrypt.h; WEBPUSH_TEXT_MAX is to be
 * checked before the send); arena-owned. */
struct str push_web_payload(struct arena *arena, const struct push_message *message);

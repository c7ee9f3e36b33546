/* Payloads for iOS, Android and browsers. */
#include "push/payload.h"

#include "base/num.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "json/jw.h"

enum { PAYLOAD_MAX = 8 * 1024 * 1024 }; /* only a safeguard: callers have limited the input */

#define BODY_PREFIX "{\"message\":{\"token\":"

bool push_data_name_ok(struct str name)
{
    return name.len > 0 && !str_is(name, "from") && !str_is(name, "message_type") &&
           !str_starts(name, STR("google")) && !str_starts(name, STR("gcm"));
}

static void put_text_member(struct jw *w, const char *key, struct str text)
{
    if (text.len > 0)
        JW_STR(w, key, text);
}

/* Writes a number as text, which providers require. */
static void put_number_text(struct jw *w, const char *key, int64_t value, const char *unit)
{
    char digits[24];
    size_t len = num_print_i64(digits, value);

    jw_lit(w, key);
    jw_str_begin(w);
    jw_str_part(w, (struct str){digits, len});
    jw_str_part(w, str_from(unit));
    jw_str_end(w);
}

/* --- parts for FCM and for our service worker --- */

/* Writes the standard list of actions of a browser's notification. */
static void put_actions(struct jw *w, const struct push_message *message)
{
    jw_lit(w, "actions");
    jw_arr(w);
    for (size_t i = 0; i < message->nbuttons; i++) {
        jw_obj(w);
        JW_STR(w, "action", message->buttons[i].id);
        JW_STR(w, "title", message->buttons[i].label);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static struct str buttons_text(struct arena *arena, const struct push_message *message)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, PAYLOAD_MAX);
    jw_init(&w, &text);
    jw_arr(&w);
    for (size_t i = 0; i < message->nbuttons; i++) {
        jw_obj(&w);
        JW_STR(&w, "id", message->buttons[i].id);
        JW_STR(&w, "label", message->buttons[i].label);
        put_text_member(&w, "click_action", message->buttons[i].click_action);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    MUST(jw_is_complete(&w));
    return strbuf_view(&text);
}

static bool datum_is_taken(const struct push_datum *ours, size_t nours, struct str name)
{
    for (size_t i = 0; i < nours; i++) {
        if (ours[i].value.len > 0 && str_eq(ours[i].name, name))
            return true;
    }
    return false;
}

/* Writes our own data first, then the data of the send, except names that our data has. */
static void put_data(struct jw *w,
                     const struct push_message *message,
                     const struct push_datum *ours,
                     size_t nours)
{
    jw_lit(w, "data");
    jw_obj(w);
    for (size_t i = 0; i < nours; i++) {
        if (ours[i].value.len > 0) {
            jw_key(w, ours[i].name);
            jw_str(w, ours[i].value);
        }
    }
    for (size_t i = 0; i < message->ndata; i++) {
        if (!datum_is_taken(ours, nours, message->data[i].name)) {
            jw_key(w, message->data[i].name);
            jw_str(w, message->data[i].value);
        }
    }
    jw_obj_end(w);
}

/* --- FCM --- */

static void fcm_notification(struct jw *w, const struct push_message *message)
{
    jw_lit(w, "notification");
    jw_obj(w);
    put_text_member(w, "title", message->title);
    put_text_member(w, "body", message->body);
    put_text_member(w, "image", message->image_url);
    jw_obj_end(w);
}

/* Leaves out android.notification.click_action: it names an intent of the app, and with a link in
 * it a tap would open nothing. The link is in data. */
static void fcm_android(struct jw *w, const struct push_message *message)
{
    jw_lit(w, "android");
    jw_obj(w);
    JW_CSTR(w, "priority", "HIGH");
    if (message->ttl_s > 0)
        put_number_text(w, "ttl", message->ttl_s, "s");
    jw_obj_end(w);
}

/* Writes what iOS gets in addition to notification and data. */
static void fcm_apns_shown(struct jw *w, const struct push_message *message)
{
    jw_lit(w, "payload");
    jw_obj(w);
    jw_lit(w, "aps");
    jw_obj(w);
    put_text_member(w, "category", message->category);
    if (message->image_url.len > 0) /* lets the app's extension fetch the image */
        JW_I64(w, "mutable-content", 1);
    JW_CSTR(w, "sound", "default");
    jw_obj_end(w);
    jw_obj_end(w);
    if (message->image_url.len > 0) {
        jw_lit(w, "fcm_options");
        jw_obj(w);
        JW_STR(w, "image", message->image_url);
        jw_obj_end(w);
    }
}

static void fcm_apns(struct jw *w, const struct push_message *message)
{
    jw_lit(w, "apns");
    jw_obj(w);
    jw_lit(w, "headers");
    jw_obj(w);
    JW_CSTR(w, "apns-priority", "10");
    JW_CSTR(w, "apns-push-type", "alert");
    if (message->ttl_s > 0)
        put_number_text(w, "apns-expiration", message->sent_ms / 1000 + message->ttl_s, "");
    jw_obj_end(w);
    fcm_apns_shown(w, message);
    jw_obj_end(w);
}

/* Writes what a browser gets in addition to notification and data. */
static void fcm_webpush_shown(struct jw *w, const struct push_message *message)
{
    bool link = str_starts(message->click_action, STR("https://")); /* FCM accepts no other link */

    if (message->nbuttons > 0) {
        jw_lit(w, "notification");
        jw_obj(w);
        put_actions(w, message);
        jw_obj_end(w);
    }
    if (link) {
        jw_lit(w, "fcm_options");
        jw_obj(w);
        JW_STR(w, "link", message->click_action);
        jw_obj_end(w);
    }
}

static void fcm_webpush(struct jw *w, const struct push_message *message)
{
    jw_lit(w, "webpush");
    jw_obj(w);
    if (message->ttl_s > 0) {
        jw_lit(w, "headers");
        jw_obj(w);
        put_number_text(w, "TTL", message->ttl_s, "");
        jw_obj_end(w);
    }
    fcm_webpush_shown(w, message);
    jw_obj_end(w);
}

enum { FCM_OWN_DATA = 4 };

static void fcm_own_data(struct arena *arena,
                         const struct push_message *message,
                         struct push_datum to[FCM_OWN_DATA])
{
    MUST(message->notification_id.len > 0);
    to[0] = (struct push_datum){STR("notification_id"), message->notification_id};
    to[1] = (struct push_datum){STR("category"), message->category};
    to[2] = (struct push_datum){STR("buttons"),
                                message->nbuttons > 0 ? buttons_text(arena, message) : STR_NONE};
    to[3] = (struct push_datum){STR("click_action"), message->click_action};
}

typedef void fcm_part_fn(struct jw *w, const struct push_message *message);

static size_t
fcm_part_bytes(struct arena *arena, const struct push_message *message, fcm_part_fn *part)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, PAYLOAD_MAX);
    jw_init(&w, &text);
    jw_obj(&w);
    part(&w, message);
    jw_obj_end(&w);
    MUST(jw_is_complete(&w));
    return text.len;
}

static void fcm_put_shared(struct jw *w, const struct push_message *message)
{
    struct push_datum ours[FCM_OWN_DATA];

    fcm_own_data(w->out->arena, message, ours);
    fcm_notification(w, message);
    put_data(w, message, ours, FCM_OWN_DATA);
}

size_t push_fcm_bytes(struct arena *arena, const struct push_message *message)
{
    size_t apns_bytes = fcm_part_bytes(arena, message, fcm_apns_shown);
    size_t webpush_bytes = fcm_part_bytes(arena, message, fcm_webpush_shown);

    return fcm_part_bytes(arena, message, fcm_put_shared) +
           (apns_bytes > webpush_bytes ? apns_bytes : webpush_bytes);
}

struct str push_fcm_body_end(struct arena *arena, const struct push_message *message)
{
    struct strbuf text;
    struct jw w;

    /* Written as an object of its own. The comma after the token then replaces its opening
     * brace. */
    strbuf_init(&text, arena, PAYLOAD_MAX);
    jw_init(&w, &text);
    jw_obj(&w);
    fcm_put_shared(&w, message);
    fcm_android(&w, message);
    fcm_apns(&w, message);
    fcm_webpush(&w, message);
    jw_obj_end(&w);
    MUST(jw_is_complete(&w));
    strbuf_char(&text, '}');
    MUST(!text.overflow);
    text.ptr[0] = ',';
    return strbuf_view(&text);
}

struct str push_fcm_body(struct arena *arena, struct str rest, struct str token)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, PAYLOAD_MAX);
    (void)strbuf_reserve(&text, sizeof(BODY_PREFIX) + token.len + 2 + rest.len);
    strbuf_str(&text, STR(BODY_PREFIX));
    jw_init(&w, &text);
    jw_str(&w, token);
    strbuf_str(&text, rest);
    MUST(!text.overflow);
    return strbuf_view(&text);
}

/* --- our service worker --- */

struct str push_web_payload(struct arena *arena, const struct push_message *message)
{
    const struct push_datum ours[] = {{STR("notification_id"), message->notification_id}};
    struct strbuf text;
    struct jw w;

    MUST(message->notification_id.len > 0);
    strbuf_init(&text, arena, PAYLOAD_MAX);
    jw_init(&w, &text);
    jw_obj(&w);
    put_text_member(&w, "title", message->title);
    put_text_member(&w, "body", message->body);
    put_text_member(&w, "image", message->image_url);
    put_text_member(&w, "click_action", message->click_action);
    put_text_member(&w, "category", message->category);
    if (message->nbuttons > 0)
        put_actions(&w, message);
    put_data(&w, message, ours, ARRAY_LEN(ours));
    jw_obj_end(&w);
    MUST(jw_is_complete(&w));
    return strbuf_view(&text);
}

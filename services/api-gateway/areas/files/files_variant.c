/* Variants of pictures for downloads: reads the request and finds the row that answers it. */
#include "areas/files/files_variant.h"

#include "areas/files/files.h"
#include "base/num.h"
#include "files/type.h"
#include "files/variant.h"

const char *const files_variant_fits[] = {"cover", "contain", "inside", "fill", NULL};
const char *const files_variant_formats[] = {"auto", "jpeg", "png", "webp", "avif", NULL};
const char *const files_variant_frames[] = {"all", "first", NULL};

/* --- the request --- */

static size_t index_in(struct str value, const char *const *values)
{
    size_t index = 0;

    while (values[index] && !str_is(value, values[index]))
        index++;
    return index;
}

/* Returns whether the Accept header names the type. A wildcard does not count, because it does not
 * tell which types the client can show. */
static bool header_accepts(struct str header, const char *type)
{
    while (header.ptr) {
        struct str range = str_trim(str_split(&header, ','));
        struct str parameters = range;
        struct str name = str_trim(str_split(&parameters, ';'));
        if (str_ieq(name, str_from(type)) && !str_is(str_trim(parameters), "q=0"))
            return true;
    }
    return false;
}

/* Returns the picture's own format, or the closest format of variants with the same features. */
static enum media_kind picture_format(struct str mime_type)
{
    static const struct {
        const char *type;
        enum media_kind format;
    } own[] = {
        {"image/jpeg", MEDIA_JPEG},
        {"image/webp", MEDIA_WEBP},
        {"image/avif", MEDIA_AVIF},
        {"image/gif", MEDIA_WEBP}, /* may be animated and transparent */
        {"image/tiff", MEDIA_JPEG},
        {"image/heic", MEDIA_JPEG},
        {"image/heif", MEDIA_JPEG},
    };

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (str_is(mime_type, own[i].type))
            return own[i].format;
    return MEDIA_PNG;
}

static enum media_kind variant_format(struct req *r, struct str format, const struct file_row *file)
{
    static const enum media_kind kinds[] = {
        MEDIA_UNKNOWN, MEDIA_JPEG, MEDIA_PNG, MEDIA_WEBP, MEDIA_AVIF};
    enum media_kind own = picture_format(file->mime_type);
    size_t index = format.ptr ? index_in(format, files_variant_formats) : ARRAY_LEN(kinds);

    if (index >= ARRAY_LEN(kinds))
        return own;
    if (kinds[index] != MEDIA_UNKNOWN)
        return kinds[index];
    resp_header(r, "Vary", STR("Accept"));
    if (header_accepts(req_header(r, "accept"), "image/webp"))
        return MEDIA_WEBP;
    bool shown = own == MEDIA_JPEG || own == MEDIA_PNG ||
                 header_accepts(req_header(r, "accept"), variant_type(own));
    return shown ? own : own == MEDIA_AVIF ? MEDIA_JPEG : MEDIA_PNG;
}

static int variant_side(struct req *r, const struct query *query, const char *name, uint32_t *ret)
{
    struct str text = query_get(query, name);
    int64_t value = 0;

    if (text.ptr && !num_parse_i64(text, &value))
        return fail(r, PROBLEM_INVALID_QUERY, NULL);
    *ret = (uint32_t)value;
    return 0;
}

/* --- the row --- */

/* Replaces the ending: "photo.jpeg" becomes "photo.webp". */
static struct str variant_filename(struct req *r, struct str filename, enum media_kind format)
{
    const char *dot = memrchr(filename.ptr, '.', filename.len);
    int len = dot && dot > filename.ptr ? (int)(dot - filename.ptr) : (int)filename.len;

    return arena_printf(r->task.arena, "%.*s.%s", len, filename.ptr, variant_ending(format));
}

static struct variant_options variant_options(struct req *r,
                                              const struct file_row *file,
                                              const struct media_variant *wanted,
                                              bool strangers)
{
    return (struct variant_options){
        .task = &r->task,
        .directory = gateway_directory(),
        .project = r->scope->project,
        .file = file,
        .wanted = *wanted,
        .is_anonymous = strangers,
    };
}

int files_variant_find(struct req *r, bool strangers, struct file_row *file, bool *ret_is_one)
{
    struct media_variant wanted = {.fit = MEDIA_COVER};
    const struct query *query;
    struct file_row variant;

    TRY(req_query(r, &query));
    struct str fit = query_get(query, "fit");
    struct str format = query_get(query, "format");
    struct str frame = query_get(query, "frame");
    TRY(variant_side(r, query, "width", &wanted.width));
    TRY(variant_side(r, query, "height", &wanted.height));
    *ret_is_one = wanted.width > 0 || wanted.height > 0 || fit.ptr || format.ptr || frame.ptr;
    if (!*ret_is_one)
        return 0;
    if (!type_has_variants(file->mime_type))
        return files_check(r, PICTURE_NONE);
    if (fit.ptr)
        wanted.fit = (enum media_fit)index_in(fit, files_variant_fits);
    wanted.is_still = str_is(frame, "first");
    wanted.format = variant_format(r, format, file);
    const struct variant_options options = variant_options(r, file, &wanted, strangers);
    TRY(files_check(r, variant_find(&options, &variant)));
    variant.filename = variant_filename(r, file->filename, wanted.format);
    *file = variant;
    return 0;
}

int files_variant_drop(struct req *r, const struct file_row *variant)
{
    const struct media_variant none = {0};
    const struct variant_options options = variant_options(r, variant, &none, false);

    TRY(files_check(r, variant_row_remove(&options, variant)));
    return files_check(r, FILES_UNAVAILABLE);
}

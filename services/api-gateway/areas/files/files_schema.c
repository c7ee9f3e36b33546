/* Schemas of a file in responses: alone, and as the answer to an upload. */
#include "areas/files/files.h"

/* clang-format off: one macro */
#define FILE_FIELDS                                                                                \
    {.name = "id", .type = FIELD_I64, .required = true},                                           \
        {.name = "filename", .type = FIELD_STR, .required = true, .example = "\"report.pdf\""},    \
        {.name = "mime_type",                                                                      \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .doc = "Detected from the bytes, not from what the client sent",                          \
         .example = "\"application/pdf\""},                                                        \
        {.name = "size", .type = FIELD_I64, .required = true, .doc = "Bytes"},                     \
        {.name = "sha256", .type = FIELD_STR, .required = true, .doc = "Hexadecimal"},             \
        {.name = "folder_id", .type = FIELD_I64, .required = true, .nullable = true},              \
        {.name = "entity",                                                                         \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .doc = "Entity of the record that the file is attached to"},                              \
        {.name = "entity_id",                                                                      \
         .type = FIELD_I64,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .doc = "Id of the record that the file is attached to"},                                  \
        {.name = "field_name", .type = FIELD_STR, .required = true, .nullable = true},             \
        {.name = "is_public",                                                                      \
         .type = FIELD_BOOL,                                                                       \
         .required = true,                                                                         \
         .doc = "Whether anyone can read the file at /files/{id}/public"},                         \
        {.name = "width", .type = FIELD_I64, .required = true, .nullable = true},                  \
        {.name = "height", .type = FIELD_I64, .required = true, .nullable = true},                 \
        {.name = "duration",                                                                       \
         .type = FIELD_F64,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .doc = "Seconds"},                                                                        \
        {.name = "uploaded_by", .type = FIELD_I64, .required = true},                              \
        {.name = "created_at", .type = FIELD_TIME, .required = true},                              \
    {                                                                                              \
        .name = "updated_at", .type = FIELD_TIME, .required = true                                 \
    }
/* clang-format on */

static const struct field file_fields[] = {FILE_FIELDS};
const struct schema file_schema = SCHEMA_OUT("File", file_fields);

static const struct field uploaded_fields[] = {
    FILE_FIELDS,
    {.name = "items",
     .type = FIELD_LIST,
     .required = true,
     .sub = &file_schema,
     .doc = "All files of the upload, in the order of its parts; the other members of the answer "
            "are those of the first file"},
};
const struct schema files_uploaded_schema = SCHEMA_OUT("FilesUploaded", uploaded_fields);

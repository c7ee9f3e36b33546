#pragma once
/* Parsers, one per container. The caller has recognized the container by the first bytes of the
 * file. Each parser fills in the facts that it finds. */
#include <stdbool.h>

#include "media/probe.h"

#define MEDIA_SIDE_MAX 1000000U /* a larger side is treated as malformed */

void probe_png(struct media_source *source, struct media_facts *facts);
void probe_jpeg(struct media_source *source, struct media_facts *facts);
void probe_gif(struct media_source *source, struct media_facts *facts);
void probe_webp(struct media_source *source, struct media_facts *facts);
void probe_tiff(struct media_source *source, struct media_facts *facts);
/* For AVIF, HEIC and MP4, as facts->kind says. */
void probe_boxes(struct media_source *source, struct media_facts *facts);
void probe_matroska(struct media_source *source, struct media_facts *facts);
void probe_ogg(struct media_source *source, struct media_facts *facts);
void probe_wav(struct media_source *source, struct media_facts *facts);
/* FLAC and MP3 begin at `at`, possibly after an ID3 tag. */
void probe_flac(struct media_source *source, struct media_facts *facts, int64_t at);
/* Returns false when no frame begins near `at`. */
bool probe_mp3(struct media_source *source, struct media_facts *facts, int64_t at);

/* Reads the orientation from the TIFF structure between two offsets of the file. Returns 1 when
 * none is stated. */
unsigned exif_orientation(struct media_source *source, int64_t from, int64_t end);
/* Set the size or the duration; implausible values are ignored. */
void facts_size(struct media_facts *facts, uint64_t width, uint64_t height);
void facts_duration(struct media_facts *facts, double units, double units_a_second);

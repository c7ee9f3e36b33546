#pragma once
/* The parsers by container. Each is told that the first bytes are its own, and fills what it finds.
 */
#include <stdbool.h>

#include "media/probe.h"

#define MEDIA_SIDE_MAX 1000000U /* beyond that it is no size, but a lie */

void probe_png(struct media_source *source, struct media_facts *facts);
void probe_jpeg(struct media_source *source, struct media_facts *facts);
void probe_gif(struct media_source *source, struct media_facts *facts);
void probe_webp(struct media_source *source, struct media_facts *facts);
void probe_tiff(struct media_source *source, struct media_facts *facts);
/* AVIF, HEIC and MP4: facts->kind says which. */
void probe_boxes(struct media_source *source, struct media_facts *facts);
void probe_matroska(struct media_source *source, struct media_facts *facts);
void probe_ogg(struct media_source *source, struct media_facts *facts);
void probe_wav(struct media_source *source, struct media_facts *facts);
/* Both after an ID3 tag, perhaps. */
void probe_flac(struct media_source *source, struct media_facts *facts, int64_t at);
/* False when no frame begins there. */
bool probe_mp3(struct media_source *source, struct media_facts *facts, int64_t at);

/* Of a TIFF structure between two places of the file; 1 when it says nothing. */
unsigned exif_orientation(struct media_source *source, int64_t from, int64_t end);
/* Sizes that are none are dropped. */
void facts_size(struct media_facts *facts, uint64_t width, uint64_t height);
void facts_duration(struct media_facts *facts, double units, double units_a_second);

#pragma once
/* A picture in another size and format. */
#include "media-sandbox/peer.h"

_Noreturn void variant_make(const struct media_request *request,
                            struct media_source *source,
                            const struct media_facts *facts);

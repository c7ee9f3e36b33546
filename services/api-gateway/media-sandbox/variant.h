#pragma once
/* Makes a variant: the picture in another size and format. */
#include "media-sandbox/peer.h"

/* Makes the variant of `request`, sends it to the daemon and exits. `facts` are those of the file
 * in `source`, by media_probe(). Failures are sent by peer_send_failure(). */
_Noreturn void variant_make(const struct media_request *request,
                            struct media_source *source,
                            const struct media_facts *facts);

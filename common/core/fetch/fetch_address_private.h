#pragma once
/* Which IP addresses are out in the public Internet. Any thread. */
#include <stdbool.h>

struct sockaddr;

/* False for every range of the IANA special-purpose registries (RFC 6890 and its updates) and for
 * multicast, whether or not the registry calls it globally reachable, for IPv6 outside 2000::/3,
 * and for IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo). */
bool fetch_address_public(const struct sockaddr *address);
/* Same for an address in text; false when it is none. */
bool fetch_address_text_public(const char *text);

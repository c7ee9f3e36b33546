#pragma once
/* Decides which IP addresses belong to the public Internet. Any thread. */
#include <stdbool.h>

struct sockaddr;

/* Returns false for every range of the IANA special-purpose registries (RFC 6890 and its updates)
 * and for multicast, even if the registry calls the range globally reachable. Also false for IPv6
 * outside of 2000::/3 and IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo). */
bool fetch_address_is_public(const struct sockaddr *address);
/* Like fetch_address_is_public() for an address in text form; false when the text is no address. */
bool fetch_address_text_is_public(const char *text);

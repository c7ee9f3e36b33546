const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789';
const GROUPS = 5;
const GROUP = 4;

/** A random password of 100 bits, in groups that are easy to read. */
export function newPassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(GROUPS * GROUP));
  const letters = [...bytes].map((byte) => LETTERS[byte % LETTERS.length]!);
  return Array.from({ length: GROUPS }, (_, at) => letters.slice(at * GROUP, (at + 1) * GROUP).join('')).join('-');
}

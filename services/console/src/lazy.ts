/** Makes a value when it is first needed. A format of Intl takes milliseconds to make, and the sign-in page needs none. */
export function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

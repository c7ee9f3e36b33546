// The path of a request that a reader asks about.

/** Takes a path, an address of the API or of the console, and a record such as products/12. */
export function readPath(text: string, entities: readonly string[]): string {
  const address = text.trim();
  const path = (/^https?:\/\/[^/]+(\/[^?#]*)/.exec(address)?.[1] ?? address.replace(/[?#].*$/, '')).replace(/^\/org\/[^/]+(?=\/)/, '');
  const record = /^(?:\/console\/[^/]+\/data\/)?([a-z][a-z0-9_]*)(?:\/(\d+))?$/.exec(path);
  if (record && entities.includes(record[1]!)) return `/entities/${record[1]}/items${record[2] ? `/${record[2]}` : ''}`;
  return path === '' || path.startsWith('/') ? path : `/${path}`;
}

export function recordOf(path: string): { entity: string; id: number | undefined } | undefined {
  const [, entity, id] = /^\/entities\/([^/]+)\/items(?:\/(\d+))?$/.exec(path) ?? [];
  return entity ? { entity, id: id ? Number(id) : undefined } : undefined;
}

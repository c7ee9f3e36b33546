// Paths of the console: patterns such as /:project/data/:entity/:record? and the parameters of an address.

export type Params = Record<string, string>;

/** The parameters of a path, or undefined when the path does not have the form of the pattern. */
export function matchPath(pattern: string, path: string): Params | undefined {
  const parts = path.split('/').filter((part) => part !== '');
  const names = pattern.split('/').filter((part) => part !== '');
  const least = names.filter((name) => !name.endsWith('?')).length;
  if (parts.length < least || parts.length > names.length) return undefined;
  const params: Params = {};
  for (const [at, part] of parts.entries()) {
    const name = names[at]!;
    if (name.startsWith(':')) params[name.replace(/^:|\?$/g, '')] = decodeURIComponent(part);
    else if (name !== part) return undefined;
  }
  return params;
}

/** The path of a pattern. An optional part without a parameter is left out. */
export function fillPath(pattern: string, params: Params): string {
  const parts = pattern.split('/').filter((part) => part !== '').map((name) => {
    return name.startsWith(':') ? params[name.replace(/^:|\?$/g, '')] : name;
  });
  return `/${parts.filter((part) => part !== undefined).map(encodeURIComponent).join('/')}`;
}

// The address of the page. Views read their state from the address, so that an address can be sent to a colleague.

const BASE = '/console';

interface Place {
  path: string;
  query: URLSearchParams;
}

function read(): Place {
  return { path: location.pathname.slice(BASE.length) || '/', query: new URLSearchParams(location.search) };
}

class Router {
  place = $state.raw(read());

  constructor() {
    addEventListener('popstate', () => (this.place = read()));
    addEventListener('click', (event) => this.#follow(event));
  }

  go(path: string, options: { replaces?: boolean } = {}): void {
    const address = BASE + path;
    if (address === location.pathname + location.search) return;
    history[options.replaces ? 'replaceState' : 'pushState'](null, '', address);
    this.place = read();
  }

  /** Changes parameters of the address; undefined removes a parameter. */
  setQuery(values: Record<string, string | undefined>, options: { replaces?: boolean } = {}): void {
    const query = new URLSearchParams(this.place.query);
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) query.delete(name);
      else query.set(name, value);
    }
    this.go(this.place.path + (query.size > 0 ? `?${query}` : ''), options);
  }

  #follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a[href]');
    if (!(link instanceof HTMLAnchorElement) || link.target || link.download || link.origin !== location.origin) return;
    if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return;
    event.preventDefault();
    this.go(link.pathname.slice(BASE.length) + link.search);
  }
}

export const router = new Router();

export function href(path: string): string {
  return BASE + path;
}

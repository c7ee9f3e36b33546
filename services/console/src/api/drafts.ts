// Drafts: changes that were typed and not saved yet. They survive a reload and are offered again.

export interface Draft {
  /** ETag of the record that the changes were made to. */
  version: string;
  at: string;
  values: Record<string, unknown>;
}

export interface TextStore {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
  key(at: number): string | null;
  readonly length: number;
}

const PREFIX = 'groundwork.draft:';
const DAYS = 30;

/** The drafts of one user in one project. */
export class Drafts {
  readonly #store: TextStore;
  readonly #prefix: string;

  constructor(store: TextStore, project: string, user: number) {
    this.#store = store;
    this.#prefix = `${PREFIX}${project}/${user}/`;
  }

  read(resource: string): Draft | undefined {
    try {
      return (JSON.parse(this.#store.getItem(this.#prefix + resource) ?? 'null') as Draft | null) ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** A draft without changes is removed. A full store loses the draft and not the work on the page. */
  write(resource: string, version: string, values: Record<string, unknown>, now = new Date()): void {
    if (Object.keys(values).length === 0) return this.remove(resource);
    try {
      this.#store.setItem(this.#prefix + resource, JSON.stringify({ version, at: now.toISOString(), values } satisfies Draft));
    } catch {
      this.remove(resource);
    }
  }

  remove(resource: string): void {
    this.#store.removeItem(this.#prefix + resource);
  }
}

/** Removes drafts of all projects that are older than 30 days. */
export function pruneDrafts(store: TextStore, now = Date.now()): void {
  const keys = Array.from({ length: store.length }, (_, at) => store.key(at)).filter((key) => key?.startsWith(PREFIX));
  for (const key of keys) {
    const at = /"at":"([^"]+)"/.exec(store.getItem(key!) ?? '')?.[1];
    if (!at || now - new Date(at).getTime() > DAYS * 86_400_000) store.removeItem(key!);
  }
}

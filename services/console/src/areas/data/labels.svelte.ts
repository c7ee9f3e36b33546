// The names of related records. A grid asks for many at once, so the ids of one turn are read together.
import { SvelteMap } from 'svelte/reactivity';
import { joinList } from '../../api/filters.ts';
import { canEntity, labelField, type Entity, type Me, type Page } from '../../api/model.ts';
import { itemsPath, type Row } from '../../api/records.ts';
import type { Session } from '../../api/session.svelte.ts';

const TOGETHER = 200;

export class Labels {
  readonly #session: Session;
  readonly #me: Me;
  readonly #entities: Entity[];
  readonly #labels = new SvelteMap<string, string>();
  readonly #asked = new Set<string>();
  #wanted = new Map<string, Set<number>>();

  constructor(session: Session, me: Me, entities: Entity[]) {
    this.#session = session;
    this.#me = me;
    this.#entities = entities;
  }

  /** The name of a record, or its id until the name has been read. */
  get(entity: string, id: number): string {
    const key = `${entity}/${id}`;
    const label = this.#labels.get(key);
    if (label !== undefined) return label;
    if (!this.#asked.has(key) && canEntity(this.#me, entity, 'read')) this.#ask(entity, id, key);
    return String(id);
  }

  set(entity: string, id: number, label: string): void {
    this.#labels.set(`${entity}/${id}`, label);
  }

  #ask(entity: string, id: number, key: string): void {
    this.#asked.add(key);
    if (this.#wanted.size === 0) setTimeout(() => this.#read(), 0);
    this.#wanted.set(entity, (this.#wanted.get(entity) ?? new Set()).add(id));
  }

  #read(): void {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    for (const [name, ids] of wanted) {
      const entity = this.#entities.find((each) => each.name === name);
      const list = [...ids];
      for (let at = 0; entity && at < list.length; at += TOGETHER) void this.#readSome(entity, list.slice(at, at + TOGETHER));
    }
  }

  async #readSome(entity: Entity, ids: number[]): Promise<void> {
    const field = labelField(entity).name;
    const query = [
      ['filter[id][in]', joinList(ids.map(String))], ['fields', field === 'id' ? 'id' : `id,${field}`],
      ['limit', String(ids.length)], ['count', 'false'],
    ] as const;
    // Without the names the ids are shown.
    const page = await this.#session.gateway.get<Page<Row>>(itemsPath(entity.name), query).catch(() => undefined);
    for (const row of page?.items ?? []) {
      if (row[field] !== null && row[field] !== undefined) this.set(entity.name, row.id, String(row[field]));
    }
  }
}

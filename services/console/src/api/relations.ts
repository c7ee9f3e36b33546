// Finds records for a relation by the field that names them, or by the id.
import { canEntity, findField, labelField, type Entity, type Me, type Page } from './model.ts';
import type { Query } from './http.ts';
import { itemsPath, type Row } from './records.ts';
import type { Choice } from '../kit/Combobox.svelte';
import type { Session } from './session.svelte.ts';

const CHOICES = 20;

interface Context {
  session: Session;
  me: Me;
  entities: Entity[];
}

export async function findRecords(context: Context, target: string, text: string, signal: AbortSignal): Promise<Choice[]> {
  const entity = context.entities.find((each) => each.name === target);
  if (!entity || !canEntity(context.me, target, 'read')) return [];
  const field = labelField(entity).name;
  const isId = field === 'id' || /^#?\d+$/.test(text);
  const filters: Query = text === '' ? []
    : field === 'id' ? [['filter[id]', text.replace('#', '')]]
    : isId ? [['filter[or][0][id]', text.replace('#', '')], [`filter[or][1][${field}][icontains]`, text]]
    : [[`filter[${field}][icontains]`, text]];
  const query: Query = [
    ...filters, ['sort', field], ['fields', field === 'id' ? 'id' : `id,${field}`], ['limit', String(CHOICES)], ['count', 'false'],
  ];
  const page = await context.session.gateway.get<Page<Row>>(itemsPath(target), query, { signal });
  return page.items.map((row) => ({ value: String(row.id), label: String(row[field] ?? row.id), note: `#${row.id}` }));
}

export function canReadTarget(context: Context, target: string | undefined): boolean {
  return target !== undefined && canEntity(context.me, target, 'read') && context.entities.some((each) => each.name === target && findField(each, 'id'));
}

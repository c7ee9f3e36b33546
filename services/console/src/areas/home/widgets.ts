// Values and links of dashboards as texts and addresses.
import { numberText, isExact } from '../../api/json.ts';
import type { Field } from '../../api/model.ts';
import { showTime } from '../../kit/format.ts';

const NONE = '–';
const TEXT_MAX = 200;

export function cellOf(value: unknown, field: Field | undefined): string {
  if (value === null || value === undefined || value === '') return NONE;
  if (typeof value === 'number' || isExact(value)) return numberText(value);
  if (field?.type === 'datetime' || field?.name === 'created_at' || field?.name === 'updated_at') return showTime(String(value));
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).slice(0, TEXT_MAX);
}

/** The address of a link, if a browser may open it. A path belongs to an app of the project, whose address the console does not know. */
export function linkOf(url: string): string | undefined {
  return /^(https?:\/\/|mailto:|tel:)/i.test(url) ? url : undefined;
}

// Values of parameters as texts of a form, and texts as values.
import { exactNumber } from '../../api/json.ts';
import type { FieldType } from '../../api/model.ts';

export const printJson = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, undefined, 2));

/** A text stays as it is; other values are JSON. */
export function printValue(value: unknown): string {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}

const NUMBERS: readonly FieldType[] = ['integer', 'float', 'decimal', 'relation', 'file'];

/** Reads a value for a field of an entity. A text with a reference stays a text. */
export function readFieldValue(text: string, type: FieldType | undefined): unknown {
  if (text.includes('{{')) return text;
  const trimmed = text.trim();
  if (trimmed === 'null') return null;
  if (type && NUMBERS.includes(type) && /^-?\d+(\.\d+)?$/.test(trimmed)) return exactNumber(trimmed);
  if (type === 'bool' && /^(true|false)$/.test(trimmed)) return trimmed === 'true';
  if ((type === 'json' || type === 'relation') && /^[[{]/.test(trimmed)) return tryJson(trimmed) ?? text;
  return text;
}

/** Reads a value of unknown type: numbers, true, false, null, arrays and objects are JSON, everything else is a text. */
export function readAny(text: string): unknown {
  const trimmed = text.trim();
  return /^(-?\d+(\.\d+)?|true|false|null)$|^[[{"](?!\{)/.test(trimmed) ? (tryJson(trimmed) ?? (trimmed === 'null' ? null : text)) : text;
}

function tryJson(text: string): unknown {
  try {
    return /^-?\d+(\.\d+)?$/.test(text) ? exactNumber(text) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Texts with commas between them; a comma within {{ }} does not separate. */
export function splitTexts(text: string): string[] {
  return text.split(/,(?![^{]*\}\})/).map((part) => part.trim()).filter((part) => part !== '');
}

// The types of fields: how a value is shown, written as text, read from text and edited. A type is a row of the table.
import { exactNumber, isExact, type Exact, type Json } from '../../api/json.ts';
import { TIME_OF_DAY, UUID, type Field, type FieldType } from '../../api/model.ts';
import { showNumber, showTime } from '../../kit/format.ts';

export type Editor = 'line' | 'lines' | 'choice' | 'date' | 'datetime' | 'json' | 'relation' | 'file' | 'secret';

interface Kind {
  width: number;
  isNumber?: boolean;
  editor: Editor;
  /** A cell of the grid can be edited in place. The other types are edited in the sheet of the record. */
  inCell: boolean;
  /** The value for a reader. Null and missing values do not get here. */
  show: (value: Json) => string;
  /** The value as text that read() takes: for editors, copies and pastes. */
  write: (value: Json) => string;
  /** Reads the value from a text that is not empty. Throws an error with a message such as "expected a number". */
  read: (text: string, field: Field) => Json;
}

const refuse = (message: string): never => {
  throw new Error(message);
};
const plain = (value: Json): string => (typeof value === 'string' ? value : isExact(value) || typeof value === 'number' ? showNumber(value) : JSON.stringify(value));

function readNumber(text: string): number | Exact {
  const number = exactNumber(text.trim());
  return isExact(number) || Number.isFinite(number) ? number : refuse('expected a number');
}

function readInteger(text: string): number | Exact {
  return /^-?\d{1,19}$/.test(text.trim()) ? exactNumber(text.trim()) : refuse('expected a whole number');
}

function readDate(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text.trim()) ? text.trim() : refuse('expected a date such as 2026-01-31');
}

/** A time without a zone is a time of the reader's zone. */
function readTime(text: string): string {
  const time = new Date(text.trim().replace(/^(\d{4}-\d{2}-\d{2}) /, '$1T'));
  return Number.isNaN(time.getTime()) ? refuse('expected a time such as 2026-01-31 14:05') : time.toISOString();
}

const readForm = (form: RegExp, message: string) => (text: string): string => (form.test(text.trim()) ? text.trim() : refuse(message));

function readBool(text: string): boolean {
  const word = text.trim().toLowerCase();
  if (['true', 'yes', '1'].includes(word)) return true;
  return ['false', 'no', '0'].includes(word) ? false : refuse('expected true or false');
}

function readJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function readIds(text: string, field: Field): Json {
  const ids = text.split(',').map((part) => readInteger(part) as Json);
  return field.options.many ? ids : ids.length === 1 ? ids[0]! : refuse('expected one id');
}

const idOf = (value: Json): string => plain(typeof value === 'object' && value !== null && !isExact(value) && 'id' in value ? (value.id as Json) : value);
const idsOf = (value: Json): string => (Array.isArray(value) ? value.map(idOf).join(',') : idOf(value));

const TEXT = { show: plain, write: plain, read: (text: string): Json => text };
const NUMBER = { width: 110, isNumber: true, editor: 'line', inCell: true, show: plain, write: plain } as const;

export const kinds: Record<FieldType, Kind> = {
  varchar: { ...TEXT, width: 200, editor: 'line', inCell: true },
  text: { ...TEXT, width: 260, editor: 'lines', inCell: false },
  integer: { ...NUMBER, read: readInteger },
  float: { ...NUMBER, read: readNumber },
  // The service keeps the digits of a decimal that is written as text.
  decimal: { ...NUMBER, read: (text) => (readNumber(text), text.trim()) },
  bool: { width: 90, editor: 'choice', inCell: true, show: (value) => (value ? 'yes' : 'no'), write: plain, read: readBool },
  date: { width: 120, editor: 'date', inCell: true, show: plain, write: plain, read: readDate },
  datetime: { width: 150, editor: 'datetime', inCell: true, show: (value) => showTime(plain(value)), write: plain, read: readTime },
  time: { ...TEXT, width: 110, editor: 'line', inCell: true, read: readForm(TIME_OF_DAY, 'expected a time of day such as 09:30') },
  uuid: { ...TEXT, width: 290, editor: 'line', inCell: true, read: readForm(UUID, 'expected a UUID such as 123e4567-e89b-42d3-a456-426614174000') },
  json: { width: 220, editor: 'json', inCell: false, show: plain, write: plain, read: readJson },
  enum: { ...TEXT, width: 120, editor: 'choice', inCell: true },
  file: {
    width: 160, editor: 'file', inCell: false, write: idOf, read: readInteger,
    show: (value) => (typeof value === 'object' && value !== null && 'filename' in value ? String(value.filename) : `#${plain(value)}`),
  },
  relation: { width: 180, editor: 'relation', inCell: true, show: idsOf, write: idsOf, read: readIds },
  secret: { ...TEXT, width: 110, editor: 'secret', inCell: false },
};

const CELL_CHARACTERS = 200;

/** The text of a cell: long values are cut, because a cell shows one line. */
export function cellText(field: Field, value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = kinds[field.type].show(value as Json);
  return text.length > CELL_CHARACTERS ? `${text.slice(0, CELL_CHARACTERS)}…` : text;
}

export function valueText(field: Field, value: unknown): string {
  return value === null || value === undefined ? '' : kinds[field.type].write(value as Json);
}

/** The value of a typed or pasted text. An empty text is null, except in a required text field, where it is the empty text. */
export function readValue(field: Field, text: string): Json {
  const isText = field.type === 'varchar' || field.type === 'text';
  if (text === '' && !(isText && field.required)) return field.options.many ? [] : null;
  return kinds[field.type].read(text, field);
}

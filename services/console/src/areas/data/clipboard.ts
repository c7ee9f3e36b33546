// Copies, pastes and fills of ranges of cells.
import type { Field } from '../../api/model.ts';
import type { Row } from '../../api/records.ts';
import { readValue, valueText } from './kinds.ts';
import { d } from './strings.en.ts';
import { pasteSize, printCells, readCells, type Range } from './tsv.ts';
import type { RowChange } from './writes.ts';

const COPIED_MAX = 5000;

/** The cells that a range refers to. The field of a column is undefined for the column of the selection. */
export interface Cells {
  row: (at: number) => Row | undefined;
  field: (col: number) => Field | undefined;
  /** The reason why a field cannot be changed. */
  off: (field: Field) => string | undefined;
}

function fieldsIn(cells: Cells, range: Range): Field[] {
  return Array.from({ length: range.right - range.left + 1 }, (_, at) => cells.field(range.left + at)).filter((field) => field !== undefined);
}

export function copyRange(cells: Cells, range: Range): string {
  const fields = fieldsIn(cells, range);
  const count = Math.min(range.bottom - range.top + 1, COPIED_MAX);
  return printCells(Array.from({ length: count }, (_, at) => fields.map((field) => valueText(field, cells.row(range.top + at)?.[field.name]))));
}

/** The changes that a pasted text makes. Throws an error that names the first cell with a wrong value: then nothing is pasted. */
export function pasteRange(cells: Cells, range: Range, text: string): RowChange[] {
  const pasted = readCells(text);
  const size = pasteSize(range, pasted);
  const changes = new Map<number, RowChange>();
  for (let row = 0; row < size.rows; row++) {
    const record = cells.row(range.top + row);
    const texts = pasted[row % pasted.length]!;
    for (let col = 0; record && col < size.cols; col++) {
      const field = cells.field(range.left + col);
      const value = texts[col % texts.length];
      if (!field || value === undefined) continue;
      const change = changes.get(record.id) ?? { id: record.id, values: {} };
      change.values[field.name] = readCell(cells, field, value, range.top + row + 1);
      changes.set(record.id, change);
    }
  }
  return [...changes.values()];
}

function readCell(cells: Cells, field: Field, text: string, row: number): unknown {
  try {
    const off = cells.off(field);
    if (off) throw new Error(off);
    return readValue(field, text);
  } catch (error) {
    throw new Error(d('pasteRefused', { row, field: field.name, message: error instanceof Error ? error.message : String(error) }));
  }
}

/** The changes that copy the first row of a range to the rows below it. */
export function fillRange(cells: Cells, range: Range): RowChange[] {
  const source = cells.row(range.top);
  const fields = fieldsIn(cells, range).filter((field) => !cells.off(field));
  if (!source || fields.length === 0) return [];
  const rows = Array.from({ length: range.bottom - range.top }, (_, at) => cells.row(range.top + 1 + at)).filter((row) => row !== undefined);
  return rows.map((row) => ({ id: row.id, values: Object.fromEntries(fields.map((field) => [field.name, source[field.name]])) }));
}

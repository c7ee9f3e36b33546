// Ranges of cells as text, as spreadsheets put them on the clipboard: cells with tabs between them, rows on lines.
// A cell with a tab, a line end or a quote is in double quotes.

export function printCells(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map((cell) => (/[\t\r\n"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join('\t')).join('\n');
}

export function readCells(text: string): string[][] {
  const rows: string[][] = [[]];
  const token = /"((?:[^"]|"")*)"(?=[\t\r\n]|$)|([^\t\r\n]*)/y;
  for (let at = 0; at <= text.length; ) {
    token.lastIndex = at;
    const match = token.exec(text)!;
    rows[rows.length - 1]!.push(match[1] === undefined ? match[2]! : match[1].replaceAll('""', '"'));
    at = token.lastIndex;
    if (at >= text.length) break;
    if (text.startsWith('\r\n', at)) at++;
    if (text[at] !== '\t') rows.push([]);
    at++;
  }
  // A spreadsheet ends the last row with a line end.
  const last = rows[rows.length - 1]!;
  if (rows.length > 1 && last.length === 1 && last[0] === '') rows.pop();
  return rows;
}

export interface Range {
  top: number;
  left: number;
  bottom: number;
  right: number;
}

export function rangeOf(a: { row: number; col: number }, b: { row: number; col: number }): Range {
  return { top: Math.min(a.row, b.row), left: Math.min(a.col, b.col), bottom: Math.max(a.row, b.row), right: Math.max(a.col, b.col) };
}

/** Whether the range is a whole number of copies of the pasted cells, which then fill the range. */
export function pasteSize(range: Range, cells: readonly (readonly string[])[]): { rows: number; cols: number } {
  const rows = range.bottom - range.top + 1;
  const cols = range.right - range.left + 1;
  const width = Math.max(...cells.map((row) => row.length));
  const fits = rows % cells.length === 0 && cols % width === 0;
  return fits ? { rows, cols } : { rows: cells.length, cols: width };
}

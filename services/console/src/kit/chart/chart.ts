// Charts as numbers: the answer of GET /charts/{id}/data becomes labels, series, scales and slices. No element is made here.
import { isExact, numberText, type Exact } from '../../api/json.ts';

export type Bucket = 'day' | 'week' | 'month' | 'quarter' | 'year';
export type ChartKind = 'metric' | 'bar' | 'line' | 'area' | 'pie' | 'table';

export interface ChartColumn {
  name: string;
  role: 'group' | 'value';
  type: string;
  bucket: Bucket | null;
}

interface Span {
  from: string;
  to: string;
}

export interface ChartData {
  kind: ChartKind;
  columns: ChartColumn[];
  rows: unknown[][];
  has_next_page: boolean;
  period: Span | null;
  previous_period: Span | null;
  previous: unknown[][] | null;
  as_of: string;
}

export interface Series {
  name: string;
  /** One value for each label; null where there is none. */
  values: (number | null)[];
  isPrevious?: boolean;
}

export interface Plot {
  labels: string[];
  series: Series[];
  /** Series that only the table shows. */
  hidden: number;
}

export const SERIES_MAX = 8;
const SLICES_MAX = 8;
const NONE = '–';

export function numberOf(value: unknown): number | null {
  if (value === null || value === undefined) return null;
  const number = Number(isExact(value) ? value.rawJSON : value);
  return Number.isFinite(number) ? number : null;
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const full = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });

export function shortNumber(value: number): string {
  return Math.abs(value) >= 10_000 ? compact.format(value) : full.format(value);
}

export function fullNumber(value: number | null): string {
  return value === null ? NONE : Math.abs(value) < 0.01 && value !== 0 ? String(value) : full.format(value);
}

const date = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en', { timeZone: 'UTC', ...options });
const dayText = date({ day: 'numeric', month: 'short', year: 'numeric' });
const monthText = date({ month: 'short', year: 'numeric' });
const BUCKET_TEXTS: Record<Bucket, (day: Date) => string> = {
  day: (day) => dayText.format(day),
  week: (day) => dayText.format(day),
  month: (day) => monthText.format(day),
  quarter: (day) => `Q${Math.floor(day.getUTCMonth() / 3) + 1} ${day.getUTCFullYear()}`,
  year: (day) => String(day.getUTCFullYear()),
};

/** A group or a value as text. */
export function cellText(column: ChartColumn, value: unknown): string {
  if (value === null || value === undefined || value === '') return NONE;
  if (column.bucket) {
    const day = new Date(`${String(value).slice(0, 10)}T00:00:00Z`);
    return Number.isNaN(day.getTime()) ? String(value) : BUCKET_TEXTS[column.bucket](day);
  }
  if (typeof value === 'number' || isExact(value)) return column.role === 'value' ? fullNumber(numberOf(value)) : numberText(value as number | Exact);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Labels and series. With two groups the second group names the series. */
export function plotOf(data: ChartData): Plot {
  const groups = data.columns.flatMap((column, at) => (column.role === 'group' ? [at] : []));
  const values = data.columns.flatMap((column, at) => (column.role === 'value' ? [at] : []));
  const text = (row: unknown[], at: number) => cellText(data.columns[at]!, row[at]);
  if (groups.length > 1) return pivot(data, groups, values[0]!, text);
  const labels = data.rows.map((row) => (groups.length > 0 ? text(row, groups[0]!) : ''));
  const series: Series[] = values.map((at) => ({ name: data.columns[at]!.name, values: data.rows.map((row) => numberOf(row[at])) }));
  if (data.previous && groups.length === 1) series.push(...values.map((at) => previousSeries(data, groups[0]!, at, text)));
  return { labels, series: series.slice(0, SERIES_MAX), hidden: Math.max(0, series.length - SERIES_MAX) };
}

/** Spans of time are compared by their order, other groups by their value. */
function previousSeries(data: ChartData, group: number, at: number, text: (row: unknown[], at: number) => string): Series {
  const previous = data.previous ?? [];
  const find = data.columns[group]!.bucket
    ? (_: unknown[], index: number) => previous[index]
    : (row: unknown[]) => previous.find((other) => text(other, group) === text(row, group));
  return { name: data.columns[at]!.name, isPrevious: true, values: data.rows.map((row, index) => numberOf(find(row, index)?.[at])) };
}

function pivot(data: ChartData, groups: number[], value: number, text: (row: unknown[], at: number) => string): Plot {
  const labels = [...new Set(data.rows.map((row) => text(row, groups[0]!)))];
  const places = new Map(labels.map((label, at) => [label, at]));
  const byName = new Map<string, Series>();
  for (const row of data.rows) {
    const name = text(row, groups[1]!);
    let series = byName.get(name);
    if (!series) byName.set(name, (series = { name, values: labels.map(() => null) }));
    series.values[places.get(text(row, groups[0]!))!] = numberOf(row[value]);
  }
  const all = [...byName.values()];
  return { labels, series: all.slice(0, SERIES_MAX), hidden: Math.max(0, all.length - SERIES_MAX) };
}

export interface Scale {
  low: number;
  high: number;
  ticks: number[];
}

/** An axis with round numbers that covers all values. A line that is far from zero has an axis without zero. */
export function scaleOf(series: readonly Series[], hasZero: boolean, steps = 4): Scale {
  const values = series.flatMap((each) => each.values).filter((value) => value !== null);
  let low = values.length > 0 ? Math.min(...values) : 0;
  let high = values.length > 0 ? Math.max(...values) : 1;
  if (hasZero || low * high <= 0 || Math.min(Math.abs(low), Math.abs(high)) < Math.max(Math.abs(low), Math.abs(high)) / 2) {
    low = Math.min(low, 0);
    high = Math.max(high, 0);
  }
  if (low === high) high = low + 1;
  const rough = (high - low) / steps;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough * 0.999) ?? 10) * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
  return { low: ticks[0]!, high: ticks[ticks.length - 1]!, ticks };
}

/** Every n-th label, so that labels of this width do not meet. */
export function labelStep(count: number, width: number, labelWidth: number): number {
  return Math.max(1, Math.ceil((count * labelWidth) / Math.max(width, 1)));
}

export interface Slice {
  name: string;
  value: number;
  share: number;
  /** The begin, in turns from the top. */
  from: number;
  /** The slice sums up the groups that are too small for a slice of their own. */
  isRest?: boolean;
}

/** The slices of a pie, or undefined when a value is negative or all are zero: a pie cannot show these. */
export function slicesOf(plot: Plot, rest: string): Slice[] | undefined {
  const parts = plot.labels.map((name, at) => ({ name, value: plot.series[0]?.values[at] ?? 0 }));
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  if (total <= 0 || parts.some((part) => part.value < 0)) return undefined;
  const sorted = parts.filter((part) => part.value > 0).sort((a, b) => b.value - a.value);
  const own = sorted.length > SLICES_MAX ? sorted.slice(0, SLICES_MAX - 1) : sorted;
  const others = sorted.slice(own.length).reduce((sum, part) => sum + part.value, 0);
  const all: { name: string; value: number; isRest?: boolean }[] = others > 0 ? [...own, { name: rest, value: others, isRest: true }] : own;
  let from = 0;
  return all.map((part) => {
    const slice = { ...part, share: part.value / total, from };
    from += slice.share;
    return slice;
  });
}

/** The path of a slice of a ring around 0,0. */
export function arcPath(from: number, share: number, outer: number, inner: number): string {
  // A whole ring has no begin and end that differ, so an arc cannot draw it.
  const turn = Math.min(share, 0.99999);
  const point = (at: number, radius: number) => {
    const angle = at * 2 * Math.PI - Math.PI / 2;
    return `${(Math.cos(angle) * radius).toFixed(2)} ${(Math.sin(angle) * radius).toFixed(2)}`;
  };
  const isLarge = turn > 0.5 ? 1 : 0;
  const to = from + turn;
  return `M${point(from, outer)}A${outer} ${outer} 0 ${isLarge} 1 ${point(to, outer)}L${point(to, inner)}A${inner} ${inner} 0 ${isLarge} 0 ${point(from, inner)}Z`;
}

/** Runs of neighbouring values: a line is interrupted where a value is missing. */
export function linePath(values: readonly (number | null)[], x: (at: number) => number, y: (value: number) => number): string {
  let path = '';
  let isOpen = false;
  for (const [at, value] of values.entries()) {
    if (value !== null) {
      path += `${isOpen ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      // A value between two gaps is a point: a line without length has round ends.
      if (!isOpen && (values[at + 1] ?? null) === null) path += 'h0';
    }
    isOpen = value !== null;
  }
  return path;
}

export function areaPath(values: readonly (number | null)[], x: (at: number) => number, y: (value: number) => number, base: number): string {
  let path = '';
  for (let at = 0; at < values.length; at++) {
    if (values[at] === null) continue;
    let end = at;
    while (end + 1 < values.length && values[end + 1] !== null) end++;
    path += `M${x(at).toFixed(1)} ${base.toFixed(1)}`;
    for (let each = at; each <= end; each++) path += `L${x(each).toFixed(1)} ${y(values[each]!).toFixed(1)}`;
    path += `L${x(end).toFixed(1)} ${base.toFixed(1)}Z`;
    at = end;
  }
  return path;
}

/** The change from a value to the next one as a share, or undefined when there is nothing to compare with. */
export function changeOf(now: number | null, before: number | null): number | undefined {
  return now === null || before === null || before === 0 ? undefined : (now - before) / Math.abs(before);
}

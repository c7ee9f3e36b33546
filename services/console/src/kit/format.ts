// Numbers, sizes and times for readers.
import { numberText, type Exact } from '../api/json.ts';
import { lazy } from '../lazy.ts';

const numbers = lazy(() => new Intl.NumberFormat('en', { maximumFractionDigits: 20 }));
const times = lazy(() => new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }));
const seconds = lazy(() => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' }));
const relative = lazy(() => new Intl.RelativeTimeFormat('en', { numeric: 'auto' }));
const UNITS: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [['day', 86_400], ['hour', 3600], ['minute', 60], ['second', 1]];

export function showCount(n: number): string {
  return numbers().format(n);
}

/** A number as it is stored: digits that a double cannot hold, and zeros at the end, stay. */
export function showNumber(value: number | Exact): string {
  return numberText(value);
}

export function showTime(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : times().format(time).replace(',', '');
}

export function showTimeFully(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : seconds().format(time);
}

export function showAgo(iso: string, now = Date.now()): string {
  const passed = (new Date(iso).getTime() - now) / 1000;
  const [unit, size] = UNITS.find((each) => Math.abs(passed) >= each[1]) ?? UNITS[UNITS.length - 1]!;
  return Math.abs(passed) > 30 * 86_400 ? showTime(iso) : relative().format(Math.trunc(passed / size), unit);
}

export function showBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 4);
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${['B', 'KB', 'MB', 'GB', 'TB'][power]}`;
}

export function showDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The time in the form of the browser's field for times, in the reader's zone. */
export function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return '';
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');
  const clock = `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}.${pad(time.getMilliseconds(), 3)}`;
  return `${pad(time.getFullYear(), 4)}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}T${clock}`;
}

// Seconds as a reader says them.
import { s } from './strings.en.ts';

/** The largest unit that has a whole number, such as 30 days or 90 minutes. */
export function durationText(seconds: number): string {
  if (seconds > 0 && seconds % 86_400 === 0) return s('days', { n: seconds / 86_400 });
  if (seconds > 0 && seconds % 3600 === 0) return s('hours', { n: seconds / 3600 });
  if (seconds > 0 && seconds % 60 === 0) return s('minutes', { n: seconds / 60 });
  return s('secondsOf', { n: seconds });
}

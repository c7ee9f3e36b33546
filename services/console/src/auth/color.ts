// Colors with the contrast of WCAG 2.2: made of any accent color.
type Rgb = readonly [number, number, number];

const TEXT_CONTRAST = 4.5;
const STEPS = 20;

export function readColor(text: string): Rgb | undefined {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  return match ? [parseInt(match[1]!, 16), parseInt(match[2]!, 16), parseInt(match[3]!, 16)] : undefined;
}

const printColor = (color: Rgb): string => `#${color.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

export function contrast(one: Rgb, other: Rgb): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

export interface Accent {
  /** The color of buttons. */
  fill: string;
  /** The color of texts on buttons: black or white. One of both has a contrast of at least 4.58 on any color. */
  onFill: string;
  /** The color of links and outlines on the page. */
  text: string;
}

/** undefined: `accent` is no color. */
export function accentOn(accent: string, page: string): Accent | undefined {
  const fill = readColor(accent);
  const ground = readColor(page);
  if (!fill || !ground) return undefined;
  const black: Rgb = [0, 0, 0];
  const white: Rgb = [255, 255, 255];
  const far = contrast(ground, black) > contrast(ground, white) ? black : white;
  let text = fill;
  for (let step = 1; step <= STEPS && contrast(text, ground) < TEXT_CONTRAST; step++) {
    text = fill.map((part, at) => part + ((far[at]! - part) * step) / STEPS) as unknown as Rgb;
  }
  return {
    fill: printColor(fill),
    onFill: contrast(fill, black) > contrast(fill, white) ? '#000000' : '#ffffff',
    text: printColor(text.map(Math.round) as unknown as Rgb),
  };
}

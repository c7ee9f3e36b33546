// Places of the steps and links on the canvas.
import { Graph, layout } from '@dagrejs/dagre';
import { linkNames, linksOf, START, type FlowLink, type FlowStep } from './graph.ts';

export type Direction = 'LR' | 'TB';
export const NODE = { width: 224, height: 60 };
const LABEL = { width: 88, height: 28 };
/** A link without a name has one button. */
const BUTTON = { width: 28, height: 28 };
const WEIGHTS = { next: 4, then: 4, else: 2, on_failure: 1 };

interface Point {
  x: number;
  y: number;
}

export interface PlacedLink extends FlowLink {
  /** The points between both ends. */
  points: Point[];
  label: Point;
}

export interface Layout {
  /** The top left corner of each step and of the trigger. */
  places: Map<string, Point>;
  links: PlacedLink[];
}

export function placeSteps(steps: readonly FlowStep[], start: string | null | undefined, direction: Direction): Layout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 40, ranksep: 36, edgesep: 24 });
  const keys = [START, ...steps.map((step) => step.key)];
  for (const key of keys) graph.setNode(key, { ...NODE });
  const links = linksOf(steps, start);
  for (const link of links) graph.setEdge(link.from, link.to, { ...(link.name === 'next' ? BUTTON : LABEL), labelpos: 'c', weight: WEIGHTS[link.name] }, link.name);
  // A step with a link and an open end needs room for the button of the open end.
  for (const step of steps) {
    const open = linkNames(step).filter((name) => name !== 'on_failure' && !links.some((link) => link.from === step.key && link.name === name));
    if (!links.some((link) => link.from === step.key)) continue;
    for (const name of open) {
      graph.setNode(`${step.key}/${name}`, { ...BUTTON });
      graph.setEdge(step.key, `${step.key}/${name}`, { width: 1, height: 1, labelpos: 'c', weight: WEIGHTS[name] }, name);
    }
  }
  layout(graph);
  const places = new Map(keys.map((key) => {
    const { x, y } = graph.node(key) as Point;
    return [key, { x: x - NODE.width / 2, y: y - NODE.height / 2 }] as const;
  }));
  const placed = links.map((link) => {
    const { points, x, y } = graph.edge(link.from, link.to, link.name) as Point & { points: Point[] };
    // The first and the last point are on the borders of the steps, where the link has its own ends.
    return { ...link, points: points.slice(1, -1), label: { x, y } };
  });
  return { places, links: placed };
}

/** A smooth line through points, along the direction of the flow at each point. */
export function linePath(points: readonly Point[], direction: Direction): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let at = first;
  return rest.reduce((path, to) => {
    const half = direction === 'LR' ? { x: (to.x - at.x) / 2, y: 0 } : { x: 0, y: (to.y - at.y) / 2 };
    const part = ` C ${at.x + half.x} ${at.y + half.y}, ${to.x - half.x} ${to.y - half.y}, ${to.x} ${to.y}`;
    at = to;
    return path + part;
  }, `M ${first.x} ${first.y}`);
}

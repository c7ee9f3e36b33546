// Positions of boxes by dagre: entities to the left of the entities that they refer to.
import dagre from '@dagrejs/dagre';
import { looseWidth, placeLoose, wrapRanks, type Box, type Point, type Relation } from './graph.ts';

const BETWEEN_RANKS = 140;
const BETWEEN_BOXES = 32;
const BELOW = 64;

export function layout(boxes: readonly Box[], relations: readonly Relation[]): Map<string, Point> {
  const related = new Set(relations.filter((each) => each.from !== each.to).flatMap((each) => [each.from, each.to]));
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', ranksep: BETWEEN_RANKS, nodesep: BETWEEN_BOXES });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { name, width, height } of boxes) if (related.has(name)) graph.setNode(name, { width, height });
  for (const { id, from, to } of relations) if (graph.hasNode(from) && graph.hasNode(to) && from !== to) graph.setEdge(from, to, {}, id);
  const places = new Map<string, Point>();
  let bottom = 0;
  let right = 0;
  if (graph.nodeCount() > 0) {
    dagre.layout(graph);
    const nodes = graph.nodes().map((name) => ({ name, ...(graph.node(name) as { x: number; y: number; width: number; height: number }) }));
    for (const { name, x, y, width, height } of wrapRanks(nodes)) {
      places.set(name, { x: x - width / 2, y: y - height / 2 });
      bottom = Math.max(bottom, y + height / 2 + BELOW);
      right = Math.max(right, x + width / 2);
    }
  }
  const loose = boxes.filter((box) => !related.has(box.name));
  for (const [name, place] of placeLoose(loose, bottom, Math.max(right, looseWidth(loose)))) places.set(name, place);
  return places;
}

// Places a popover at the button that opens it, within the window.

const GAP = 4;
const EDGE = 8;

export function placeAt(element: HTMLElement, anchor: Element, align: 'start' | 'end'): void {
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = align === 'start' ? at.left : at.right - width;
  const below = at.bottom + GAP;
  const fitsBelow = below + height <= innerHeight - EDGE || at.top < innerHeight - at.bottom;
  element.style.left = `${Math.max(EDGE, Math.min(left, innerWidth - width - EDGE))}px`;
  element.style.top = `${Math.max(EDGE, fitsBelow ? Math.min(below, innerHeight - height - EDGE) : at.top - GAP - height)}px`;
}

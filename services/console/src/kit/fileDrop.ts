// Files that are dropped on the page.
import type { Attachment } from 'svelte/attachments';

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;

/** Gives the first file that is dropped on an element to `take`. The element has the class is-over while files are above it. */
export function fileDrop(take: (file: File) => void): Attachment<HTMLElement> {
  return (element) => {
    const mark = (isOver: boolean) => element.classList.toggle('is-over', isOver);
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      mark(true);
    };
    // Moving between two children of the element is no leave.
    const leave = (event: DragEvent) => !element.contains(event.relatedTarget as Node | null) && mark(false);
    const drop = (event: DragEvent) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      mark(false);
      take(file);
    };
    element.addEventListener('dragover', over);
    element.addEventListener('dragleave', leave);
    element.addEventListener('drop', drop);
    return () => {
      element.removeEventListener('dragover', over);
      element.removeEventListener('dragleave', leave);
      element.removeEventListener('drop', drop);
    };
  };
}

/** Ignores files that are dropped on other elements: the browser would leave the page to show the file. */
export function ignoreOtherDrops(): void {
  const ignore = (event: DragEvent) => {
    if (event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = 'none';
  };
  addEventListener('dragover', ignore);
  addEventListener('drop', ignore);
}

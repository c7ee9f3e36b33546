// Descriptions of the documents: the small part of Markdown that they have.

export interface Part {
  text: string;
  isCode: boolean;
}
export interface Block {
  parts: Part[];
  items?: Part[][];
}

/** Words in backticks are code. A backtick without a second one is text. */
export function readParts(text: string): Part[] {
  const parts = text.split(/(`[^`]+`)/).filter((part) => part !== '');
  return parts.map((part) => (/^`[^`]+`$/.test(part) ? { text: part.slice(1, -1), isCode: true } : { text: part, isCode: false }));
}

export function readProse(text: string): Block[] {
  return text.split(/\n{2,}/).filter((block) => block.trim() !== '').map((block): Block => {
    const lines = block.split('\n');
    if (lines.every((line) => line.startsWith('- '))) return { parts: [], items: lines.map((line) => readParts(line.slice(2))) };
    return { parts: readParts(lines.join(' ')) };
  });
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** How many characters people see: an emoji of a whole family is one. Linear time and constant space. */
export function countGraphemes(text: string): number {
  let count = 0;
  for (const _ of segmenter.segment(text)) {
    count += 1;
  }

  return count;
}

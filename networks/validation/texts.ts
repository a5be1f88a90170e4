import type { Content, Measure } from '../content-rules.ts';

export type TextResult = { readonly measure: Measure; readonly errors: readonly string[] };

/** Whitespace alone is no text: every network trims it away. */
export const isBlank = (text: string): boolean => text.trim() === '';

/**
 * Validates each text by itself: what it measures, and what its network has against it. In a thread of several texts
 * each sentence begins with the part that it is about.
 *
 * @param network As people call it, for messages: `Bluesky`.
 * @param validateText Called with every text, the blank ones included; its errors count only for texts that are not blank.
 */
export function validateTexts(
  content: Pick<Content, 'texts' | 'media'>,
  network: string,
  validateText: (text: string) => TextResult,
): { readonly texts: readonly Measure[]; readonly errors: readonly string[] } {
  const { texts, media } = content;
  const results = texts.map(validateText);
  const measures = results.map(({ measure }) => measure);
  if (texts.every(isBlank) && media.length === 0) {
    return { texts: measures, errors: [`There is neither a text nor a file for ${network}.`] };
  }

  const errors = results.flatMap(({ errors: faults }, index) => {
    const where = texts.length > 1 ? `Part ${index + 1}: ` : '';
    if (!isBlank(texts[index] ?? '')) {
      return faults.map((fault) => where + fault);
    }

    // The files go with the first part, and may stand alone there.
    return index > 0 || media.length === 0 ? [`${where}There is no text in it.`] : [];
  });
  return { texts: measures, errors };
}

/**
 * The one text that a network without threads gets: the parts joined by a blank line.
 *
 * The caller has joined them already when it keeps to the contract; this holds for one that has not.
 */
export const asOneText = (texts: readonly string[]): readonly string[] =>
  texts.length > 1 ? [texts.join('\n\n')] : texts;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Texts from this length on, in UTF-16 units, are counted once, as each channel asks anew: 50,000 take 10 ms. */
const longFrom = 1000;
const mostKept = 64;
const counts = new Map<string, number>();

/** How many characters people see: an emoji of a whole family is one. Linear time. */
export function countGraphemes(text: string): number {
  if (text.length < longFrom) {
    return count(text);
  }

  const known = counts.get(text) ?? count(text);
  counts.delete(text);
  counts.set(text, known);
  for (const oldest of counts.keys()) {
    if (counts.size <= mostKept) {
      break;
    }

    counts.delete(oldest);
  }

  return known;
}

function count(text: string): number {
  let characters = 0;
  for (const _ of segmenter.segment(text)) {
    characters += 1;
  }

  return characters;
}

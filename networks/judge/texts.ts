import type { Content, Measure } from '../content-rules.ts';

export type TextVerdict = { readonly measure: Measure; readonly errors: readonly string[] };

/** Whitespace alone is no text: every network trims it away. */
export const isBlank = (text: string): boolean => text.trim() === '';

/**
 * Judges each text by itself: what it measures, and what its network has against it. In a thread of several texts
 * each sentence begins with the part that it is about.
 *
 * @param network As people call it, for messages: `Bluesky`.
 * @param judgeText Called with every text, the blank ones included; its errors count only for texts that are not blank.
 */
export function judgeTexts(
  content: Pick<Content, 'texts' | 'media'>,
  network: string,
  judgeText: (text: string) => TextVerdict,
): { readonly texts: readonly Measure[]; readonly errors: readonly string[] } {
  const { texts, media } = content;
  const verdicts = texts.map(judgeText);
  const measures = verdicts.map(({ measure }) => measure);
  if (texts.every(isBlank) && media.length === 0) {
    return { texts: measures, errors: [`There is neither a text nor a file for ${network}.`] };
  }

  const errors = verdicts.flatMap(({ errors: faults }, index) => {
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

import type {
  Content,
  FaultFacts,
  Limits,
  Measure,
  TextLimit,
  TextUnit,
} from '../content-rules.ts';

/** A text of whitespace alone counts as empty, because every network trims it. */
export const isBlank = (text: string): boolean => text.trim() === '';

export type TextFaults = (text: string) => readonly string[];

/** A sentence, with its facts if it is about a limit. */
type TextFault = Pick<FaultFacts, 'message'> & Partial<FaultFacts>;

/**
 * Validates each text: its length, and the network's further rules. In a thread of several texts each sentence begins
 * with the part that it concerns.
 *
 * @param more Called only for texts that are not too long, because patterns of libraries may be slow.
 */
export function validateTexts(
  { texts, media }: Pick<Content, 'texts' | 'media'>,
  { name, text: limits }: Pick<Limits, 'name' | 'text'>,
  more: TextFaults = () => [],
): { readonly texts: readonly Measure[]; readonly faults: readonly TextFault[] } {
  const measured = texts.map((text) =>
    limits.map((limit) => ({ limit, length: limit.measure(text) })),
  );
  const measures = measured.flatMap((all) => nearest(all) ?? []);
  if (texts.every(isBlank) && media.flat().length === 0) {
    const message = `There is neither a text nor a file for ${name}.`;
    return { texts: measures, faults: [missingText(message, 0)] };
  }

  const faults = texts.flatMap((text, part): TextFault[] => {
    const where = wherePart(texts, part);
    if (isBlank(text)) {
      const isMissing = (media[part] ?? []).length === 0;
      return isMissing ? [missingText(`${where}There is no text in it.`, part)] : [];
    }

    const tooLong = (measured[part] ?? []).filter(({ length, limit }) => length > limit.max);
    return tooLong.length > 0
      ? tooLong.map((one) => ({
          message: where + lengthFault(one, name),
          rule: 'text_length',
          limit: one.limit.max,
          actual: one.length,
          at: { part, of: 'text' },
        }))
      : more(text).map((fault) => ({ message: where + fault }));
  });
  return { texts: measures, faults };
}

const missingText = (message: string, part: number): FaultFacts => ({
  message,
  rule: 'text_missing',
  limit: null,
  actual: null,
  at: { part, of: 'text' },
});

/** The beginning of sentences about a part of a thread; empty for a single post. */
export const wherePart = (texts: readonly string[], index: number): string =>
  texts.length > 1 ? `Part ${index + 1}: ` : '';

type Measured = { readonly limit: TextLimit; readonly length: number };

function nearest(measured: readonly Measured[]): Measure | undefined {
  const share = ({ length, limit: { max } }: Measured) => length / max;
  const [first] = measured.toSorted((a, b) => share(b) - share(a));
  return first && { length: first.length, limit: first.limit.max, unit: first.limit.unit };
}

const unitWords: Readonly<Record<TextUnit, string>> = {
  characters: 'characters',
  graphemes: 'characters',
  bytes: 'bytes of UTF-8',
};

function lengthFault({ limit, length }: Measured, network: string): string {
  const { max, unit, linkLength, emoji, subject = 'it', beside } = limit;
  const weights = [
    ...(linkLength === null ? [] : [['a link', linkLength] as const]),
    ...(emoji === null ? [] : [['an emoji', emoji] as const]),
  ];
  const words = weights.map(([what, weight], n) => `${what} ${n === 0 ? 'counts ' : ''}${weight}`);
  const counting = words.length > 0 ? ` (${words.join(', ')})` : '';
  return `The text is too long for ${network}: ${subject} takes ${max} ${unitWords[unit]}${counting}, and this is ${length}${beside === undefined ? '' : `, of which ${beside}`}.`;
}

/**
 * The content for a network without threads: one text, the parts joined by a blank line, with the files of all parts.
 * Callers should have joined the texts already; this covers those that have not.
 */
export const asOnePost = ({ texts, media, ...rest }: Content): Content => ({
  ...rest,
  texts: texts.length > 1 ? [texts.join('\n\n')] : texts,
  media: [media.flat()],
});

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Texts from this length on, in UTF-16 units, are measured once for all channels: 50,000 units take 10 ms. */
const longFrom = 1000;
const mostKept = 64;

/** Caches the measures of the last 64 long texts: more than a post has. */
export function measuredOnce<T>(measureText: (text: string) => T): (text: string) => T {
  const lengths = new Map<string, T>();
  return (text) => {
    if (text.length < longFrom) {
      return measureText(text);
    }

    const known = lengths.get(text) ?? measureText(text);
    lengths.delete(text);
    lengths.set(text, known);
    const [oldest = ''] = lengths.keys();
    if (lengths.size > mostKept) {
      lengths.delete(oldest);
    }
    return known;
  };
}

/** Each character of such a text is a grapheme. Splitting it would take longer than all its other checks. */
export const isPlain = (text: string): boolean => /^[\n -~]*$/v.test(text);

/** Counts graphemes: an emoji of a family is one. Linear time. */
export const countGraphemes = measuredOnce((text) => {
  if (isPlain(text)) {
    return text.length;
  }

  let characters = 0;
  for (const _ of segmenter.segment(text)) {
    characters += 1;
  }

  return characters;
});

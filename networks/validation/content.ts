import type {
  AttachmentFacts,
  Content,
  FaultFacts,
  FileKind,
  Limits,
  ValidationResult,
} from '../content-rules.ts';
import { countOf, faultsOf, kindOf, list, nameOf, numberOf } from './files.ts';
import { isBlank, validateTexts, wherePart, type TextFaults } from './texts.ts';

export const sentences = (...all: readonly (string | false)[]): string[] =>
  all.filter((sentence) => sentence !== false);

/** Faults of a first comment. @param max In UTF-16 code units, the strictest reading of "characters". */
export const commentFaults = (network: string, comment: string, max: number): string[] =>
  sentences(
    comment.length > max &&
      `The first comment is too long for ${network}: it takes ${numberOf(max)} characters, and this is ${comment.length}.`,
    isBlank(comment) && 'There is no text in the first comment.',
  );

type OwnRules = {
  /** Checks a text that is neither blank nor too long. */
  readonly text?: TextFaults;
  readonly fileErrors?: (file: AttachmentFacts) => readonly string[];
  readonly fileWarnings?: (file: AttachmentFacts) => readonly string[];
};

export function validateByLimits(
  content: Content,
  limits: Limits,
  { text, fileErrors = () => [], fileWarnings = () => [] }: OwnRules = {},
): ValidationResult {
  const { texts, faults: ofTexts } = validateTexts(content, limits, text);
  const ofParts = Array.from({ length: Math.max(1, content.texts.length) }, (_none, part) => {
    const media = content.media[part] ?? [];
    const where = wherePart(content.texts, part);
    const known = [...mixtureFaults(media, limits), ...validateFiles(media, limits)];
    const own = (isWarning: boolean, messages: readonly string[]) =>
      messages.map((message) => ({ isWarning, message: where + message }));
    return [
      ...known.map(({ file, ...fault }) => {
        const at = { part, of: 'files', ...(file === undefined ? {} : { file }) } as const;
        return Object.assign({}, fault, { message: where + fault.message, at });
      }),
      ...own(false, media.flatMap(fileErrors)),
      ...own(true, media.flatMap(fileWarnings)),
    ];
  });
  const faults: readonly Judged[] = ofParts.flat();
  const said = (isWarning: boolean) => faults.filter((fault) => fault.isWarning === isWarning);
  const messagesOf = (all: readonly Pick<FaultFacts, 'message'>[]) =>
    all.map(({ message }) => message);
  return {
    texts,
    errors: messagesOf([...ofTexts, ...said(false)]),
    warnings: messagesOf(said(true)),
    facts: [...ofTexts, ...faults].filter((fault): fault is FaultFacts => fault.rule !== undefined),
  };
}

type Judged = Pick<FaultFacts, 'message'> & Partial<FaultFacts> & { readonly isWarning: boolean };

type FileFault = Omit<FaultFacts, 'at'> & {
  /** The network may accept it: facts about the file are unknown. */
  readonly isWarning: boolean;
  /** Which of the files, from 0; absent for all of them together. */
  readonly file?: number;
};

export const validateFiles = (
  media: readonly AttachmentFacts[],
  { name: network, files: kinds }: Pick<Limits, 'name' | 'files'>,
): FileFault[] =>
  media.flatMap((file, index) =>
    faultsOf(file, kinds).flatMap((fault): FileFault[] => {
      if (!fault) {
        return [];
      }

      const isWarning = 'unknown' in fault;
      const message = isWarning
        ? `It is unknown ${fault.unknown} ${nameOf(file)} has; on ${network} ${fault.limit}.`
        : `${fault.what ?? nameOf(file)} ${fault.is} for ${network}: ${fault.limit}, and this ${fault.actual}.`;
      const [limit, actual] = (!isWarning && fault.numbers) || [null, null];
      return [{ message, rule: fault.rule, limit, actual, file: index, isWarning }];
    }),
  );

/**
 * Problems of the files as a whole: too many of a kind, too few, or a mixture of kinds. Files of an unknown kind are
 * ignored, because the check of types refuses them.
 */
function mixtureFaults(
  media: readonly AttachmentFacts[],
  { name: network, files: kinds }: Pick<Limits, 'name' | 'files'>,
): FileFault[] {
  const counts = kinds.map((kind) => ({
    ...kind,
    count: media.filter((file) => kindOf(file, kinds) === kind).length,
  }));
  const present = counts.filter(({ count }) => count > 0);
  if (
    present.length < 2 &&
    counts.every(({ count, max, min = 0 }) => count >= min && count <= max)
  ) {
    return [];
  }

  const taken = kinds.filter(({ max }) => max > 0).map(amountOf);
  const limit = taken.join(', or ') || 'no files';
  const sentence = `${network} takes ${limit} in a post, and there ${actualOf(present)}.`;
  const message = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return [{ message, rule: 'file_count', limit: null, actual: media.length, isWarning: false }];
}

function amountOf({ one: name, max, min = 0 }: FileKind): string {
  if (min === max) {
    return `exactly ${countOf(max, name)}`;
  }

  return max > 1 ? `up to ${max} ${name}s` : `1 ${name}`;
}

/** The files in words: `is 1 video`, `are 2 images and 1 video`, `is none`. */
function actualOf(present: readonly { readonly one: string; readonly count: number }[]): string {
  const total = present.reduce((sum, { count }) => sum + count, 0);
  const presentFiles = list(present.map(({ one: name, count }) => countOf(count, name)));
  return `${total < 2 ? 'is' : 'are'} ${presentFiles || 'none'}`;
}

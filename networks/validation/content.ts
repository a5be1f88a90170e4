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

/** The sentences that apply. */
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
  /** Problems of a file beyond the limits of its kind, as sentences. */
  readonly fileErrors?: (file: AttachmentFacts) => readonly string[];
  /** What the network shows differently than expected, as sentences. */
  readonly fileWarnings?: (file: AttachmentFacts) => readonly string[];
};

/** Validates the texts and the files of each part by a network's limits. */
export function validateByLimits(
  content: Content,
  limits: Limits,
  { text, fileErrors = () => [], fileWarnings = () => [] }: OwnRules = {},
): ValidationResult {
  const { texts, errors, facts } = validateTexts(content, limits, text);
  const parts = Array.from({ length: Math.max(1, content.texts.length) }, (_, index) => {
    const media = content.media[index] ?? [];
    const where = wherePart(content.texts, index);
    const files = validateFiles(media, limits);
    const mixture = mixtureFaults(media, limits);
    const faults = [...mixture, ...files.errors, ...media.flatMap(fileErrors)];
    const count = { rule: 'file_count', limit: null, actual: media.length };
    const known: FileFacts[] = [
      ...mixture.map((message) => Object.assign({ message }, count)),
      ...files.facts,
    ];
    const warnings = [...files.warnings, ...media.flatMap(fileWarnings)];
    return {
      errors: faults.map((fault) => where + fault),
      warnings: warnings.map((warning) => where + warning),
      facts: known.map(({ file, ...fact }) => {
        const at = { part: index, of: 'files', ...(file === undefined ? {} : { file }) } as const;
        return Object.assign({}, fact, { message: where + fact.message, at });
      }),
    };
  });
  return {
    texts,
    errors: [...errors, ...parts.flatMap((part) => part.errors)],
    warnings: parts.flatMap((part) => part.warnings),
    facts: [...facts, ...parts.flatMap((part) => part.facts)],
  };
}

export type Faults = {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly facts: readonly FileFacts[];
};

/** @param file Which of the files, from 0; absent for all of them together. */
type FileFacts = Omit<FaultFacts, 'at'> & { readonly file?: number };

/**
 * Validates every file by the limits of its kind. A type without a kind is refused.
 *
 * Unknown facts about a file give warnings, not errors, because the network may accept it.
 */
export function validateFiles(
  media: readonly AttachmentFacts[],
  { name: network, files: kinds }: Pick<Limits, 'name' | 'files'>,
): Faults {
  const errors: string[] = [];
  const warnings: string[] = [];
  const facts: FileFacts[] = [];
  for (const [index, file] of media.entries()) {
    for (const fault of faultsOf(file, kinds)) {
      if (fault) {
        const isKnown = !('unknown' in fault);
        const sentence = isKnown
          ? `${fault.what ?? nameOf(file)} ${fault.is} for ${network}: ${fault.limit}, and this ${fault.actual}.`
          : `It is unknown ${fault.unknown} ${nameOf(file)} has; on ${network} ${fault.limit}.`;
        (isKnown ? errors : warnings).push(sentence);
        const [limit, actual] = (isKnown && fault.numbers) || [null, null];
        facts.push({ message: sentence, rule: fault.rule, limit, actual, file: index });
      }
    }
  }

  return { errors, warnings, facts };
}

/**
 * Problems of the files as a whole: too many of a kind, too few, or a mixture of kinds. Files of an unknown kind are
 * ignored, because the check of types refuses them.
 */
function mixtureFaults(
  media: readonly AttachmentFacts[],
  { name: network, files: kinds }: Pick<Limits, 'name' | 'files'>,
): string[] {
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
  return [sentence.charAt(0).toUpperCase() + sentence.slice(1)];
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

import type { MediaFacts } from '../content-rules.ts';
import { countOf, durationOf, list, numberOf, sizesOf } from './amounts.ts';
import { quote } from '../answer.ts';

/** What a network takes of one kind of file. All bounds are inclusive. */
type FileRule = {
  /** How messages call a file of this kind: `an image`. */
  readonly kind: string;
  readonly minBytes?: number;
  readonly maxBytes?: number;
  /** Width times height. */
  readonly maxPixels?: number;
  /** Checked only together with `maxDurationMs`. */
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
  /** How many times as long the longer side may be as the shorter one. */
  readonly maxAspect?: number;
};

/** Which types a network takes, each with the rule of its kind: `video/mp4`, or `image/*` for all that are not named. */
export type TypeRules = Readonly<Record<string, FileRule>>;

export type Faults = { readonly errors: readonly string[]; readonly warnings: readonly string[] };

/**
 * Validates every file by the rule of its type; a type without a rule is one that the network does not take.
 *
 * What is not known of a file is a warning and no error, because the network may well take it.
 *
 * @param network As people call it, for messages: `Bluesky`.
 */
export function validateFiles(
  media: readonly MediaFacts[],
  rules: TypeRules,
  network: string,
): Faults {
  const errors: string[] = [];
  const warnings: string[] = [];
  for (const file of media) {
    const rule = ruleOf(file, rules);
    const faults = rule
      ? [sizeFault, pixelsFault, aspectFault, durationFault].map((validate) => validate(file, rule))
      : [typeFault(file, Object.keys(rules))];
    for (const fault of faults) {
      if (fault) {
        const isKnown = !('unknown' in fault);
        const sentence = isKnown
          ? `${nameOf(file)} ${fault.is} for ${network}: ${fault.limit}, and this ${fault.actual}.`
          : `It could not be told ${fault.unknown} ${nameOf(file)} has; on ${network} ${fault.limit}.`;
        (isKnown ? errors : warnings).push(sentence);
      }
    }
  }

  return { errors, warnings };
}

function ruleOf({ type }: MediaFacts, rules: TypeRules): FileRule | undefined {
  const known = [type, type.replace(/\/.*$/s, '/*')].find((name) => Object.hasOwn(rules, name));
  return known === undefined ? undefined : rules[known];
}

/** How messages call a file: by its name, in quotation marks. */
export const nameOf = (file: MediaFacts): string => quote(file.name, []) || 'A file';

type Fault =
  | { readonly is: string; readonly limit: string; readonly actual: string }
  | { readonly unknown: string; readonly limit: string };

const typeFault = ({ type }: MediaFacts, types: readonly string[]): Fault => ({
  is: 'is of the wrong kind',
  limit: `it takes ${list(types)}`,
  actual: `is ${quote(type, []) || 'of no known type'}`,
});

function sizeFault({ sizeBytes }: MediaFacts, rule: FileRule): Fault | null {
  const { kind, minBytes = 0, maxBytes = Infinity } = rule;
  if (sizeBytes > maxBytes) {
    const [limit, actual] = sizesOf(maxBytes, sizeBytes);
    return {
      is: 'is too large',
      limit: `${kind} may have up to ${limit}`,
      actual: `has ${actual}`,
    };
  }

  if (sizeBytes < minBytes) {
    const [limit, actual] = sizesOf(minBytes, sizeBytes);
    return { is: 'is too small', limit: `${kind} has ${limit} or more`, actual: `has ${actual}` };
  }

  return null;
}

function pixelsFault({ width, height }: MediaFacts, rule: FileRule): Fault | null {
  const { kind, maxPixels } = rule;
  if (maxPixels === undefined) {
    return null;
  }

  const limit = `${kind} may have up to ${numberOf(maxPixels)} pixels`;
  if (width === null || height === null) {
    return { unknown: 'how many pixels', limit };
  }

  const pixels = width * height;
  const actual = `has ${numberOf(pixels)} (${width} × ${height})`;
  return pixels > maxPixels ? { is: 'has too many pixels', limit, actual } : null;
}

function aspectFault({ width, height }: MediaFacts, rule: FileRule): Fault | null {
  const { kind, maxAspect } = rule;
  if (maxAspect === undefined) {
    return null;
  }

  const limit = `${kind} may be shaped from 1:${maxAspect} to ${maxAspect}:1`;
  if (width === null || height === null) {
    return { unknown: 'what shape', limit };
  }

  const isNarrow = width > height * maxAspect || height > width * maxAspect;
  return isNarrow ? { is: 'is too narrow', limit, actual: `is ${width} × ${height}` } : null;
}

function durationFault(file: MediaFacts, rule: FileRule): Fault | null {
  const { kind, minDurationMs = 0, maxDurationMs } = rule;
  if (maxDurationMs === undefined) {
    return null;
  }

  const from = minDurationMs > 0 ? `from ${durationOf(minDurationMs)} ` : 'up ';
  const limit = `${kind} may last ${from}to ${durationOf(maxDurationMs)}`;
  if (file.durationMs === null) {
    return { unknown: 'what length', limit };
  }

  // Containers tell times in fractions of a millisecond, and no network looks at those.
  const durationMs = Math.round(file.durationMs);
  const isShort = durationMs < minDurationMs;
  return isShort || durationMs > maxDurationMs
    ? {
        is: isShort ? 'is too short' : 'is too long',
        limit,
        actual: `lasts ${durationOf(durationMs)}`,
      }
    : null;
}

/** Files of which a post may have some, as long as it has no others. */
type Group = {
  /** How messages call one of them: `image`. */
  readonly one: string;
  readonly max: number;
  readonly has: (file: MediaFacts) => boolean;
};

export const isVideo = ({ type }: MediaFacts): boolean => type.startsWith('video/');
export const hasType =
  (...types: readonly string[]) =>
  ({ type }: MediaFacts): boolean =>
    types.includes(type);
export const isImage = ({ type }: MediaFacts): boolean => type.startsWith('image/');

/**
 * What a network has against the files as a whole: too many of a group, or a mixture of groups. Empty: nothing.
 *
 * A file of no group is left out: what is wrong with it is its type.
 */
export function mixtureFaults(
  media: readonly MediaFacts[],
  groups: readonly Group[],
  network: string,
): string[] {
  const present = groups
    .map((group) => ({ ...group, count: media.filter(group.has).length }))
    .filter(({ count }) => count > 0);
  if (present.length < 2 && present.every(({ count, max }) => count <= max)) {
    return [];
  }

  const taken = groups
    .filter(({ max }) => max > 0)
    .map(({ one, max }) => (max > 1 ? `up to ${max} ${one}s` : `1 ${one}`));
  const limit = taken.join(', or ') || 'no files';
  const sentence = `${network} takes ${limit} in a post, and there ${actualOf(present)}.`;
  return [sentence.charAt(0).toUpperCase() + sentence.slice(1)];
}

/** What there is, in words: `is 1 video`, `are 2 images and 1 video`. */
function actualOf(present: readonly { readonly one: string; readonly count: number }[]): string {
  const total = present.reduce((sum, { count }) => sum + count, 0);
  return `${total === 1 ? 'is' : 'are'} ${list(present.map(({ one, count }) => countOf(count, one)))}`;
}

import type { MediaFacts } from '../content-rules.ts';
import type { FileKind, Limits } from './limits.ts';
import { countOf, durationOf, list, numberOf, sizesOf } from './amounts.ts';
import { quote } from '../answer.ts';

export type Faults = { readonly errors: readonly string[]; readonly warnings: readonly string[] };

/**
 * Validates every file by the limits of its kind; a type of no kind is one that the network does not take.
 *
 * What is not known of a file is a warning and no error, because the network may well take it.
 */
export function validateFiles(
  media: readonly MediaFacts[],
  { name: network, files: kinds }: Pick<Limits, 'name' | 'files'>,
): Faults {
  const errors: string[] = [];
  const warnings: string[] = [];
  for (const file of media) {
    const kind = kindOf(file, kinds);
    const faults = kind
      ? checks.map((validate) => validate(file, kind))
      : [
          typeFault(
            file,
            kinds.flatMap(({ types }) => types),
          ),
        ];
    for (const fault of faults) {
      if (fault) {
        const isKnown = !('unknown' in fault);
        const sentence = isKnown
          ? `${fault.what ?? nameOf(file)} ${fault.is} for ${network}: ${fault.limit}, and this ${fault.actual}.`
          : `It could not be told ${fault.unknown} ${nameOf(file)} has; on ${network} ${fault.limit}.`;
        (isKnown ? errors : warnings).push(sentence);
      }
    }
  }

  return { errors, warnings };
}

/** A type by its own name comes before `image/*`. */
function kindOf({ type }: MediaFacts, kinds: readonly FileKind[]): FileKind | undefined {
  const names = [type, type.replace(/\/.*$/s, '/*')];
  return names
    .map((name) => kinds.find(({ types }) => types.includes(name)))
    .find((kind) => kind !== undefined);
}

/** How messages call a file: by its name, in quotation marks. */
export const nameOf = (file: MediaFacts): string => quote(file.name, []) || 'A file';

type Fault =
  /** @param what It is about, when not the file as such. */
  | {
      readonly what?: string;
      readonly is: string;
      readonly limit: string;
      readonly actual: string;
    }
  | { readonly unknown: string; readonly limit: string };

const typeFault = ({ type }: MediaFacts, types: readonly string[]): Fault => ({
  is: 'is of the wrong kind',
  limit: `it takes ${list(types)}`,
  actual: `is ${quote(type, []) || 'of no known type'}`,
});

function sizeFault({ sizeBytes }: MediaFacts, kind: FileKind): Fault | null {
  const { minBytes = 0, maxBytes = Infinity } = kind;
  if (sizeBytes > maxBytes) {
    const [limit, actual] = sizesOf(maxBytes, sizeBytes);
    return {
      is: 'is too large',
      limit: `${one(kind)} may have up to ${limit}`,
      actual: `has ${actual}`,
    };
  }

  if (sizeBytes < minBytes) {
    const [limit, actual] = sizesOf(minBytes, sizeBytes);
    return {
      is: 'is too small',
      limit: `${one(kind)} has ${limit} or more`,
      actual: `has ${actual}`,
    };
  }

  return null;
}

function pixelsFault({ width, height }: MediaFacts, kind: FileKind): Fault | null {
  const { maxPixels } = kind;
  if (maxPixels === undefined) {
    return null;
  }

  const limit = `${one(kind)} may have up to ${numberOf(maxPixels)} pixels`;
  if (width === null || height === null) {
    return { unknown: 'how many pixels', limit };
  }

  const pixels = width * height;
  const actual = `has ${numberOf(pixels)} (${width} × ${height})`;
  return pixels > maxPixels ? { is: 'has too many pixels', limit, actual } : null;
}

function sidesFault({ width, height }: MediaFacts, kind: FileKind): Fault | null {
  const { minSide = 0, maxSides: [longest, shortest] = [Infinity, Infinity] } = kind;
  if (width === null || height === null) {
    return null;
  }

  const [longer, shorter] = [Math.max(width, height), Math.min(width, height)];
  const actual = `is ${width} × ${height}`;
  if (shorter < minSide) {
    const limit = `${one(kind)} has ${minSide} × ${minSide} pixels or more`;
    return { is: 'is too small', limit, actual };
  }

  const limit = `${one(kind)} may have up to ${longest} × ${shortest} pixels`;
  return longer > longest || shorter > shortest
    ? { is: 'has too many pixels', limit, actual }
    : null;
}

function framesFault({ width, height, details }: MediaFacts, kind: FileKind): Fault | null {
  const { maxFrames = Infinity, maxPixelsOfAllFrames: maxPixels = Infinity } = kind;
  const frames = details?.frames ?? 0;
  if (frames > maxFrames) {
    return {
      is: 'has too many frames',
      limit: `${one(kind)} may have up to ${numberOf(maxFrames)}`,
      actual: `has ${numberOf(frames)}`,
    };
  }

  const pixels = (width ?? 0) * (height ?? 0) * frames;
  return pixels > maxPixels
    ? {
        is: 'has too many pixels',
        limit: `all frames of ${one(kind)} together may have up to ${numberOf(maxPixels)} pixels`,
        actual: `has ${numberOf(pixels)} (${width} × ${height} × ${numberOf(frames)})`,
      }
    : null;
}

function frameRateFault({ details }: MediaFacts, kind: FileKind): Fault | null {
  const { maxFrameRate = Infinity } = kind;
  const { frameRate = 0 } = details ?? {};
  return Math.floor(frameRate) > maxFrameRate
    ? {
        is: 'has too many frames per second',
        limit: `${one(kind)} may have up to ${maxFrameRate}`,
        actual: `has ${Math.round(frameRate * 100) / 100}`,
      }
    : null;
}

function aspectFault({ width, height }: MediaFacts, kind: FileKind): Fault | null {
  const { maxAspect } = kind;
  if (maxAspect === undefined) {
    return null;
  }

  const limit = `${one(kind)} may be shaped from 1:${maxAspect} to ${maxAspect}:1`;
  if (width === null || height === null) {
    return { unknown: 'what shape', limit };
  }

  const isNarrow = width > height * maxAspect || height > width * maxAspect;
  return isNarrow ? { is: 'is too narrow', limit, actual: `is ${width} × ${height}` } : null;
}

function durationFault(file: MediaFacts, kind: FileKind): Fault | null {
  const { minDurationMs = 0, maxDurationMs } = kind;
  if (maxDurationMs === undefined) {
    return null;
  }

  const from = minDurationMs > 0 ? `from ${durationOf(minDurationMs)} ` : 'up ';
  const limit = `${one(kind)} may last ${from}to ${durationOf(maxDurationMs)}`;
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

function altTextFault(file: MediaFacts, kind: FileKind): Fault | null {
  const { maxAltText = Infinity, altTextUnit } = kind;
  const altText = file.altText ?? '';
  const { length } = altTextUnit === 'code points' ? [...altText] : altText;
  return length > maxAltText
    ? {
        what: `The alt text of ${nameOf(file)}`,
        is: 'is too long',
        limit: `${one(kind)} may have one of up to ${numberOf(maxAltText)} characters`,
        actual: `has ${numberOf(length)}`,
      }
    : null;
}

const checks = [
  sizeFault,
  pixelsFault,
  sidesFault,
  framesFault,
  frameRateFault,
  aspectFault,
  durationFault,
  altTextFault,
];

/** `an image`, `a video`. */
const one = ({ one: name }: FileKind): string => `${/^[aeiou]/v.test(name) ? 'an' : 'a'} ${name}`;

export const isVideo = ({ type }: MediaFacts): boolean => type.startsWith('video/');
export const hasType =
  (...types: readonly string[]) =>
  ({ type }: MediaFacts): boolean =>
    types.includes(type);
/** Whether a WebP has several frames. Of one that was uploaded before frames were counted, its length tells. */
export const isAnimatedWebp = ({ type, details, durationMs }: MediaFacts): boolean =>
  type === 'image/webp' && ((details?.frames ?? 1) > 1 || durationMs !== null);
export const isImage = ({ type }: MediaFacts): boolean => type.startsWith('image/');

/**
 * What a network has against the files as a whole: too many of a kind, too few, or a mixture of kinds. Empty: nothing.
 *
 * A file of no kind is left out: what is wrong with it is its type.
 */
export function mixtureFaults(
  media: readonly MediaFacts[],
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

/** What there is, in words: `is 1 video`, `are 2 images and 1 video`, `is none`. */
function actualOf(present: readonly { readonly one: string; readonly count: number }[]): string {
  const total = present.reduce((sum, { count }) => sum + count, 0);
  const words = list(present.map(({ one: name, count }) => countOf(count, name)));
  return `${total < 2 ? 'is' : 'are'} ${words || 'none'}`;
}

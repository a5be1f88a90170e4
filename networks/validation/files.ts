import { cut } from '../../domain/errors.ts';
import { quote } from '../answer.ts';
import type { AttachmentFacts, FileKind } from '../content-rules.ts';

export const isImage = ({ type }: AttachmentFacts): boolean => type.startsWith('image/');
export const isVideo = ({ type }: AttachmentFacts): boolean => type.startsWith('video/');
export const hasType =
  (...types: readonly string[]) =>
  ({ type }: AttachmentFacts): boolean =>
    types.includes(type);

const stillFormats: Readonly<Record<string, 'PNG' | 'WebP'>> = {
  'image/png': 'PNG',
  'image/webp': 'WebP',
};

/**
 * The format of an image with several frames that is not a GIF; undefined for other files. For files that were uploaded
 * before frames were counted, the duration shows it.
 */
export const animatedFormat = ({
  type,
  details,
  durationMs,
}: AttachmentFacts): 'PNG' | 'WebP' | undefined =>
  (details?.frames ?? 1) > 1 || durationMs !== null ? stillFormats[type] : undefined;

/** The faults of a file by the limits of its kind; null for each check that it passes. A type without a kind is one. */
export function faultsOf(file: AttachmentFacts, kinds: readonly FileKind[]) {
  const kind = kindOf(file, kinds);
  if (!kind) {
    const known = kinds.flatMap(({ types }) => types);
    return [{ rule: 'file_type', ...typeFault(file, known) }];
  }

  return Object.entries(checks).map(([rule, validate]) => {
    const fault = validate(file, kind);
    return fault && Object.assign({}, fault, { rule });
  });
}

/** A kind that names the type exactly takes precedence over `image/*`. */
export function kindOf(
  { type }: AttachmentFacts,
  kinds: readonly FileKind[],
): FileKind | undefined {
  const names = [type, type.replace(/\/.*$/s, '/*')];
  return names
    .map((name) => kinds.find(({ types }) => types.includes(name)))
    .find((kind) => kind !== undefined);
}

export const nameOf = (file: AttachmentFacts): string => quote(file.name, []) || 'A file';

type Words = {
  /** The subject of the fault, if it is not the file itself. */
  readonly what?: string;
  readonly is: string;
  readonly limit: string;
  readonly actual: string;
};

type Fault =
  | (Words & { readonly numbers?: readonly [limit: number, actual: number] })
  | { readonly unknown: string; readonly limit: string };

const typeFault = ({ type }: AttachmentFacts, types: readonly string[]) => ({
  is: 'is of the wrong kind',
  // A server names up to 200 types.
  limit: `it takes ${cut(list(types), 300)}`,
  actual: `is ${quote(type, []) || 'of no known type'}`,
});

const above = (limit: number, actual: number, words: Words): Fault | null =>
  actual > limit ? { ...words, numbers: [limit, actual] } : null;

function sizeFault({ sizeBytes }: AttachmentFacts, kind: FileKind): Fault | null {
  const { minBytes = 0, maxBytes = Infinity } = kind;
  const isSmall = sizeBytes < minBytes;
  const [limit, size] = sizesOf(isSmall ? minBytes : maxBytes, sizeBytes);
  const actual = `has ${size}`;
  return isSmall
    ? {
        is: 'is too small',
        limit: `${one(kind)} has ${limit} or more`,
        actual,
        numbers: [minBytes, sizeBytes],
      }
    : above(maxBytes, sizeBytes, {
        is: 'is too large',
        limit: `${one(kind)} may have up to ${limit}`,
        actual,
      });
}

function pixelsFault({ width, height }: AttachmentFacts, kind: FileKind): Fault | null {
  const { maxPixels } = kind;
  if (maxPixels === undefined) {
    return null;
  }

  const limit = `${one(kind)} may have up to ${numberOf(maxPixels)} pixels`;
  if (width === null || height === null) {
    return { unknown: 'how many pixels', limit };
  }

  const actual = `has ${numberOf(width * height)} (${width} × ${height})`;
  return above(maxPixels, width * height, { is: 'has too many pixels', limit, actual });
}

function sidesFault({ width, height }: AttachmentFacts, kind: FileKind): Fault | null {
  const { minSide = 0, maxSides: [longest, shortest] = [Infinity, Infinity] } = kind;
  if (width === null || height === null) {
    return null;
  }

  const [longer, shorter] = [Math.max(width, height), Math.min(width, height)];
  const actual = `is ${width} × ${height}`;
  if (shorter < minSide) {
    const limit = `${one(kind)} has ${minSide} × ${minSide} pixels or more`;
    return { is: 'is too small', limit, actual, numbers: [minSide, shorter] };
  }

  const limit = `${one(kind)} may have up to ${longest} × ${shortest} pixels`;
  const words = { is: 'has too many pixels', limit, actual };
  return above(longest, longer, words) ?? above(shortest, shorter, words);
}

function framesFault({ width, height, details }: AttachmentFacts, kind: FileKind): Fault | null {
  const { maxFrames = Infinity, maxPixelsOfAllFrames: maxPixels = Infinity } = kind;
  const frames = details?.frames ?? 0;
  const pixels = (width ?? 0) * (height ?? 0) * frames;
  return (
    above(maxFrames, frames, {
      is: 'has too many frames',
      limit: `${one(kind)} may have up to ${numberOf(maxFrames)}`,
      actual: `has ${numberOf(frames)}`,
    }) ??
    above(maxPixels, pixels, {
      is: 'has too many pixels',
      limit: `all frames of ${one(kind)} together may have up to ${numberOf(maxPixels)} pixels`,
      actual: `has ${numberOf(pixels)} (${width} × ${height} × ${numberOf(frames)})`,
    })
  );
}

function frameRateFault({ details }: AttachmentFacts, kind: FileKind): Fault | null {
  const { maxFrameRate = Infinity } = kind;
  const { frameRate = 0 } = details ?? {};
  const is = 'has too many frames per second';
  const limit = `${one(kind)} may have up to ${maxFrameRate}`;
  const actual = `has ${Math.round(frameRate * 100) / 100}`;
  return Math.floor(frameRate) > maxFrameRate
    ? { is, limit, actual, numbers: [maxFrameRate, frameRate] }
    : null;
}

function aspectFault({ width, height }: AttachmentFacts, kind: FileKind): Fault | null {
  const { maxAspect } = kind;
  if (maxAspect === undefined) {
    return null;
  }

  const limit = `${one(kind)} may be shaped from 1:${maxAspect} to ${maxAspect}:1`;
  if (width === null || height === null) {
    return { unknown: 'what shape', limit };
  }

  const is = width > height ? 'is too wide' : 'is too narrow';
  const actual = `is ${width} × ${height}`;
  const aspect = Math.max(width, height) / Math.min(width, height);
  return aspect > maxAspect ? { is, limit, actual, numbers: [maxAspect, aspect] } : null;
}

function durationFault(file: AttachmentFacts, kind: FileKind): Fault | null {
  const { minDurationMs = 0, maxDurationMs } = kind;
  if (maxDurationMs === undefined) {
    return null;
  }

  const from = minDurationMs > 0 ? `from ${durationOf(minDurationMs)} ` : 'up ';
  const limit = `${one(kind)} may last ${from}to ${durationOf(maxDurationMs)}`;
  if (file.durationMs === null) {
    return { unknown: 'what length', limit };
  }

  // Containers have fractions of a millisecond, which networks ignore.
  const durationMs = Math.round(file.durationMs);
  const isShort = durationMs < minDurationMs;
  return isShort || durationMs > maxDurationMs
    ? {
        is: isShort ? 'is too short' : 'is too long',
        limit,
        actual: `lasts ${durationOf(durationMs)}`,
        numbers: [isShort ? minDurationMs : maxDurationMs, durationMs],
      }
    : null;
}

function altTextFault(file: AttachmentFacts, kind: FileKind): Fault | null {
  const { maxAltText = Infinity, altTextUnit } = kind;
  const altText = file.altText ?? '';
  const { length } = altTextUnit === 'code points' ? [...altText] : altText;
  return above(maxAltText, length, {
    what: `The alt text of ${nameOf(file)}`,
    is: 'is too long',
    limit: `${one(kind)} may have one of up to ${numberOf(maxAltText)} characters`,
    actual: `has ${numberOf(length)}`,
  });
}

const checks: Readonly<Record<string, (file: AttachmentFacts, kind: FileKind) => Fault | null>> = {
  file_size: sizeFault,
  file_pixels: pixelsFault,
  file_dimensions: sidesFault,
  file_frames: framesFault,
  file_frame_rate: frameRateFault,
  file_aspect_ratio: aspectFault,
  file_duration: durationFault,
  alt_text_length: altTextFault,
};

/** `an image`, `a video`. */
const one = ({ one: name }: FileKind): string => `${/^[aeiou]/v.test(name) ? 'an' : 'a'} ${name}`;

// Amounts in words, for messages.

const megabyte = 1_000_000;

/** A whole number with thousands separators: `36,152,320`. */
export const numberOf = (value: number): string => value.toLocaleString('en-US');

/** `1 image`, `2 images`. */
export const countOf = (count: number, singular: string, plural = `${singular}s`): string =>
  `${numberOf(count)} ${count === 1 ? singular : plural}`;

/** `a`, `a and b`, `a, b and c`. */
export const list = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;

/**
 * A limit and a size in words: in MB (a million bytes) with one decimal, or in exact bytes where the MB would look
 * equal.
 */
export function sizesOf(limitBytes: number, actualBytes: number): readonly [string, string] {
  const [limit, actual] = [inMegabytes(limitBytes), inMegabytes(actualBytes)];
  return limit === actual || Math.min(limitBytes, actualBytes) < megabyte / 10
    ? [`${numberOf(limitBytes)} bytes`, `${numberOf(actualBytes)} bytes`]
    : [limit, actual];
}

const oneDecimal = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const inMegabytes = (bytes: number): string => `${oneDecimal.format(bytes / megabyte)} MB`;

/** A duration in words, exact to the millisecond: `2 min 20 s`, `12 h`, `0.5 s`. */
export function durationOf(durationMs: number): string {
  const wholeMs = Math.round(durationMs);
  const parts = [
    [Math.floor(wholeMs / 3_600_000), 'h'],
    [Math.floor(wholeMs / 60_000) % 60, 'min'],
    [(wholeMs % 60_000) / 1000, 's'],
  ] as const;
  const durations = parts.flatMap(([value, unit]) => (value > 0 ? [`${value} ${unit}`] : []));
  return durations.join(' ') || '0 s';
}

/**
 * A network's limits, as data: they validate posts, and `GET /networks` shows them. Bounds are inclusive.
 *
 * A network's own rules add what does not fit in here, such as a maximum of cashtags or a required word.
 */
export type Limits = {
  /** The network's name in messages: `Bluesky`, `this Mastodon server`. */
  readonly name: string;
  /** All of them apply to every text. */
  readonly text: readonly TextLimit[];
  /** The files that a post, or a part of a thread, may have. Files of two kinds cannot be combined. */
  readonly files: readonly FileKind[];
  /** Required fields of a post, as paths: `video.made_for_kids`. */
  readonly required?: readonly string[];
};

/** The unit of a text's length. `characters` is the network's own definition; `counting` explains it. */
export type TextUnit = 'characters' | 'graphemes' | 'bytes';

export type TextLimit = {
  readonly max: number;
  readonly unit: TextUnit;
  /** The length that every link counts; null when links count as written. */
  readonly linkLength: number | null;
  /** The length that an emoji counts, for messages: `2`, `2 or more`; null when it counts as one character. */
  readonly emoji: string | null;
  /** How the length is counted, as a sentence for clients that count themselves. */
  readonly counting: string;
  /** The name of the text, if it is not the post's: `a description`. */
  readonly subject?: string;
  /** A part of the length that comes from another field, for messages: `spoiler_text has 20`. */
  readonly beside?: string;
  readonly measure: (text: string) => number;
};

/** A kind of files, and its limits. */
export type FileKind = {
  /** The name of one file in messages: `image`. */
  readonly one: string;
  /** Per post. */
  readonly max: number;
  /** Required number per post. Default: 0. */
  readonly min?: number;
  /** MIME types, or `image/*` for all. */
  readonly types: readonly string[];
  readonly minBytes?: number;
  readonly maxBytes?: number;
  /** Width times height. */
  readonly maxPixels?: number;
  /** Frames of an animation. */
  readonly maxFrames?: number;
  /** Width times height times frames of an animation. */
  readonly maxPixelsOfAllFrames?: number;
  /** Minimum pixels of each side. */
  readonly minSide?: number;
  /** Maximum pixels of the longer and the shorter side. */
  readonly maxSides?: readonly [longer: number, shorter: number];
  /** Frames per second of a video. A rate that exceeds it by less than 1 is allowed. */
  readonly maxFrameRate?: number;
  /** Checked only together with `maxDurationMs`. */
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
  /** Maximum ratio of the longer to the shorter side. */
  readonly maxAspect?: number;
  /** In `altTextUnit`; 0: no alt text is allowed; absent: no limit is known. */
  readonly maxAltText?: number;
  /** Default: UTF-16 code units, the strictest reading of "characters". */
  readonly altTextUnit?: 'code points';
};

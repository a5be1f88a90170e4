/**
 * What a network takes, as data: posts are validated by it, and `GET /networks` shows it. Bounds are inclusive.
 *
 * What does not fit in here (a cashtag too many, a word that must be said) a network's own rules add.
 */
export type Limits = {
  /** How messages call the network: `Bluesky`, `this Mastodon server`. */
  readonly name: string;
  /** Each of them holds for every text. */
  readonly text: readonly TextLimit[];
  /** What a post, or a part of a thread, may have files of. Files of two kinds do not go together. */
  readonly files: readonly FileKind[];
  /** Fields of a post that the network needs, as paths: `video.made_for_kids`. */
  readonly required?: readonly string[];
};

/** The ways to count a text. Characters are what the network calls so; `counting` says which. */
export type TextUnit = 'characters' | 'graphemes' | 'bytes';

export type TextLimit = {
  readonly max: number;
  readonly unit: TextUnit;
  /** What a link counts, however long it is; null: as it is written. */
  readonly linkLength: number | null;
  /** What an emoji counts, for messages: `2`, `2 or more`; null where that goes without saying. */
  readonly emoji: string | null;
  /** How it is counted, as a sentence for a client that counts itself. */
  readonly counting: string;
  /** What the text is there, where it is not just the post's: `a description`. */
  readonly subject?: string;
  /** What of the length is not the text's own, for messages: `spoiler_text has 20`. */
  readonly beside?: string;
  readonly measure: (text: string) => number;
};

/** Files of one kind, and what the network takes of them. */
export type FileKind = {
  /** How messages call one of them: `image`. */
  readonly one: string;
  /** Of one post. */
  readonly max: number;
  /** Fewer are refused; 0 where it is left out. */
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
  /** Pixels that each side has at least. */
  readonly minSide?: number;
  /** Pixels that the longer and the shorter side have at most. */
  readonly maxSides?: readonly [longer: number, shorter: number];
  /** Frames per second of a video. A rate above it by less than 1 is allowed. */
  readonly maxFrameRate?: number;
  /** Checked only together with `maxDurationMs`. */
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
  /** How many times as long the longer side may be as the shorter one. */
  readonly maxAspect?: number;
  /** In `altTextUnit`; 0: it takes none; left out: no limit is known. */
  readonly maxAltText?: number;
  /** UTF-16 code units when left out, the most careful reading of "characters". */
  readonly altTextUnit?: 'code points';
};

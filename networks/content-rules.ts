import type { TSchema } from 'typebox';
import type { Json, Value } from '../domain/json-schema.ts';
import type { MediaDetails } from '../domain/media.ts';
import type { VideoOptions } from '../domain/post-view.ts';

export type AttachmentFacts = {
  readonly name: string;
  readonly type: string;
  readonly sizeBytes: number;
  /** In pixels, as displayed (after EXIF orientation); null when unknown. */
  readonly width: number | null;
  readonly height: number | null;
  /** Duration of a video or an animation, in milliseconds; null for a still image, or when unknown. */
  readonly durationMs: number | null;
  /** Null or absent: unknown, for files that were uploaded before details were read. */
  readonly details?: MediaDetails | null | undefined;
  readonly altText: string | null;
};

/** A post's options for one channel, over the channel's defaults. Each network's `rules.options` has the schema. */
export type Options = Readonly<Record<string, Json>>;

type Choices = {
  readonly defaults: Options | null | undefined;
  /** The post's `video`, for each network that knows its fields. */
  readonly video: VideoOptions | null;
  readonly own: Options | null | undefined;
};

/** Merges a channel's options: its defaults, over them the post's `video`, over both the post's own options. */
export function optionsFor(
  { options: { properties } }: Pick<Rules, 'options'>,
  { defaults, video, own }: Choices,
): Options {
  const known = Object.entries(video ?? {}).filter(([name]) => Object.hasOwn(properties, name));
  return { ...defaults, ...Object.fromEntries(known), ...own };
}

export type Content = {
  /** One text for a single post. Empty, or one empty string, for a post of media only. */
  readonly texts: readonly string[];
  /** The files of each text. A post of media only has its files first. */
  readonly media: readonly (readonly AttachmentFacts[])[];
  readonly video: VideoOptions | null;
  readonly options: Options;
  /** The files that options refer to by id, by the option's name. Unknown files are absent. */
  readonly optionFiles?: Readonly<Record<string, AttachmentFacts>>;
};

export type Measure = {
  readonly length: number;
  readonly limit: number;
  readonly unit: string;
};

type PlaceInPart = {
  readonly part: number;
  readonly of: 'text' | 'files';
  /** Which of the part's files, from 0; absent for all of them together. */
  readonly file?: number;
};

export type FaultFacts = {
  /** Equal to the sentence in `errors` or `warnings`. */
  readonly message: string;
  /** Stable: `text_length`, `file_size`. */
  readonly rule: string;
  /** In the unit of the rule; null for a rule without a number. */
  readonly limit: number | null;
  readonly actual: number | null;
  /** The place: the text or the files of a part, or a field of the request as a JSON pointer. */
  readonly at: PlaceInPart | string;
};

export type ValidationResult = {
  /** Why the network would refuse the content: a sentence each, with the rule, the limit and the actual value. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  /** One per published text, in order. For a network without threads, at most one. */
  readonly texts: readonly Measure[];
  readonly facts?: readonly FaultFacts[];
  /** The price for the publishing app, in US dollars; absent when it is free or the content has errors. */
  readonly priceUsd?: number;
};

/**
 * The part of a network that every process loads, even without its adapter. It validates posts without a request to the
 * network, so that a post is refused when it is scheduled and not when it is due.
 */
export type Rules = {
  /** Whether it supports threads. If not, a thread's texts are joined by a blank line before the validation. */
  readonly threads: boolean;
  /** Whether `first_comment` is published below the post, as a second part of the ledger. Default: false. */
  readonly comments?: boolean;
  readonly canUnpublish?: boolean;
  /** JSON Schema of `channel_options` and of a channel's defaults: an object whose fields are all optional. */
  readonly options: OptionsSchema;
  /**
   * How long after the start of a send the post may still appear, in milliseconds. Before that, `absent` proves
   * nothing, even where a second send of the same key cannot create a second post: the post may since have been
   * cancelled and edited, and would go out under another key.
   */
  readonly appearsWithinMs: number;
  /** Minimum interval between reads of a post's metrics, in milliseconds. Absent: the network sets none. */
  readonly metricsEveryMs?: number;
  /** The network's limits, as data. `validate` uses them, and `GET /networks` shows them. Pure; never throws. */
  limits(settings: Json): Limits;
  /** Pure; never throws. Missing or malformed settings count as the network's defaults. */
  validate(content: Content, settings: Json): ValidationResult;
};

export type OptionsSchema = {
  readonly type: 'object';
  readonly additionalProperties: false;
  /** Each has a `description` for people. */
  readonly properties: Readonly<Record<string, object>>;
};

/**
 * A network's options by their schemas, and how its code reads them: the API stores none that do not fit. One with the
 * format `uuid` holds the id of a media file.
 */
export const defineOptions = <const P extends Readonly<Record<string, TSchema>>>(
  properties: P,
) => ({
  schema: { type: 'object', additionalProperties: false, properties } satisfies OptionsSchema,
  chosenIn: (options: Options) => options as { readonly [Name in keyof P]?: Value<P[Name]> },
});

export const linkCardOption = {
  type: 'boolean',
  description:
    'Whether a post without files shows a card of its first link, with the title, the description and the picture of that page. Default: true.',
} as const;

const fileOptions = ({ properties }: OptionsSchema): string[] =>
  Object.entries(properties).flatMap(([name, one]) =>
    'format' in one && one.format === 'uuid' ? [name] : [],
  );

export const fileIdsIn = (schema: OptionsSchema, options: Options): Record<string, string> =>
  Object.fromEntries(
    fileOptions(schema).flatMap((name) => {
      const id = options[name];
      return typeof id === 'string' ? [[name, id]] : [];
    }),
  );

export const filesInOptions = <F extends { readonly id: string }>(
  schema: OptionsSchema,
  options: Options,
  files: readonly F[],
): Record<string, F> =>
  Object.fromEntries(
    Object.entries(fileIdsIn(schema, options)).flatMap(([name, id]) => {
      const file = files.find((one) => one.id === id);
      return file ? [[name, file]] : [];
    }),
  );

export const noOptions: OptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {},
};

export type RulesByPlatform = Readonly<Record<string, Rules>>;

/** The longest time after a request until a post may appear on any network, in milliseconds. */
export const longestAppearanceMs = (rules: RulesByPlatform): number =>
  Math.max(...Object.values(rules).map(({ appearsWithinMs }) => appearsWithinMs));

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

export type FileKind = {
  readonly one: string;
  readonly max: number;
  /** Required number per post. Default: 0. */
  readonly min?: number;
  readonly types: readonly string[];
  readonly minBytes?: number;
  readonly maxBytes?: number;
  readonly maxPixels?: number;
  readonly maxFrames?: number;
  readonly maxPixelsOfAllFrames?: number;
  readonly minSide?: number;
  readonly maxSides?: readonly [longer: number, shorter: number];
  /** Frames per second of a video. A rate that exceeds it by less than 1 is allowed. */
  readonly maxFrameRate?: number;
  /** Checked only together with `maxDurationMs`. */
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
  readonly maxAspect?: number;
  /** In `altTextUnit`; 0: no alt text is allowed; absent: no limit is known. */
  readonly maxAltText?: number;
  /** Default: UTF-16 code units, the strictest reading of "characters". */
  readonly altTextUnit?: 'code points';
};

/** A workspace's daily share (UTC) of a limit that the network sets for the operator's whole app. */
export type Allowance = {
  readonly perDay: number;
  /** The unit in the plural, for the error message. */
  readonly unit: string;
  readonly setting: string;
  /** @param isUploading Whether an upload of its files has begun; it was counted when it began. */
  readonly cost: (
    part: { readonly data: Json; readonly options: Options },
    isUploading: boolean,
  ) => number;
};

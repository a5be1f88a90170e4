import type { VideoOptions } from '../domain/post-view.ts';
import type { MediaDetails } from '../domain/media-details.ts';
import type { Json } from '../domain/json-schema.ts';
import type { Limits } from './validation/limits.ts';

/** What is known of an attached file, read from its bytes. */
export type MediaFacts = {
  /** The file's name in the media library, for messages. */
  readonly name: string;
  /** MIME type, such as `image/jpeg` or `video/mp4`. */
  readonly type: string;
  readonly sizeBytes: number;
  /** In pixels, as displayed (after EXIF orientation); null when it could not be told. */
  readonly width: number | null;
  readonly height: number | null;
  /** Of a video or an animation, in milliseconds; null for a still image, or when it could not be told. */
  readonly durationMs: number | null;
  /** Null or left out: not known, as of files that were uploaded before they were read. */
  readonly details?: MediaDetails | null | undefined;
  /** What is to be seen on it, for people who do not see it; null when nobody said. */
  readonly altText: string | null;
};

/** What a post's owner chose for one channel, over the channel's defaults. Each network's `rules.options` says its shape. */
export type Options = Readonly<Record<string, Json>>;

/** Where an owner may have chosen something for one channel. */
type Choices = {
  /** Of the channel. */
  readonly defaults: Options | null | undefined;
  /** Of the post, for whichever network knows its fields. */
  readonly video: VideoOptions | null;
  /** Of the post, for this channel. */
  readonly own: Options | null | undefined;
};

/** What holds for one channel: its defaults, over them the post's `video`, and over all what was chosen for it alone. */
export function optionsFor(
  { options: { properties } }: Pick<Rules, 'options'>,
  { defaults, video, own }: Choices,
): Options {
  const known = Object.entries(video ?? {}).filter(([name]) => Object.hasOwn(properties, name));
  return { ...defaults, ...Object.fromEntries(known), ...own };
}

/** What one channel is to publish: its own texts, in order, each with its files. */
export type Content = {
  /** One text for a single post. Empty, or one empty string, for a post of media only. */
  readonly texts: readonly string[];
  /** The files of each text, in the order of the texts; those of a post of media only stand first. */
  readonly media: readonly (readonly MediaFacts[])[];
  readonly video: VideoOptions | null;
  readonly options: Options;
  /** The files that options name by their ids, by the option's name, as far as they are known. */
  readonly optionFiles?: Readonly<Record<string, MediaFacts>>;
};

/** How long a text is in the network's own counting. */
export type Measure = {
  readonly length: number;
  readonly limit: number;
  /** What is counted, for people: `characters`, `graphemes`, `bytes`. */
  readonly unit: string;
};

/** One of the sentences of a validation, as data. */
export type FaultFacts = {
  /** As it stands among the errors or the warnings. */
  readonly message: string;
  /** Stable: `text_length`, `file_size`. */
  readonly rule: string;
  /** In the unit of the rule; null for a rule without a number. */
  readonly limit: number | null;
  readonly actual: number | null;
  /** Where it is: the text of a part, the files of a part, or a field of the request as a JSON pointer. */
  readonly at: { readonly part: number; readonly of: 'text' | 'files' } | string;
};

export type ValidationResult = {
  /** What the network would refuse: a sentence each, with the rule, the limit and the actual value. Empty: all is well. */
  readonly errors: readonly string[];
  /** What it would publish otherwise than one may think. */
  readonly warnings: readonly string[];
  /** One for each text that goes out, in order: for a network without threads, one at most. */
  readonly texts: readonly Measure[];
  /** The same as data, for sentences about a limit. */
  readonly facts?: readonly FaultFacts[];
  /** The price for the app that publishes, in US dollars; left out when it is free or the content has errors. */
  readonly priceUsd?: number;
};

/**
 * What every process knows of a network, also one that does not load its adapter. Posts are validated by it without a
 * request to the network, so that one is refused at scheduling and not at its time.
 */
export type Rules = {
  /** Whether it has threads. Where not, a thread's texts are joined by a blank line before they are validated. */
  readonly threads: boolean;
  /**
   * Whether the option `first_comment` is published as a comment below the post, as a second part of the ledger. Left out:
   * it is not. Only for networks without threads.
   */
  readonly comments?: boolean;
  /** JSON Schema of `channel_options` and of a channel's defaults: an object whose fields are all optional. */
  readonly options: OptionsSchema;
  /**
   * How long after the start of a send the post may still appear, in milliseconds. `absent` sooner than that
   * proves nothing, also where a second send of the same key cannot make a second post: the post may have been cancelled
   * and edited by then, and goes out under another key.
   */
  readonly appearsWithinMs: number;
  /** How far apart reads of a post's metrics are at least, in milliseconds. Left out: the network sets no such rule. */
  readonly metricsEveryMs?: number;
  /**
   * What it takes, as data. `validate` goes by it, and `GET /networks` shows it. Pure; never throws.
   *
   * @param settings As of `validate`.
   */
  limits(settings: Json): Limits;
  /**
   * Validates what a channel is to publish. Pure; never throws.
   *
   * @param settings The channel's settings; what is missing or malformed there counts as the network's default.
   */
  validate(content: Content, settings: Json): ValidationResult;
};

export type OptionsSchema = {
  readonly type: 'object';
  readonly additionalProperties: false;
  /** Each with a `description` for people. The value of one with the format `uuid` is the id of a file of the media library. */
  readonly properties: Readonly<Record<string, object>>;
};

/** The names of those options that are files. */
const fileOptions = ({ properties }: OptionsSchema): string[] =>
  Object.entries(properties).flatMap(([name, one]) =>
    'format' in one && one.format === 'uuid' ? [name] : [],
  );

/** The ids of the files that options name, by the option's name. */
export const fileIdsIn = (schema: OptionsSchema, options: Options): Record<string, string> =>
  Object.fromEntries(
    fileOptions(schema).flatMap((name) => {
      const id = options[name];
      return typeof id === 'string' ? [[name, id]] : [];
    }),
  );

/** Of these files those that options name, by the option's name. */
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

/** Of a network without any. */
export const noOptions: OptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {},
};

/** What is known of each network, by the name that a channel's `platform` has. */
export type RulesByPlatform = Readonly<Record<string, Rules>>;

/** After so long no network can still write a post that it was asked for, in milliseconds. */
export const longestAppearanceMs = (rules: RulesByPlatform): number =>
  Math.max(...Object.values(rules).map(({ appearsWithinMs }) => appearsWithinMs));

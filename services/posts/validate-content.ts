import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { AppError, firstOf, moreProblems, type ErrorDetail } from '../../domain/errors.ts';
import type { ChannelFile } from '../../domain/media.ts';
import { filesOfParts, textsForChannel } from '../../domain/parts.ts';
import { normalized } from '../../domain/texts.ts';
import { plainFault, type ContentFault, type PostWarning } from '../../domain/warnings.ts';
import {
  filesInOptions,
  optionsFor,
  type Rules,
  type ValidationResult,
  type FaultFacts,
} from '../../networks/content-rules.ts';
import { nameOfChannel, type ChosenChannel } from './choose-channels.ts';
import type { PostContent } from './content.ts';
import type { FileToValidate } from './post-media.ts';

export type ChannelValidation = Pick<ValidationResult, 'texts' | 'priceUsd'> & {
  readonly channel: ChosenChannel;
  readonly errors: readonly ContentFault[];
  readonly warnings: readonly ContentFault[];
  /** From `hashOfTexts`. */
  readonly textHash: string | null;
};

/** Validates a post by the rules of each channel's network, without any request. Others run between two channels. */
export async function validateContent(
  rules: Readonly<Record<string, Rules>>,
  channels: readonly ChosenChannel[],
  content: PostContent,
  files: readonly FileToValidate[],
): Promise<ChannelValidation[]> {
  const ofParts = files.filter(({ part }) => part >= 0);
  const apart = new Map(files.flatMap((file) => (file.part < 0 ? [[file.id, file] as const] : [])));
  // Channels with the same network, settings, text and options are validated once: a hundred may share a long text.
  type Validated = ValidationResult & Pick<Place, 'media'> & { readonly textHash: string | null };
  const known = new Map<string, Validated>();
  const hashOf = rememberedHash();
  const validateOne = async (channel: ChosenChannel): Promise<ChannelValidation> => {
    const network = rules[channel.platform];
    if (!network) {
      const error = `This version does not support the network "${channel.platform}".`;
      return { channel, errors: [plainFault(error)], warnings: [], texts: [], textHash: null };
    }

    const override = content.overrides[channel.id] ?? null;
    const texts = textsForChannel(content, override, network.threads);
    const { video } = content;
    const own = content.options[channel.id];
    const options = optionsFor(network, { defaults: channel.options, video, own });
    const ownFiles = content.channelFiles[channel.id];
    const alike = JSON.stringify([channel.platform, channel.settings, override, options, ownFiles]);
    let validated = known.get(alike);
    if (!validated) {
      await setImmediate();
      const media = filesOfParts(ownFiles ? factsOfOwn(ownFiles, apart) : ofParts, texts.length);
      const optionFiles = filesInOptions(network.options, options, files);
      const post = { texts, media, video, options, optionFiles };
      const textHash = hashOf(texts);
      validated = { ...network.validate(post, channel.settings), media, textHash };
      known.set(alike, validated);
    }

    const { media, facts, errors, warnings, ...result } = validated;
    const place = { channelId: channel.id, content, threads: network.threads, media };
    const isJoined = override === null && !network.threads && (content.thread?.length ?? 0) > 1;
    return {
      ...result,
      channel,
      errors: describeFaults(errors, facts, place),
      warnings: [
        ...(isJoined ? [plainFault(joined)] : []),
        ...describeFaults(warnings, facts, place),
      ],
    };
  };
  const validations: ChannelValidation[] = [];
  for (const channel of channels) {
    validations.push(await validateOne(channel));
  }

  return validations;
}

/** Most channels of a post have the same texts, and a long one takes milliseconds. */
function rememberedHash(): typeof hashOfTexts {
  const hashes = new Map<string, string | null>();
  return (texts) => {
    const key = texts.join('\0'); // No text has this character.
    const known = hashes.has(key) ? (hashes.get(key) ?? null) : hashOfTexts(texts);
    hashes.set(key, known);
    return known;
  };
}

/** A hash of a channel's texts, without regard to spaces; null without text. */
function hashOfTexts(texts: readonly string[]): string | null {
  const words = texts.map((text) => normalized(text, 'NFC').replaceAll(/\s+/gv, ' ').trim());
  const digest = hash('sha256', JSON.stringify(words), 'buffer');
  return words.some(Boolean) ? digest.readBigInt64BE().toString() : null;
}

/** The facts of a channel's own files, which belong to the first part of a thread. */
const factsOfOwn = (own: readonly ChannelFile[], apart: ReadonlyMap<string, FileToValidate>) =>
  own.flatMap(({ media_id: id, alt_text: altText }) => {
    const file = apart.get(id);
    return file ? [{ ...file, part: 0, altText: altText ?? file.altText }] : [];
  });

const joined =
  'This network has no threads: the texts go out as one post, with a blank line between them.';

export function assertPublishable(validations: readonly ChannelValidation[]): void {
  if (validations.length === 0) {
    const message = 'Scheduling needs at least one channel in channel_ids to send to.';
    throw new AppError('no_channels', message, { details: [{ path: '/channel_ids', message }] });
  }

  const details = validations.flatMap(detailsOf);
  if (details.length > 0) {
    const message = details.map((detail) => detail.message).join(' ');
    throw new AppError('invalid_content', message, { details });
  }
}

const detailsOf = ({ channel, errors }: ChannelValidation): ErrorDetail[] =>
  errors.map(({ message, path, rule, limit, actual }) =>
    Object.assign(
      { path, message: `${nameOfChannel(channel)}: ${message}`, channel_id: channel.id, rule },
      limit === null ? {} : { limit },
      actual === null ? {} : { actual },
    ),
  );

/** A list of posts has the warnings of all, and each of a hundred channels may have some for each part of a thread. */
const [mostOfChannel, mostOfPost] = [20, 100];

const rest = plainFault(
  'More problems are not listed here: POST /api/v1/posts/validate lists more.',
);

/** A list of warnings, and the same as one text; null when there are none. */
type Warned = { readonly warning: string | null; readonly warnings: PostWarning[] };

/** The problems with which a post is stored anyway. */
export function warningsOfPost(
  validations: readonly ChannelValidation[],
  notes: readonly ContentFault[],
): Warned {
  const names = new Map(validations.map(({ channel }) => [channel.id, nameOfChannel(channel)]));
  const ofChannels = validations.flatMap(({ channel, errors }) =>
    firstOf([...errors, ...accessFaults(channel)], mostOfChannel, rest).map((fault) =>
      Object.assign({}, fault, { channel_id: channel.id }),
    ),
  );
  const warnings: PostWarning[] = firstOf([...notes, ...ofChannels], mostOfPost, rest).map(
    (fault) => Object.assign({ channel_id: null }, fault),
  );
  const sentences = warnings.map(({ channel_id: id, message }) =>
    id === null ? message : `${names.get(id)}: ${message}`,
  );
  return { warning: sentences.join(' ') || null, warnings };
}

/** A warning that nothing can be sent to the account now. */
export const accessFaults = ({ state, disconnectedAt }: ChosenChannel): ContentFault[] =>
  state === 'needs_reconnect'
    ? [
        plainFault(
          disconnectedAt === null
            ? 'The channel needs reconnecting.'
            : 'The account was disconnected. Connect it again before the post is due: POST /channels/connect.',
          'channel_access',
          '/channel_ids',
        ),
      ]
    : [];

export function warningsOfChannel(
  { channel, warnings }: ChannelValidation,
  sameText?: string,
): Warned {
  const faults = [
    ...firstOf(warnings, mostOfChannel, rest),
    ...(sameText === undefined ? [] : [plainFault(sameText, 'same_text')]),
  ];
  return {
    warning: faults.map(({ message }) => message).join(' ') || null,
    warnings: faults.map((fault) => Object.assign({}, fault, { channel_id: channel.id })),
  };
}

type Place = {
  readonly channelId: string;
  readonly content: Pick<PostContent, 'thread' | 'overrides' | 'channelFiles'>;
  readonly threads: boolean;
  readonly media: readonly (readonly FileToValidate[])[];
};

/** A post may have 200 files, with some faults each on each of a hundred channels. */
const mostListed = 100;

/** Converts validation messages for the API. A message without facts has the rule `other`. */
function describeFaults(
  sentences: readonly string[],
  facts: ValidationResult['facts'] = [],
  place: Place,
): ContentFault[] {
  const left = [...facts];
  const faults = sentences.slice(0, mostListed + 1).map((message) => {
    // Files of the same name may have the same fault: their sentences and facts have the same order.
    const index = left.findIndex((one) => one.message === message);
    const [fact] = index === -1 ? [] : left.splice(index, 1);
    const { rule = 'other', limit = null, actual = null } = fact ?? {};
    return { message, path: fact ? pathOf(fact.at, place) : '', rule, limit, actual };
  });
  return firstOf(faults, mostListed, plainFault(moreProblems));
}

/** JSON pointer into the request. */
function pathOf(at: FaultFacts['at'], { channelId, content, threads, media }: Place): string {
  if (typeof at === 'string') {
    return at;
  }

  const { part, of, file } = at;
  const isJoined = content.thread !== null && !threads;
  if (of === 'files') {
    if (content.channelFiles[channelId]) {
      return `/channel_media/${channelId}${file === undefined ? '' : `/${file}`}`;
    }

    const paths = (media[part] ?? []).map(({ path }) => path);
    const lists = new Set(paths.map((path) => path.replace(/\/\d+$/v, '')));
    const [list = part === 0 ? '/media_ids' : `/thread/${part}/media_ids`] = lists;
    return (file === undefined ? undefined : paths[file]) ?? (lists.size > 1 ? '' : list);
  }

  if (content.overrides[channelId] !== undefined) {
    return `/channel_bodies/${channelId}`;
  }

  return content.thread === null ? '/body' : isJoined ? '/thread' : `/thread/${part}`;
}

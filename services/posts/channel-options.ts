import { AppError, pointerToken, type ErrorDetail } from '../../domain/errors.ts';
import type { Json } from '../../domain/json-schema.ts';
import { isText, notText } from '../../domain/texts.ts';
import {
  fileIdsIn,
  noOptions,
  type Options,
  type OptionsSchema,
  type RulesByPlatform,
} from '../../networks/content-rules.ts';
import { listFaults, parser } from '../../runtime/parser.ts';
import { nameOfChannel, type ChosenChannel } from './choose-channels.ts';
import type { PostInput } from './post-request.ts';
import type { NamedFile } from './read-files.ts';

/** Limit of a channel's options, in characters of JSON. */
const longestOptions = 50_000;

type Named = Pick<ChosenChannel, 'id' | 'platform' | 'handle'>;

/**
 * Validates options by the schema of the channel's network.
 *
 * @param at JSON pointer to the options in the request.
 * @returns the files that the options name, which may not exist.
 */
export function assertOptions(
  rules: RulesByPlatform,
  channel: Named,
  options: Options,
  at: string,
): NamedFile[] {
  const faults = faultsOf(rules, channel, options);
  if (faults.length > 0) {
    const list = listFaults(
      faults.map(({ path, message }) => ({ path: path.slice(1) || 'options', message })),
    );
    throw new AppError('invalid_channel_options', `${nameOfChannel(channel)}: ${list}`, {
      details: faults.map((fault) =>
        Object.assign({}, fault, { path: at + fault.path, channel_id: channel.id }),
      ),
    });
  }

  const ids = fileIdsIn(rules[channel.platform]?.options ?? noOptions, options);
  return Object.entries(ids).map(([name, mediaId]) => ({ mediaId, path: `${at}/${name}` }));
}

/** Validates the options of a request, by channel id. @returns the files that they name. */
export const assertOptionsOf = (
  rules: RulesByPlatform,
  channels: readonly Named[],
  given: PostInput['channel_options'],
): NamedFile[] =>
  channels.flatMap((channel) => {
    const options = given?.[channel.id];
    return options ? assertOptions(rules, channel, options, `/channel_options/${channel.id}`) : [];
  });

/** The files that channel defaults name and that the post's own options do not override. */
export const filesInDefaults = (
  rules: RulesByPlatform,
  channels: readonly Pick<ChosenChannel, 'id' | 'platform' | 'options'>[],
  own: Readonly<Record<string, Options>>,
): NamedFile[] =>
  channels.flatMap(({ id, platform, options }) => {
    const names = fileIdsIn(rules[platform]?.options ?? noOptions, options ?? {});
    return Object.entries(names).flatMap(([name, mediaId]) =>
      own[id]?.[name] === undefined ? [{ mediaId, path: '/channel_ids' }] : [],
    );
  });

/** The ids of all files that the options of channels name, merged over their defaults. */
export const fileIdsOf = (
  rules: RulesByPlatform,
  channels: readonly Pick<ChosenChannel, 'id' | 'platform' | 'options'>[],
  own: Readonly<Record<string, Options>>,
): string[] =>
  channels.flatMap(({ id, platform, options }) =>
    Object.values(fileIdsIn(rules[platform]?.options ?? noOptions, { ...options, ...own[id] })),
  );

function faultsOf(
  rules: RulesByPlatform,
  { platform }: Named,
  options: Options,
): readonly ErrorDetail[] {
  const schema = rules[platform]?.options;
  if (!schema) {
    return [{ path: '', message: `are for "${platform}", which this version does not know` }];
  }

  const { length } = JSON.stringify(options);
  if (length > longestOptions) {
    const message = `must have at most ${longestOptions} characters of JSON, and have ${length}`;
    return [{ path: '', message, limit: longestOptions, actual: length }];
  }

  const faults = schemaFaults(schema, options);
  return faults.length > 0 ? faults : textFaults(options, '');
}

const parsers = new WeakMap<OptionsSchema, (value: unknown) => unknown>();

function schemaFaults(schema: OptionsSchema, options: Options): readonly ErrorDetail[] {
  const parse = parsers.get(schema) ?? parser(schema);
  parsers.set(schema, parse);
  try {
    parse(options);
    return [];
  } catch (error) {
    if (error instanceof AppError) {
      return error.details ?? [];
    }

    throw error;
  }
}

function textFaults(value: Json, path: string): ErrorDetail[] {
  if (typeof value === 'string') {
    return isText(value) ? [] : [{ path, message: notText }];
  }

  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inside]) =>
        textFaults(inside, `${path}/${pointerToken(name)}`),
      )
    : [];
}

import { AppError, channelDetail, wrongValue, type ErrorDetail } from './errors.ts';

export const scopes = [
  'posts:read',
  'posts:write',
  'posts:publish',
  'media',
  'channels',
  'webhooks',
  'analytics',
  'keys',
] as const;
export type Scope = (typeof scopes)[number];

/** The scopes of a stored key. Null is all. Keys of earlier versions name a scope that never had an effect. */
export const scopesOf = (stored: readonly string[] | null): readonly Scope[] =>
  stored?.filter(isScope) ?? scopes;

const isScope = (name: string): name is Scope => scopes.some((known) => known === name);

export type KeyRights = {
  readonly scopes: readonly Scope[];
  /** The only channels that it sees and uses; null for all. */
  readonly channelIds: readonly string[] | null;
  /** Null for never. */
  readonly expiresAt: Date | null;
};

/** The holder of a key: who calls. */
export type KeyHolder = Pick<KeyRights, 'scopes' | 'channelIds'>;

type Scoped = Pick<KeyHolder, 'scopes'>;

/** @param why Why the call needs it. */
export function assertScope({ scopes: own }: Scoped, scope: Scope, why = ''): void {
  if (!own.includes(scope)) {
    const message = `This API key lacks the scope ${scope}.${why} Use a key that has it. A key with all scopes can create one with POST /keys; the operator can create one with the CLI.`;
    throw new AppError('scope_missing', message, { details: [{ path: '', message, scope }] });
  }
}

/** A post with a time is published without another call. */
export const assertMaySchedule = (holder: Scoped): void =>
  assertScope(
    holder,
    'posts:publish',
    ' A post with a time needs it; without a time the post is a draft.',
  );

type Reach = Pick<KeyHolder, 'channelIds'>;

/** Whether a key may use a channel. */
export const reaches = ({ channelIds }: Reach, channelId: string): boolean =>
  channelIds === null || channelIds.includes(channelId);

/** Refuses channels that a key is not for, as unknown ones are refused. @param at The place of an id in the request. */
export function assertReaches(
  holder: Reach,
  channelIds: readonly string[],
  at = (id: string): string => `/channel_ids/${channelIds.indexOf(id)}`,
): void {
  const others = channelIds.filter((id) => !reaches(holder, id));
  if (others.length > 0) {
    const message = (ids: string) =>
      `This API key is restricted to other channels than ${ids}; GET /me lists its channel_ids.`;
    throw new AppError('invalid_channel_ids', message(others.join(', ')), {
      details: others.map((id) => channelDetail(at(id), message(id), id)),
    });
  }
}

/** A restricted key must name a channel of its post: it would not see a post without any. */
export function assertPostChannels(holder: Reach, channelIds: readonly string[]): void {
  assertReaches(holder, channelIds);
  if (holder.channelIds !== null && channelIds.length === 0) {
    const message =
      'This API key is restricted to some channels, so each of its posts needs one in channel_ids.';
    throw new AppError('no_channels', message, { details: [{ path: '/channel_ids', message }] });
  }
}

/** Endpoints get the events of all channels. */
export function assertSound({ scopes: asked, channelIds }: KeyRights): void {
  if (channelIds !== null && asked.includes('webhooks')) {
    const message =
      'A key with channel_ids cannot have the scope webhooks, because endpoints receive the events of all channels.';
    throw wrongValue('/scopes', message, message);
  }
}

/** Refuses rights beyond those of the key that gives or changes them. */
export function assertWithin(asked: KeyRights, own: KeyRights): void {
  const details: ErrorDetail[] = [];
  const more = asked.scopes.filter((scope) => !own.scopes.includes(scope));
  if (more.length > 0) {
    details.push({ path: '/scopes', message: `it lacks ${more.join(', ')}` });
  }

  if (own.channelIds !== null && !asked.channelIds?.every((id) => reaches(own, id))) {
    const message = `it is restricted to the channels ${own.channelIds.join(', ')}`;
    details.push({ path: '/channel_ids', message });
  }

  if (own.expiresAt !== null && (asked.expiresAt === null || asked.expiresAt > own.expiresAt)) {
    const message = `it expires at ${own.expiresAt.toISOString()}`;
    details.push({ path: '/expires_at', message });
  }

  if (details.length > 0) {
    const reasons = details.map(({ message }) => message).join('; ');
    const message = `An API key can only create, change or revoke keys with no more rights than its own: ${reasons}.`;
    throw new AppError('rights_exceeded', message, { details });
  }
}

export const postNotFound = (postId: string): AppError =>
  new AppError('not_found', `There is no post "${postId}".`);

/** A restricted key reads a post that has one of its channels, and changes a post that has no others. */
export function assertReachesPost(
  holder: Reach,
  postId: string,
  ofPost: readonly string[],
  to: 'read' | 'change',
): void {
  if (holder.channelIds !== null && !ofPost.some((id) => reaches(holder, id))) {
    throw postNotFound(postId);
  }

  if (to === 'change' && !ofPost.every((id) => reaches(holder, id))) {
    const message =
      'This post has channels that this API key may not use, so the key can only read it. Use a key without channel_ids.';
    throw new AppError('channel_not_allowed', message);
  }
}

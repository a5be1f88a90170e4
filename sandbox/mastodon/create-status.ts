import type { Signer } from '../orders.ts';
import { isBy, type SandboxPost } from '../post.ts';
import { isStatus, type Status } from './post.ts';
import { Refusal } from '../refusal.ts';
import type { Fate } from '../script.ts';
import type { MastodonDeps } from './deps.ts';
import { badToken } from './guards.ts';
import { nextStatusId } from './next-status-id.ts';
import { countCharacters, countGraphemes, maxCharacters } from './text.ts';

/** Time for which Mastodon remembers an Idempotency-Key. */
const keyLifeMs = 60 * 60 * 1000;
const visibilities = new Set(['public', 'unlisted', 'private', 'direct']);
/** The supported fields. Others are refused: Mastodon would ignore them, or the sandbox does not support them. */
const known = new Set([
  'status',
  'media_ids',
  'in_reply_to_id',
  'visibility',
  'spoiler_text',
  'sensitive',
  'language',
]);

export type Created = {
  readonly status: Status;
  /** The response: the status, none (cuts the connection), or an error. */
  readonly answer: 'normal' | 'none' | 'error';
};

/**
 * Creates a status from the fields of a request, or returns the one with the same key.
 *
 * @throws Refusal 401, 404, 422 or 429, like Mastodon. The page shows statuses that were refused for their content.
 */
export async function createStatus(
  deps: MastodonDeps,
  fields: Readonly<Record<string, unknown>>,
  key: string | null,
  by: Signer,
): Promise<Created> {
  const { store, attachments, now } = deps;
  const own = statusesOf(store.all());
  const first = own
    .filter(isBy(by.account))
    .findLast((status) => key !== null && status.key === key);
  if (first !== undefined && now() - Date.parse(first.createdAt) < keyLifeMs) {
    return { status: first, answer: 'normal' };
  }

  const media = attachments.choose(listField(fields, 'media_ids'));
  const content = parseContent(fields);
  const status: Status = {
    network: 'mastodon',
    id: nextStatusId(now(), own.at(-1)?.id),
    createdAt: new Date(now()).toISOString(),
    account: by.account,
    key,
    media,
    ...content,
  };
  if (status.replyTo !== null && store.find('mastodon', status.replyTo) === undefined) {
    throw new Refusal(404, 'The status that this one answers does not exist.');
  }
  const { answer, hiddenUntilMs, alteredUntilMs } = await admit(deps, status, by);
  attachments.use(media);
  if (hiddenUntilMs !== null) {
    store.hide([status], hiddenUntilMs);
  }
  if (alteredUntilMs !== null) {
    store.alter([status], alteredUntilMs);
  }
  await store.put([status]);
  return { status, answer };
}

/** @throws Refusal when the text breaks a rule, or a directive requests it. */
async function admit({ store, script }: MastodonDeps, status: Status, by: Signer) {
  const { network, text, spoilerText = '', createdAt, replyTo, account, media = [] } = status;
  try {
    assertFits(text, spoilerText, media.length > 0);
    const key = status.key ?? text;
    const fate = script.fateOf({ network, texts: [text, spoilerText], key, by });
    if (fate.kind !== 'take') {
      throw refusalFor(fate);
    }
    return fate;
  } catch (error) {
    if (error instanceof Refusal && error.status === 422) {
      const files = media.map(({ cid, type, description }) => ({
        cid,
        type,
        altText: description ?? '',
      }));
      const refused = error.message;
      await store.refuse({ network, text, createdAt, replyTo, account, refused, files });
    }
    throw error;
  }
}

/** Mastodon's response for a fate of the script. */
function refusalFor(fate: Exclude<Fate, { kind: 'take' }>): Refusal {
  switch (fate.kind) {
    case 'refuse':
      return invalid(fate.reason);
    case 'duplicate':
      return invalid('The account has posted this already');
    case 'busy':
      return tooManyRequests(fate.resetMs);
    case 'revoked':
    case 'ended':
      return badToken(fate.kind);
  }
}

/** The stored statuses, ordered by id. */
export function statusesOf(posts: readonly SandboxPost[]): Status[] {
  return posts.filter(isStatus);
}

function assertFits(text: string, spoilerText: string, hasMedia: boolean): void {
  if (text === '' && !hasMedia) {
    throw invalid("Text can't be blank");
  }
  if (countCharacters(text) + countGraphemes(spoilerText) > maxCharacters) {
    throw invalid(`Text character limit of ${maxCharacters} exceeded`);
  }
}

function parseContent(fields: Readonly<Record<string, unknown>>) {
  const extra = Object.keys(fields).find((name) => !known.has(name) && !isBlank(fields[name]));
  if (extra !== undefined) {
    throw invalid(`The sandbox has no ${extra}`);
  }
  const text = textField(fields, 'status')?.trim() ?? ''; // Mastodon trims too.
  const warning = textField(fields, 'spoiler_text')?.trim() ?? '';
  const visibility = textField(fields, 'visibility') ?? 'public';
  if (!visibilities.has(visibility)) {
    throw invalid('Visibility is not included in the list');
  }
  const language = textField(fields, 'language') ?? null;
  if (language !== null && !/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/v.test(language)) {
    throw invalid('Language is invalid');
  }
  return {
    // Like Mastodon: a warning without a text becomes the text.
    text: text === '' ? warning : text,
    spoilerText: text === '' ? '' : warning,
    sensitive: flagField(fields, 'sensitive') || warning !== '',
    replyTo: textField(fields, 'in_reply_to_id') ?? null,
    visibility,
    language,
  };
}

/** In a form, booleans are texts. */
function flagField(fields: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = fields[name];
  if (!isBlank(value) && ![true, false, 'true', 'false', '1', '0'].includes(value as string)) {
    throw invalid(`${name} must be a boolean`);
  }
  return value === true || value === 'true' || value === '1';
}

function textField(fields: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = fields[name];
  if (isBlank(value)) {
    return undefined;
  }
  if (typeof value !== 'string') {
    throw invalid(`${name} must be a string`);
  }
  return value;
}

function listField(fields: Readonly<Record<string, unknown>>, name: string): string[] {
  const value = fields[name];
  if (isBlank(value)) {
    return [];
  }
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) {
    throw invalid(`${name} must be a list of strings`);
  }
  return value;
}

function isBlank(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  );
}

function invalid(reason: string): Refusal {
  return new Refusal(422, `Validation failed: ${reason}`);
}

function tooManyRequests(resetMs: number): Refusal {
  return new Refusal(429, 'Too many requests', {
    headers: {
      'x-ratelimit-limit': '300',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': new Date(resetMs).toISOString(),
    },
  });
}

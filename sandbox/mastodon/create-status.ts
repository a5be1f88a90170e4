import type { MastodonPost, Post } from '../post.ts';
import { Refusal } from '../refusal.ts';
import type { MastodonDeps } from './deps.ts';
import { nextStatusId } from './next-status-id.ts';
import { countCharacters, maxCharacters } from './text.ts';

/** How long Mastodon remembers an Idempotency-Key. */
const keyLifeMs = 60 * 60 * 1000;
const busyMs = 5000;
const visibilities = new Set(['public', 'unlisted', 'private', 'direct']);
const unsupported = ['poll', 'scheduled_at', 'spoiler_text'];

/**
 * Creates a status from the fields of a request, or finds the one that was created with the same key.
 *
 * @returns `isLost` when the caller is to get no answer.
 * @throws Refusal 404, 422 or 429, as Mastodon answers.
 */
export async function createStatus(
  { store, attachments, failures, now }: MastodonDeps,
  fields: Readonly<Record<string, unknown>>,
  key: string | null,
): Promise<{ status: MastodonPost; isLost: boolean }> {
  const own = statusesOf(store.all());
  const first = key === null ? undefined : own.findLast((status) => status.key === key);
  if (first !== undefined && now() - Date.parse(first.createdAt) < keyLifeMs) {
    return { status: first, isLost: false };
  }

  const media = attachments.choose(listField(fields, 'media_ids'));
  const content = parseContent(fields, media.length > 0);
  const { text, replyTo } = content;
  if (replyTo !== null && store.find('mastodon', replyTo) === undefined) {
    throw new Refusal(404, 'The status that this one answers does not exist.');
  }
  if (failures.refuses([text])) {
    throw invalid('The text has #sandbox-refuse in it');
  }
  if (failures.isBusy([text], key ?? text)) {
    throw tooManyRequests(now() + busyMs);
  }
  const status: MastodonPost = {
    network: 'mastodon',
    id: nextStatusId(now(), own.at(-1)?.id),
    createdAt: new Date(now()).toISOString(),
    key,
    media,
    ...content,
  };
  attachments.use(media);
  await store.put([status]);
  return { status, isLost: failures.loses([text], key ?? text) };
}

/** The kept statuses in the order of their ids. */
export function statusesOf(posts: readonly Post[]): MastodonPost[] {
  return posts.filter((post) => post.network === 'mastodon');
}

function parseContent(fields: Readonly<Record<string, unknown>>, hasMedia: boolean) {
  const extra = unsupported.find((name) => !isBlank(fields[name]));
  if (extra !== undefined) {
    throw invalid(`The sandbox has no ${extra}`);
  }
  const text = textField(fields, 'status')?.trim() ?? ''; // Mastodon trims too.
  if (text === '' && !hasMedia) {
    throw invalid("Text can't be blank");
  }
  if (countCharacters(text) > maxCharacters) {
    throw invalid(`Text character limit of ${maxCharacters} exceeded`);
  }
  const visibility = textField(fields, 'visibility') ?? 'public';
  if (!visibilities.has(visibility)) {
    throw invalid('Visibility is not included in the list');
  }
  const replyTo = textField(fields, 'in_reply_to_id') ?? null;
  return { text, replyTo, visibility, language: textField(fields, 'language') ?? null };
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

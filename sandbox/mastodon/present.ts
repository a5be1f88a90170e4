import type { Request } from 'koa';
import type { AccountName } from '../account-name.ts';
import { account as demo, accounts } from './account.ts';
import type { FigureBook } from '../figures.ts';
import { fileTypes, maxStoredFileBytes } from '../files.ts';
import { originOf } from '../origin.ts';
import { isBy } from '../post.ts';
import type { Attachment, Status } from './post.ts';
import {
  maxDescription,
  maxPerStatus,
  maxVideoFrameRate,
  maxImagePixels,
  maxVideoPixels,
} from './attachments.ts';
import { charactersPerUrl, contentOf, maxCharacters, tagsOf } from './text.ts';

/** The public representation of an account. @param base Base URL of the sandbox's Mastodon. */
export function presentAccount(
  base: string,
  name: AccountName,
  counts: { readonly statuses: number; readonly followers?: number },
) {
  const { id, username, displayName, createdAt } = accounts[name];
  const picture = new URL('/assets/mastodon.svg', base).href;
  return {
    id,
    username,
    acct: username,
    display_name: displayName,
    url: `${base}/@${username}`,
    uri: `${base}/@${username}`,
    avatar: picture,
    avatar_static: picture,
    header: picture,
    header_static: picture,
    note: '',
    locked: false,
    bot: false,
    group: false,
    discoverable: false,
    created_at: createdAt,
    last_status_at: null,
    statuses_count: counts.statuses,
    followers_count: counts.followers ?? 0,
    following_count: 0,
    emojis: [],
    fields: [],
    roles: [],
  };
}

/** Returns a function that presents a status. @param statuses All statuses, to find the author of a reply's parent. */
export function statusPresenter(base: string, statuses: readonly Status[], figures: FigureBook) {
  return (status: Status) => {
    const author = authorOf(status);
    const told = figures.of(status);
    return {
      ...presentContent(status, statuses, base),
      account: presentAccount(base, author, { statuses: statuses.filter(isBy(author)).length }),
      replies_count: told.comments,
      reblogs_count: told.reposts,
      quotes_count: told.quotes,
      favourites_count: told.likes,
    };
  };
}

/** The base URL with which the caller reaches the sandbox's Mastodon. */
export function baseOf(request: Pick<Request, 'host'>): string {
  return `${originOf(request)}/mastodon`;
}

const authorOf = ({ account = 'demo' }: Status): AccountName => account;

function presentContent(status: Status, statuses: readonly Status[], base: string) {
  const url = `${base}/@${accounts[authorOf(status)].username}/${status.id}`;
  const answered = statuses.find(({ id }) => id === status.replyTo);
  return {
    id: status.id,
    uri: url,
    url,
    created_at: status.createdAt,
    edited_at: null,
    content: contentOf(status.text, base).markup,
    visibility: status.visibility,
    sensitive: status.sensitive ?? false,
    spoiler_text: status.spoilerText ?? '',
    language: status.language,
    in_reply_to_id: status.replyTo,
    in_reply_to_account_id:
      status.replyTo === null ? null : accounts[authorOf(answered ?? status)].id,
    media_attachments: (status.media ?? []).map((file) => presentAttachment(file, base)),
    mentions: [],
    tags: tagsOf(status.text).map((name) => ({
      name,
      url: `${base}/tags/${encodeURIComponent(name)}`,
    })),
    emojis: [],
    reblog: null,
    poll: null,
    card: null,
    application: null,
  };
}

/** A file, used or still without a status; its URL is null during processing. */
export function presentAttachment(
  { id, cid, type, description }: Attachment,
  base: string,
  isReady = true,
) {
  const url = new URL(`/files/${cid}`, base).href;
  const [kind] = type.split('/');
  return {
    id,
    type: kind,
    url: isReady ? url : null,
    preview_url: isReady && kind === 'image' ? url : null,
    remote_url: null,
    meta: {},
    description,
    blurhash: null,
  };
}

/** The instance's description: its limits, and a version that identifies the sandbox. */
export function presentInstance(base: string) {
  return {
    domain: demo.domain,
    title: 'Sandbox',
    version: '4.5.0 (compatible; sandbox)',
    source_url: '',
    description: 'A simulated Mastodon server for a first run.',
    usage: { users: { active_month: 1 } },
    thumbnail: { url: new URL('/assets/mastodon.svg', base).href },
    languages: ['en'],
    configuration: {
      statuses: {
        max_characters: maxCharacters,
        max_media_attachments: maxPerStatus,
        characters_reserved_per_url: charactersPerUrl,
      },
      media_attachments: {
        supported_mime_types: fileTypes,
        image_size_limit: maxStoredFileBytes,
        image_matrix_limit: maxImagePixels,
        video_size_limit: maxStoredFileBytes,
        video_frame_rate_limit: maxVideoFrameRate,
        video_matrix_limit: maxVideoPixels,
        description_limit: maxDescription,
      },
    },
    registrations: { enabled: false, approval_required: false, message: null },
    contact: { email: '', account: presentAccount(base, 'demo', { statuses: 0 }) },
    rules: [],
  };
}

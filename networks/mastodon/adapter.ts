import { count, having, nullable, text as anyText, type Value } from '../../domain/json-schema.ts';
import { createKeyedSemaphore } from '../../runtime/concurrency.ts';
import { answerReader } from '../answer.ts';
import type { Access } from '../client.ts';
import {
  NetworkError,
  type Connection,
  type Finding,
  type Network,
  type PartMedia,
  type PublishStep,
  type ThreadPart,
  onlyPart,
} from '../network.ts';
import { findOwn } from '../find-own.ts';
import { contentOf, formOf } from '../uploads/file-bytes.ts';
import { untilProcessed } from '../uploads/processing.ts';
import { isBlank } from '../validation/texts.ts';
import { call, get, idSchema, serverName } from './client.ts';
import { statusesWithText } from './find-status.ts';
import { metrics } from './metrics.ts';
import { rules, warningIn } from './rules.ts';
import {
  createStatus,
  deleteStatus,
  newestOwnStatusId,
  ownStatusesSince,
  sentPartOf,
} from './statuses.ts';

const preparedSchema = having(
  {
    /** The newest own status before the thread, which ends a search; null when there was none. */
    sinceId: nullable(anyText),
  },
  {
    /** The number of files. Absent in parts that were prepared before statuses had files. */
    mediaCount: count,
  },
);

type Prepared = Value<typeof preparedSchema>;

const readPrepared = answerReader(preparedSchema);

/**
 * Servers with the Mastodon API: Mastodon, GoToSocial, Pleroma and others.
 *
 * A thread goes out status by status, each a reply to the previous one. On Mastodon the `Idempotency-Key` makes a
 * repeated send harmless for about an hour. Other servers ignore it, so a lost send is reconciled by a search.
 */
export const mastodonNetwork: Network = {
  id: 'mastodon',
  rules,
  threads: 'sequential',
  metrics,

  async prepare(connection, parts) {
    const sinceId = await newestOwnStatusId(connection, connection.remoteId);
    return parts.map((part) => {
      const data: Prepared = { sinceId, mediaCount: part.media.length };
      return { ...part, data };
    });
  },

  upload: (connection, step) =>
    Array.fromAsync(onlyPart(step).media, (file) => uploadFile(connection, file)),

  async send(connection, step, files) {
    return [await createStatus(connection, onlyPart(step), step.sent.at(-1), files)];
  },

  async reconcile(connection, step) {
    const { workspaceId = '', signal } = connection;
    const leave = await enterSearch(workspaceId, signal).catch(() => {
      const message = 'The workspace is still looking for other posts.';
      throw new NetworkError('network_unavailable', message, { accepted: 'unknown' });
    });
    try {
      return await search(connection, step);
    } finally {
      leave();
    }
  },

  remove: (connection, live) => deleteStatus(connection, live.at(-1)?.remoteId ?? ''),
};

/** Searches of a workspace at a time in this process: a hostile server makes each one hold four megabytes. */
const enterSearch = createKeyedSemaphore(8);

async function search(connection: Connection, step: PublishStep): Promise<Finding> {
  const part = onlyPart(step);
  const parentId = step.sent.at(-1)?.remoteId ?? null;
  const prepared = readPrepared(part.data);
  const sinceId = parentId ?? prepared?.sinceId ?? null;
  return findOwn(ownStatusesSince(connection, connection.remoteId, sinceId), async (statuses) => {
    const possible = statuses.filter((status) => {
      const inPlace = (status.in_reply_to_id ?? null) === parentId;
      const hasFiles = (status.media_attachments ?? []).length === (prepared?.mediaCount ?? 0);
      return inPlace && hasFiles;
    });
    const found = await Array.fromAsync(textsOf(part), (text) =>
      statusesWithText(connection, possible, text),
    );
    return found.flat().map(sentPartOf);
  });
}

/** The possible texts of the status. Mastodon uses the content warning as the text when there is none. */
const textsOf = (part: ThreadPart): string[] =>
  isBlank(part.text) && warningIn(part) !== '' ? [part.text, warningIn(part)] : [part.text];

/**
 * Uploads one file to the server, and waits until a status may use it.
 *
 * The id is valid for one status only (GoToSocial refuses a second use) and for a limited time (hours on Mastodon), so
 * it is never stored for another attempt.
 *
 * Source: https://docs.joinmastodon.org/methods/media/
 */
async function uploadFile(access: Access, file: PartMedia): Promise<string> {
  const altText = file.altText?.trim() ?? '';
  const fields = altText === '' ? {} : { description: altText };
  const form = formOf(fields, 'file', `file.${endingOf(file.type)}`, contentOf(file));
  const { name: fileName } = file;
  const uploaded = await call(access, {
    method: 'POST',
    path: '/api/v2/media',
    file: form,
    purpose: 'upload',
    fileName,
  });
  const { id } = uploaded.as(readAttachment);
  // 202, and later 206: the server has the file and is still processing it.
  if (uploaded.status !== 202) {
    return id;
  }

  const { signal } = access;
  const waiting = { network: serverName, fileName, patienceMs, signal };
  return untilProcessed(waiting, async () => {
    const path = `/api/v1/media/${encodeURIComponent(id)}`;
    const response = await get(access, path, 'upload', { fileName });
    response.as(readAttachment);
    return response.status === 200 ? { done: id } : {};
  });
}

const patienceMs = 120_000;

/** Reads an uploaded file, which has no URL while the server is processing it. */
const readAttachment = answerReader(having({ id: idSchema }));

const endingOf = (type: string): string =>
  type === 'video/quicktime' ? 'mov' : (type.split('/')[1] ?? '').replaceAll(/[^a-z0-9]/gu, '');

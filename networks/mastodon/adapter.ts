import { answerReader } from '../answer.ts';
import type {
  Connection,
  Finding,
  PreparedPart,
  Network,
  ThreadPart,
  SentPart,
  PublishStep,
} from '../network.ts';
import { isBlank } from '../validation/texts.ts';
import { accessWith } from './client.ts';
import { metrics } from './metrics.ts';
import { choiceOf } from './options.ts';
import { rules } from './rules.ts';
import { statusesWithText } from './status-has-text.ts';
import {
  createStatus,
  newestOwnStatusId,
  ownStatusesSince,
  sentPartOf,
  tooMany,
} from './statuses.ts';
import { uploadFile } from './upload-file.ts';

type Prepared = {
  /** The newest own status before the thread, which ends a search; null when there was none. */
  readonly sinceId: string | null;
  /** The number of files. Absent in parts that were prepared before statuses had files. */
  readonly mediaCount?: number;
};

const readPrepared = answerReader<Prepared>({
  type: 'object',
  required: ['sinceId'],
  properties: {
    sinceId: { type: 'string', nullable: true },
    mediaCount: { type: 'integer', minimum: 0 },
  },
});

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

  async prepare(connection: Connection, parts: readonly ThreadPart[]): Promise<PreparedPart[]> {
    const access = accessWith(connection, connection.credentials, 'prepare');
    const sinceId = await newestOwnStatusId(access, connection.remoteId);
    return parts.map((part) => {
      const data: Prepared = { sinceId, mediaCount: part.media.length };
      return { ...part, data };
    });
  },

  async upload(connection: Connection, step: PublishStep): Promise<readonly string[]> {
    const access = accessWith(connection, connection.credentials, 'upload');
    const ids: string[] = [];
    for (const file of onlyPart(step).media) {
      ids.push(await uploadFile(access, file));
    }

    return ids;
  },

  async send(
    connection: Connection,
    step: PublishStep,
    files: readonly string[],
  ): Promise<SentPart[]> {
    const access = accessWith(connection, connection.credentials, 'create');
    return [await createStatus(access, onlyPart(step), step.sent.at(-1), files)];
  },

  async reconcile(connection: Connection, step: PublishStep): Promise<Finding> {
    const access = accessWith(connection, connection.credentials, 'reconcile');
    const part = onlyPart(step);
    const parentId = step.sent.at(-1)?.remoteId ?? null;
    const prepared = readPrepared(part.data);
    const sinceId = parentId ?? prepared?.sinceId ?? null;
    const newer = await ownStatusesSince(access, connection.remoteId, sinceId);
    const possible = newer.statuses.filter((status) => {
      const inPlace = (status.in_reply_to_id ?? null) === parentId;
      const hasFiles = (status.media_attachments ?? []).length === (prepared?.mediaCount ?? 0);
      return inPlace && hasFiles;
    });
    const found = new Map<string, SentPart>();
    for (const text of textsOf(part)) {
      for (const status of await statusesWithText(access, possible, text)) {
        found.set(status.id, sentPartOf(status));
      }
    }

    const candidates = [...found.values()].map((post) => [post]);
    if (candidates.length === 0 && !newer.isComplete) {
      throw tooMany();
    }

    return candidates.length > 0 ? { kind: 'found', candidates } : { kind: 'absent' };
  },
};

/** The possible texts of the status. Mastodon uses the content warning as the text when there is none. */
function textsOf({ text, options }: ThreadPart): string[] {
  const { spoilerText } = choiceOf(options);
  return isBlank(text) && spoilerText !== undefined ? [text, spoilerText] : [text];
}

function onlyPart({ parts }: PublishStep): PreparedPart {
  const [part, ...more] = parts;
  if (!part || more.length > 0) {
    throw new Error(`A step of a sequential network has one part, not ${parts.length}.`);
  }

  return part;
}

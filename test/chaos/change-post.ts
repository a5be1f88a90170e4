import type { PostView } from '../../domain/post-view.ts';
import type { Client, Reply } from '../support/client.ts';
import type { Owner } from './owner.ts';
import { endInForce, type PostHistory } from './post-history.ts';
import { callUntilAnswered, showPost, type Called } from './parts/calls.ts';
import type { Cues } from './parts/cues.ts';
import type { Journal } from './parts/journal.ts';
import type { MediaIds } from './parts/upload-files.ts';
import type { PlannedFault, Step } from './plan/post-plan.ts';
import { textsOf } from './plan/texts.ts';

// The API calls by which a user changes a post. Each records what the user knows from then on.

export type Stage = {
  readonly client: Client;
  readonly journal: Journal;
  readonly startMs: number;
  readonly channelIds: readonly string[];
  /** The channels whose posts must declare whether the video is made for kids. */
  readonly videoChannels: ReadonlySet<number>;
  readonly mediaIds: MediaIds;
  /** When the run stops waiting, in milliseconds since 1970. */
  readonly deadlineMs: number;
  readonly cues: Cues;
  /** Terminates the workflow of a post. @returns whether it was running. */
  readonly terminate: (postId: string) => Promise<boolean>;
  /** Makes the next attempt of this post give a cue when it begins. */
  readonly aim: (postId: string, fault: Pick<PlannedFault, 'id'> & { marker: string }) => void;
  readonly owner: Owner;
  /** All posts that were created. */
  readonly histories: PostHistory[];
};

/** Makes a call and records when it ends. */
async function calling(history: PostHistory, call: () => Promise<Reply>): Promise<Called> {
  history.calledAtMs = Infinity;
  try {
    return await callUntilAnswered(call);
  } finally {
    history.calledAtMs = Date.now();
  }
}

/** @throws Error when the API rejects the post. */
export async function create(stage: Stage, history: PostHistory) {
  const { client, journal, startMs, channelIds, videoChannels } = stage;
  const { marker, parts, channels, dueMs } = history.plan;
  const due = startMs + dueMs;
  const body = {
    ...contentFields(stage, history),
    ...(channels.some((channel) => videoChannels.has(channel)) && {
      video: { made_for_kids: false },
    }),
    channel_ids: channels.map((channel) => channelIds[channel]),
    scheduled_at: new Date(due).toISOString(),
  };
  const called = await calling(history, () =>
    client.post('/posts', body, { 'idempotency-key': marker }),
  );
  journal.note(
    marker,
    `created, ${parts} parts, due at ${inRun(startMs, due)}: ${summary(called)}`,
  );
  if (called.reply.status >= 300) {
    throw new Error(`The API rejected ${marker}: ${JSON.stringify(called.reply.body)}`);
  }

  history.id = called.reply.body.post.id;
  history.inForce.push({ dueMs: due, version: 1, fromMs: called.sentAtMs, untilMs: Infinity });
}

/** Text and files of a post. An edit repeats the files, because it would remove those of later parts. */
function contentFields(
  { mediaIds }: Pick<Stage, 'mediaIds'>,
  { plan: { marker, parts, files }, version }: PostHistory,
): object {
  const texts = textsOf(marker, parts, version);
  const idsOf = (part: number) =>
    files.filter((file) => file.part === part).map(({ name }) => mediaIds[name]);
  return parts === 1
    ? { body: texts[0], media_ids: idsOf(1) }
    : { thread: texts.map((text, index) => ({ text, media_ids: idsOf(index + 1) })) };
}

/** Reschedules a post; a draft becomes scheduled. */
export async function move(
  stage: Stage,
  history: PostHistory,
  { dueMs, rewrite }: Pick<Step & { kind: 'move' }, 'dueMs' | 'rewrite'>,
): Promise<void> {
  const { client, journal, startMs } = stage;
  const { marker } = history.plan;
  const due = startMs + dueMs;
  const version = history.version + (rewrite ? 1 : 0);
  const texts = rewrite ? contentFields(stage, { ...history, version }) : {};
  const body = { scheduled_at: new Date(due).toISOString(), ...texts };
  const called = await calling(history, () => client.patch(`/posts/${history.id}`, body));
  journal.note(marker, `moved to ${inRun(startMs, due)}, version ${version}: ${summary(called)}`);
  const { reply, sentAtMs, ackAtMs, lostAnswers } = called;
  const isMoved = reply.status === 200;
  if (!isMoved && lostAnswers === 0) {
    return; // Too late for the move.
  }

  for (const cancelled of history.cancels) {
    cancelled.untilMs = Math.min(cancelled.untilMs, sentAtMs);
  }
  if (isMoved) {
    endInForce(history, ackAtMs);
    history.isDraft = false;
    history.version = version;
  }
  history.inForce.push({ dueMs: due, version, fromMs: sentAtMs, untilMs: Infinity });
}

export async function cancel({ client, journal }: Stage, history: PostHistory): Promise<void> {
  const called = await calling(history, () => client.post(`/posts/${history.id}/cancel`));
  journal.note(history.plan.marker, `cancelled: ${summary(called)}`);
  const { reply, ackAtMs, lostAnswers } = called;
  if (reply.status === 200) {
    noteCancel(history, ackAtMs, reply.body.still_sending);
  } else if (lostAnswers > 0) {
    // An earlier request may have arrived. Channels that are sending now were sending then.
    const post = await showPost(client, history.id);
    if (post?.status === 'draft') {
      noteCancel(history, Date.now(), sending(post));
    }
  }
}

function noteCancel(history: PostHistory, ackAtMs: number, stillSending: number): void {
  endInForce(history, ackAtMs);
  history.isDraft = true;
  history.cancels.push({ ackAtMs, stillSending, untilMs: Infinity });
}

/**
 * Copies a post, and deletes it and the copy. Nothing is sent after the deletion, as after a cancel. A post that is
 * being sent is not deleted and goes on.
 */
export async function remove({ client, journal }: Stage, history: PostHistory): Promise<void> {
  const { id, plan } = history;
  const key = { 'idempotency-key': `copy of ${plan.marker}` };
  const copied = await callUntilAnswered(() => client.post(`/posts/${id}/copy`, {}, key));
  const called = await calling(history, () => client.delete(`/posts/${id}`));
  journal.note(plan.marker, `copied: ${summary(copied)}; deleted: ${summary(called)}`);
  const { reply, ackAtMs, lostAnswers } = called;
  if (reply.status === 200 || (reply.status === 404 && lostAnswers > 0)) {
    noteCancel(history, ackAtMs, 0);
    history.isGone = true;
  }

  const copyId = copied.reply.body.post?.id;
  if (copyId !== undefined) {
    await callUntilAnswered(() => client.delete(`/posts/${copyId}`));
  }
}

const sending = ({ channels }: PostView): number =>
  channels.filter(({ status }) => status === 'publishing' || status === 'retrying').length;

export async function retry({ client, journal }: Stage, history: PostHistory): Promise<void> {
  const called = await calling(history, () => client.post(`/posts/${history.id}/retry`));
  journal.note(history.plan.marker, `retried: ${summary(called)}`);
  const { reply, lostAnswers } = called;
  if (reply.status === 202) {
    history.retries += 1;
    history.unsureRetries += lostAnswers;
  } else if (lostAnswers > 0) {
    history.retries += 1; // An earlier request arrived, since only a retry starts this run.
  }
}

const inRun = (startMs: number, atMs: number): string =>
  `${((atMs - startMs) / 1000).toFixed(3)} s`;

function summary({ reply, lostAnswers, ackAtMs, sentAtMs }: Called): string {
  const { status, body } = reply;
  const words = body?.code ?? body?.post?.status ?? JSON.stringify(body);
  const lost = lostAnswers > 0 ? `, ${lostAnswers} responses lost before` : '';
  return `${status} ${words} after ${ackAtMs - sentAtMs} ms${lost}`;
}

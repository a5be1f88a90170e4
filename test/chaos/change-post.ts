import type { PostView } from '../../domain/post-view.ts';
import type { Client, Reply } from '../support/client.ts';
import { endInForce, type Lived } from './lived.ts';
import { insist, showPost, type Called } from './parts/calls.ts';
import type { Cues } from './parts/cues.ts';
import type { Journal } from './parts/journal.ts';
import type { PlannedFault, Step } from './plan/post-plan.ts';
import { textsOf } from './plan/texts.ts';

// The calls by which a user changes a post. Each writes down what the user knows from then on.

export type Stage = {
  readonly client: Client;
  readonly journal: Journal;
  readonly startMs: number;
  readonly channelIds: readonly string[];
  /** When the run gives up waiting, in milliseconds since 1970. */
  readonly deadlineMs: number;
  readonly cues: Cues;
  /** Has the workflow of a post terminated. @returns whether it ran. */
  readonly terminate: (postId: string) => Promise<boolean>;
  /** The next try of this post says when it begins. */
  readonly aim: (postId: string, fault: Pick<PlannedFault, 'id'> & { marker: string }) => void;
  /** All posts of which somebody has begun to think. */
  readonly living: Lived[];
};

/** A call about a post. */
async function calling(lived: Lived, call: () => Promise<Reply>): Promise<Called> {
  lived.calledAtMs = Infinity;
  try {
    return await insist(call);
  } finally {
    lived.calledAtMs = Date.now();
  }
}

/** @throws Error when the API does not take the post. */
export async function create({ client, journal, startMs, channelIds }: Stage, lived: Lived) {
  const { marker, parts, channels, dueMs } = lived.plan;
  const due = startMs + dueMs;
  const body = {
    ...textFields(lived),
    channel_ids: channels.map((channel) => channelIds[channel]),
    scheduled_at: new Date(due).toISOString(),
  };
  const called = await calling(lived, () =>
    client.post('/posts', body, { 'idempotency-key': marker }),
  );
  journal.note(marker, `created, ${parts} parts, due at ${inRun(startMs, due)}: ${told(called)}`);
  if (called.reply.status >= 300) {
    throw new Error(`The API did not take ${marker}: ${JSON.stringify(called.reply.body)}`);
  }

  lived.id = called.reply.body.post.id;
  lived.inForce.push({ dueMs: due, version: 1, fromMs: called.sentAtMs, untilMs: Infinity });
}

const textFields = ({ plan: { marker, parts }, version }: Lived): object => {
  const texts = textsOf(marker, parts, version);
  return parts === 1 ? { body: texts[0] } : { thread: texts };
};

/** Also of a draft, which is scheduled by it. */
export async function move(
  { client, journal, startMs }: Stage,
  lived: Lived,
  { dueMs, rewrite }: Pick<Step & { kind: 'move' }, 'dueMs' | 'rewrite'>,
): Promise<void> {
  const { marker } = lived.plan;
  const due = startMs + dueMs;
  const version = lived.version + (rewrite ? 1 : 0);
  const texts = rewrite ? textFields({ ...lived, version }) : {};
  const body = { scheduled_at: new Date(due).toISOString(), ...texts };
  const called = await calling(lived, () => client.patch(`/posts/${lived.id}`, body));
  journal.note(marker, `moved to ${inRun(startMs, due)}, version ${version}: ${told(called)}`);
  const { reply, sentAtMs, ackAtMs, lostAnswers } = called;
  const isMoved = reply.status === 200;
  if (!isMoved && lostAnswers === 0) {
    return; // It is too late for that.
  }

  for (const cancelled of lived.cancels) {
    cancelled.untilMs = Math.min(cancelled.untilMs, sentAtMs);
  }
  if (isMoved) {
    endInForce(lived, ackAtMs);
    lived.isDraft = false;
    lived.version = version;
  }
  lived.inForce.push({ dueMs: due, version, fromMs: sentAtMs, untilMs: Infinity });
}

export async function cancel({ client, journal }: Stage, lived: Lived): Promise<void> {
  const called = await calling(lived, () => client.post(`/posts/${lived.id}/cancel`));
  journal.note(lived.plan.marker, `cancelled: ${told(called)}`);
  const { reply, ackAtMs, lostAnswers } = called;
  if (reply.status === 200) {
    noteCancel(lived, ackAtMs, reply.body.still_sending);
  } else if (lostAnswers > 0) {
    // An earlier request may have been heard. What is being sent now was being sent then.
    const post = await showPost(client, lived.id);
    if (post?.status === 'draft') {
      noteCancel(lived, Date.now(), sending(post));
    }
  }
}

function noteCancel(lived: Lived, ackAtMs: number, stillSending: number): void {
  endInForce(lived, ackAtMs);
  lived.isDraft = true;
  lived.cancels.push({ ackAtMs, stillSending, untilMs: Infinity });
}

const sending = ({ channels }: PostView): number =>
  channels.filter(({ status }) => status === 'publishing' || status === 'retrying').length;

export async function retry({ client, journal }: Stage, lived: Lived): Promise<void> {
  const called = await calling(lived, () => client.post(`/posts/${lived.id}/retry`));
  journal.note(lived.plan.marker, `retried: ${told(called)}`);
  const { reply, lostAnswers } = called;
  if (reply.status === 202) {
    lived.retries += 1;
    lived.unsureRetries += lostAnswers;
  } else if (lostAnswers > 0) {
    lived.retries += 1; // An earlier request was heard: nothing else could have begun it.
  }
}

const inRun = (startMs: number, atMs: number): string =>
  `${((atMs - startMs) / 1000).toFixed(3)} s`;

function told({ reply, lostAnswers, ackAtMs, sentAtMs }: Called): string {
  const { status, body } = reply;
  const words = body?.code ?? body?.post?.status ?? JSON.stringify(body);
  const lost = lostAnswers > 0 ? `, ${lostAnswers} answers lost before` : '';
  return `${status} ${words} after ${ackAtMs - sentAtMs} ms${lost}`;
}

import type { ExecutionContext } from 'ava';
import type { CreatePostBody } from '../../../services/posts/post-request.ts';
import { cannotTell, fakeNetwork, type FakeNetwork } from '../../support/networks.ts';
import { postSteps, type Go, type PostSteps } from '../../support/post-steps.ts';

const minuteMs = 60_000;

/** Longer than a network may take to process a request. */
export const longEnoughMs = 2 * minuteMs;

type How = {
  /** Parts of a thread that are published before the unconfirmed one. */
  readonly takenBefore?: number;
  /** Also publishes on the clear network. */
  readonly also?: boolean;
};

export type MuteWorkspace = {
  readonly posts: PostSteps;
  /** Accepts everything. */
  readonly clear: FakeNetwork;
  /** Publishes a send without a response. */
  readonly mute: FakeNetwork;
  /** The ids of their channels. */
  readonly channels: { readonly clear: string; readonly mute: string };
  /** Publishes a post on the mute network. @returns its id and its claim; its workflow has not ended it. */
  readonly publish: (
    content: CreatePostBody,
    how?: How,
  ) => Promise<{ readonly post: string; readonly claimed: Go }>;
  /** The same, ended as unconfirmed, with enough time passed that `null` is accepted. */
  readonly doubtful: (content: CreatePostBody, how?: How) => Promise<string>;
  /** Claims a post, makes one attempt per channel, and finalizes it. */
  readonly goOn: (post: string) => Promise<void>;
};

/** A workspace with a channel on a network that may publish a send without a response. */
export async function muteWorkspace(
  t: ExecutionContext,
  databaseUrl: string,
): Promise<MuteWorkspace> {
  const [clear, mute] = [fakeNetwork(), fakeNetwork()];
  const posts = await postSteps(t, { clear, mute }, databaseUrl);
  const channels = { clear: posts.channels['clear'] ?? '', mute: posts.channels['mute'] ?? '' };
  const publish: MuteWorkspace['publish'] = async (
    content,
    { takenBefore = 0, also = false } = {},
  ) => {
    const ids = also ? [channels.clear, channels.mute] : [channels.mute];
    const post = await posts.create({ ...content, channel_ids: ids, schedule_in_minutes: 0 });
    mute.fates.push(...Array.from({ length: takenBefore }, () => ({ kind: 'taken' }) as const));
    mute.fates.push({ kind: 'lost' });
    mute.blind = cannotTell;
    const claimed = await posts.claimOrThrow(post);
    await posts.attemptAll(post, claimed);
    mute.blind = undefined;
    return { post, claimed };
  };
  return {
    posts,
    clear,
    mute,
    channels,
    publish,
    doubtful: async (content, how) => {
      const { post, claimed } = await publish(content, how);
      await posts.finalize(post, claimed);
      posts.pass(longEnoughMs);
      return post;
    },
    goOn: async (post) => {
      const claimed = await posts.claimOrThrow(post);
      await posts.attemptAll(post, claimed);
      await posts.finalize(post, claimed);
    },
  };
}

import type { ExecutionContext } from 'ava';
import type { CreatePostBody } from '../../../../api/posts/schemas.ts';
import { NetworkError } from '../../../../networks/network.ts';
import { fakeNetwork, type FakeNetwork } from '../../../support/networks.ts';
import { postLife, type Go, type PostLife } from '../../../support/post-life.ts';

export const minute = 60_000;

/** Where somebody says that a post is. */
export const there = 'https://social.test/@ana/1';

export type Doubt = {
  readonly life: PostLife;
  /** Takes everything. */
  readonly clear: FakeNetwork;
  /** Takes a send and says nothing of it. */
  readonly mute: FakeNetwork;
  /** The ids of their channels. */
  readonly channels: { readonly clear: string; readonly mute: string };
  /**
   * Publishes a post on the mute network, and on the clear one as well when asked to.
   *
   * @param takenBefore Parts of a thread that go out before the one that nobody knows about.
   * @returns its id, and its claim: its workflow has not ended it.
   */
  readonly publish: (
    content: CreatePostBody,
    how?: { readonly takenBefore?: number; readonly also?: boolean },
  ) => Promise<{ readonly post: string; readonly claimed: Go }>;
  /** The same, ended: nobody knows whether it is there. A minute has passed, so that nothing more can appear. */
  readonly doubtful: (
    content: CreatePostBody,
    how?: { readonly takenBefore?: number; readonly also?: boolean },
  ) => Promise<string>;
  /** Claims a post, tries each of its channels once, and ends it. */
  readonly goOn: (post: string) => Promise<void>;
};

const silence = new NetworkError('unconfirmed', 'Nobody can tell.', { taken: 'unknown' });

export async function doubt(t: ExecutionContext): Promise<Doubt> {
  const [clear, mute] = [fakeNetwork(), fakeNetwork()];
  const life = await postLife(t, { clear, mute });
  const channels = { clear: life.channels['clear'] ?? '', mute: life.channels['mute'] ?? '' };
  const claim = async (post: string): Promise<Go> => {
    const claimed = await life.claim(post);
    if (claimed.kind !== 'go') {
      throw new Error(`The claim said ${claimed.kind}.`);
    }

    return claimed;
  };
  const tryAll = async (post: string, { targets }: Go): Promise<void> => {
    for (const { postChannelId } of targets) {
      await life.attempt(post, postChannelId);
    }
  };
  const publish: Doubt['publish'] = async (content, { takenBefore = 0, also = false } = {}) => {
    const ids = also ? [channels.clear, channels.mute] : [channels.mute];
    const post = await life.create({ ...content, channel_ids: ids, schedule_in_minutes: 0 });
    mute.fates.push(...Array.from({ length: takenBefore }, () => ({ kind: 'taken' }) as const));
    mute.fates.push({ kind: 'lost' });
    mute.blind = silence;
    const claimed = await claim(post);
    await tryAll(post, claimed);
    mute.blind = undefined;
    return { post, claimed };
  };
  return {
    life,
    clear,
    mute,
    channels,
    publish,
    doubtful: async (content, how) => {
      const { post, claimed } = await publish(content, how);
      await life.finalize(post, claimed);
      life.pass(2 * minute);
      return post;
    },
    goOn: async (post) => {
      const claimed = await claim(post);
      await tryAll(post, claimed);
      await life.finalize(post, claimed);
    },
  };
}

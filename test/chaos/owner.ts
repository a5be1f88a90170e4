import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../support/client.ts';
import type { ChaosChannel } from './networks/connect-channels.ts';
import { callUntilAnswered } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import type { PostHistory } from './post-history.ts';

type OwnerDeps = {
  readonly client: Client;
  readonly channels: readonly ChaosChannel[];
  /** The channels that lose their access permanently. */
  readonly doomed: ReadonlySet<string>;
  readonly journal: Journal;
  readonly histories: readonly PostHistory[];
};

/** In milliseconds: the polling interval, the time that a person takes, and the longest wait. */
const [pollIntervalMs, thinksMs, giveUpMs] = [700, 1500, 60_000];

/** The owner of the accounts, who reconnects them when the API asks for it. */
export class Owner {
  /** How many reconnects were made, and how many posts were retried after them. */
  mended = 0;
  resent = 0;
  readonly doomed: OwnerDeps['doomed'];
  readonly #deps: OwnerDeps;
  readonly #own: readonly ChaosChannel[];
  readonly #underWay = new Set<string>();
  #isOpen = true;

  constructor(deps: OwnerDeps) {
    this.#deps = deps;
    this.doomed = deps.doomed;
    this.#own = deps.channels.filter(
      ({ id, reconnect }) => reconnect !== null && !deps.doomed.has(id),
    );
    void this.#keep();
  }

  /** Whether the owner reconnects this channel. @param id The channel's id in the API. */
  mends(id: string): boolean {
    return this.#own.some((channel) => channel.id === id);
  }

  /** Waits until the channel is reconnected and retries the posts that failed for it. @throws Error after a minute. */
  async retryLost(id: string): Promise<void> {
    const { client, channels, histories, journal } = this.#deps;
    const number = channels.findIndex((channel) => channel.id === id);
    for (const giveUpAtMs = Date.now() + giveUpMs; Date.now() < giveUpAtMs;) {
      const { reply, lostAnswers } = await callUntilAnswered(() =>
        client.post(`/channels/${id}/reconnect`, { retry_posts: true }),
      );
      if (reply.status === 200) {
        this.resent += reply.body.retrying.length;
        credit(histories, reply.body.retrying, lostAnswers > 0 ? number : null);
        journal.note('', `channel ${number}: ${reply.body.retrying.length} posts are retried`);
        return;
      }

      await sleep(pollIntervalMs);
    }

    throw new Error(`Channel ${number} was not reconnected.`);
  }

  /** Resolves when every channel that can be reconnected is, or after a minute. */
  async settle(): Promise<void> {
    const giveUpAtMs = Date.now() + giveUpMs;
    while ((await this.#lost()).length > 0 && Date.now() < giveUpAtMs) {
      await sleep(pollIntervalMs);
    }
  }

  close(): void {
    this.#isOpen = false;
  }

  async #keep(): Promise<void> {
    while (this.#isOpen) {
      // The state of these channels may be outdated when it arrives.
      const busy = new Set(this.#underWay);
      // The request fails while the service is down.
      const lost = await this.#lost().catch(() => []);
      for (const channel of lost.filter(({ id }) => !busy.has(id))) {
        this.#underWay.add(channel.id);
        void this.#mend(channel).finally(() => this.#underWay.delete(channel.id));
      }
      await sleep(pollIntervalMs);
    }
  }

  async #lost(): Promise<ChaosChannel[]> {
    const { reply } = await callUntilAnswered(() => this.#deps.client.get('/channels'));
    const states: { id: string; state: string }[] = reply.body.channels;
    const gone = new Set(states.filter(({ state }) => state !== 'connected').map(({ id }) => id));
    return this.#own.filter(({ id }) => gone.has(id));
  }

  async #mend(channel: ChaosChannel): Promise<void> {
    const { channels, journal } = this.#deps;
    await sleep(thinksMs);
    try {
      await channel.reconnect?.();
      this.mended += 1;
      journal.note('', `channel ${channels.indexOf(channel)} is reconnected`);
    } catch (error) {
      // The network or the database is down; the next poll tries again.
      journal.note('', `channel ${channels.indexOf(channel)} is not reconnected: ${String(error)}`);
    }
  }
}

/**
 * Counts a retry for each of these posts. @param unsure A channel's number, if a lost call may have retried other posts
 * of it.
 */
function credit(
  histories: readonly PostHistory[],
  retrying: readonly string[],
  unsure: number | null,
): void {
  for (const history of histories) {
    if (retrying.includes(history.id)) {
      history.retries += 1;
    } else if (unsure !== null && history.plan.channels.includes(unsure)) {
      history.unsureRetries += 1;
    }
  }
}

/** Channels whose post failed for a lost access that the owner restores. */
export const mendedIn = ({ end }: PostHistory, owner: Owner): string[] =>
  end?.status === 'failed'
    ? end.channels
        .filter(({ error_code: code, channel_id: id }) => code === 'access_lost' && owner.mends(id))
        .map(({ channel_id: id }) => id)
    : [];

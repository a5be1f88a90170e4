import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../support/client.ts';
import type { ChaosChannel } from './networks/connect-channels.ts';
import { callUntilAnswered } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import type { PostHistory } from './post-history.ts';

type OwnerDeps = {
  readonly client: Client;
  readonly channels: readonly ChaosChannel[];
  /** Of channels that lose their access for good. */
  readonly doomed: ReadonlySet<string>;
  readonly journal: Journal;
  readonly histories: readonly PostHistory[];
};

/** In milliseconds: between two looks, how long a person takes, and how long nothing is waited for any more. */
const [lookEveryMs, thinksMs, giveUpMs] = [700, 1500, 60_000];

/** The owner of the accounts: connects them again where the API says that they need that. */
export class Owner {
  /** How often that was done, and how many posts were sent again for it. */
  mended = 0;
  resent = 0;
  readonly #deps: OwnerDeps;
  readonly #own: readonly ChaosChannel[];
  readonly #underWay = new Set<string>();
  #isOpen = true;

  constructor(deps: OwnerDeps) {
    this.#deps = deps;
    this.#own = deps.channels.filter(
      ({ id, reconnect }) => reconnect !== null && !deps.doomed.has(id),
    );
    void this.#keep();
  }

  /** Whether the owner sees to a channel. @param id As the API has it. */
  mends(id: string): boolean {
    return this.#own.some((channel) => channel.id === id);
  }

  /** Once a channel is connected again, has the posts that failed for it sent again. @throws Error when it never is. */
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
        journal.note('', `channel ${number}: ${reply.body.retrying.length} posts are sent again`);
        return;
      }

      await sleep(lookEveryMs);
    }

    throw new Error(`Channel ${number} was not connected again.`);
  }

  /** Resolves when every channel is connected that can be, or after a minute. */
  async settle(): Promise<void> {
    const giveUpAtMs = Date.now() + giveUpMs;
    while ((await this.#lost()).length > 0 && Date.now() < giveUpAtMs) {
      await sleep(lookEveryMs);
    }
  }

  close(): void {
    this.#isOpen = false;
  }

  async #keep(): Promise<void> {
    while (this.#isOpen) {
      // What is seen of these may be old when it arrives.
      const busy = new Set(this.#underWay);
      // While the service is away there is nothing to be seen.
      const lost = await this.#lost().catch(() => []);
      for (const channel of lost.filter(({ id }) => !busy.has(id))) {
        this.#underWay.add(channel.id);
        void this.#mend(channel).finally(() => this.#underWay.delete(channel.id));
      }
      await sleep(lookEveryMs);
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
      journal.note('', `channel ${channels.indexOf(channel)} is connected again`);
    } catch (error) {
      // The network or the database is away: at the next look.
      journal.note('', `channel ${channels.indexOf(channel)} is not connected: ${String(error)}`);
    }
  }
}

/** Each of these ends once more. @param unsure Number of the channel, where an earlier call may have done it for others. */
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

/** Channels on which a post failed for the loss of an access that its owner has given again, or will. */
export const mendedIn = ({ end }: PostHistory, owner: Owner): string[] =>
  end?.status === 'failed'
    ? end.channels
        .filter(({ error_code: code, channel_id: id }) => code === 'access_lost' && owner.mends(id))
        .map(({ channel_id: id }) => id)
    : [];

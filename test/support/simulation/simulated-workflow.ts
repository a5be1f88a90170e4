import type { PostToSync } from '../../../temporal/sync-post.ts';
import type { Go, PostSteps } from '../post-steps.ts';
import type { Random } from './random.ts';

const hour = 60 * 60_000;

type Run = {
  heard: number;
  dueAtMs: number;
  canceled: boolean;
  /** It was cancelled, and a channel is to be finished. */
  unfinished: boolean;
  /** What is being published; null while it waits. */
  sending: {
    readonly claim: Go;
    readonly sinceMs: number;
    /** When each channel that is not done is tried next. */
    readonly tries: Map<string, number>;
    stopped: boolean;
  } | null;
};

/**
 * The workflow of one post (`workflows/publish-post.ts`) as a machine whose every step a test takes, with a Temporal that
 * loses answers. Channels are tried one after the other; what would be at once happens inside of a try.
 */
export class SimulatedWorkflow {
  run: Run | null = null;
  #tries = 0;
  readonly #steps: PostSteps;
  readonly #post: string;

  constructor(steps: PostSteps, post: string) {
    this.#steps = steps;
    this.#post = post;
  }

  /** As `temporal/sync-post.ts` does. */
  receive({ status, revision, dueAt, isUnfinished }: PostToSync): void {
    if (status === 'draft' && isUnfinished && !this.run) {
      this.run = { heard: revision, dueAtMs: 0, canceled: false, unfinished: false, sending: null };
    } else if (status === 'draft') {
      this.#news(revision, null, isUnfinished);
    } else if (dueAt !== null && (status === 'scheduled' || status === 'publishing')) {
      const dueAtMs = Date.parse(dueAt);
      if (!this.run) {
        this.run = { heard: revision, dueAtMs, canceled: false, unfinished: false, sending: null };
      } else if (revision > 1) {
        this.#news(revision, dueAtMs);
      }
    }
  }

  #news(revision: number, dueAtMs: number | null, unfinished = false): void {
    const { run } = this;
    if (run && revision > run.heard) {
      run.heard = revision;
      run.canceled = dueAtMs === null;
      run.unfinished = unfinished;
      run.dueAtMs = dueAtMs ?? run.dueAtMs;
      if (run.sending) {
        run.sending.stopped = true;
      }
    }
  }

  /** The worker that tries at this moment is silent: Temporal gives its work to another one, or calls it cancelled. */
  giveUp(): void {
    const { sending } = this.run ?? {};
    for (const [channel, dueMs] of sending?.tries ?? []) {
      if (dueMs < this.#tries) {
        sending?.tries.set(channel, this.#nowMs());
      }
    }
  }

  /** When there is something to do next, in milliseconds since 1970; null when there is nothing. */
  nextMs(): number | null {
    if (!this.run) {
      return null;
    }

    const { canceled, dueAtMs, sending } = this.run;
    if (!sending) {
      return canceled ? 0 : dueAtMs;
    }

    return sending.stopped ? 0 : Math.min(Infinity, ...sending.tries.values());
  }

  /** Takes one step, if it is time. @param random Whether answers are lost; never when null. */
  async step(random: Random | null): Promise<void> {
    const { run } = this;
    if (!run) {
      return;
    }

    if (run.sending) {
      await (run.sending.tries.size > 0 ? this.#try(run, random) : this.#end(run, random));
    } else if (run.canceled && !run.unfinished) {
      this.run = null;
    } else if (run.canceled || this.#nowMs() >= run.dueAtMs) {
      Object.assign(run, { canceled: false, unfinished: false });
      await this.#claim(run, random);
    }
  }

  #nowMs = (): number => this.#steps.deps.now().getTime();

  async #claim(run: Run, random: Random | null): Promise<void> {
    const claim = await this.#steps.claim(this.#post);
    if (random?.chance(0.1)) {
      return; // The worker died; another asks again.
    }

    if (claim.kind === 'gone') {
      this.run = null;
    } else if (claim.kind === 'not_due') {
      run.dueAtMs = Date.parse(claim.dueAt);
      run.heard = Math.max(run.heard, claim.revision);
    } else {
      const nowMs = this.#nowMs();
      const tries = new Map(claim.targets.map(({ postChannelId }) => [postChannelId, nowMs]));
      run.heard = Math.max(run.heard, claim.revision);
      run.sending = { claim, tries, sinceMs: nowMs, stopped: run.heard > claim.revision };
    }
  }

  async #try(run: Run, random: Random | null): Promise<void> {
    const sending = run.sending as NonNullable<Run['sending']>;
    const nowMs = this.#nowMs();
    const open = [...sending.tries].toSorted(([, a], [, b]) => a - b).map(([id]) => id);
    const channel = random ? random.pick(open) : (open[0] ?? '');
    if (sending.stopped || nowMs > sending.sinceMs + 26 * hour) {
      sending.tries.delete(channel); // It waited for its first or its next try.
      return;
    }

    if ((sending.tries.get(channel) ?? 0) > nowMs) {
      return;
    }

    // While this try lives it is known by its number: one that hangs is given up by `giveUp`.
    const token = this.#tries++;
    sending.tries.set(channel, token);
    const outcome = await this.#steps.attempt(this.#post, channel).catch(() => ({
      kind: 'again' as const,
      inMs: 1000,
    }));
    const isLost = outcome.kind === 'done' && random?.chance(0.1);
    if (sending.tries.get(channel) !== token) {
      return; // It hung so long that it was given up, and another try was made.
    }

    if (sending.stopped || (outcome.kind === 'done' && !isLost)) {
      sending.tries.delete(channel);
    } else {
      sending.tries.set(channel, nowMs + ((outcome.kind === 'again' && outcome.inMs) || 1000));
    }
  }

  async #end(run: Run, random: Random | null): Promise<void> {
    const { claim, stopped } = run.sending as NonNullable<Run['sending']>;
    const canceled = stopped && run.canceled;
    const end = await this.#steps.finalize(this.#post, claim, { canceled, heard: run.heard });
    if (random?.chance(0.35)) {
      return; // The worker died; another writes the end again.
    }

    if (end.unfinished) {
      Object.assign(run, { canceled: false, unfinished: false, sending: null });
    } else if (run.canceled || run.heard === claim.revision) {
      this.run = null;
    } else {
      run.sending = null;
    }
  }
}

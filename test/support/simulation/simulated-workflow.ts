import type { Go, PostSteps } from '../post-steps.ts';
import type { Random } from './random.ts';
import type { PostToSync } from '../../../domain/to-sync.ts';

const hour = 60 * 60_000;

type Run = {
  signalled: number;
  dueAtMs: number;
  canceled: boolean;
  /** It was cancelled, and a channel must still finish. */
  unfinished: boolean;
  /** The claim that is being published; null while it waits. */
  sending: {
    readonly claim: Go;
    readonly sinceMs: number;
    /** When the next attempt of each unfinished channel is due. */
    readonly attempts: Map<string, number>;
    stopped: boolean;
  } | null;
};

/**
 * The workflow of one post (`workflows/publish-post.ts`) as a state machine that the test steps, with a Temporal that
 * loses answers. Attempts of channels run one after the other; concurrent events happen within an attempt.
 */
export class SimulatedWorkflow {
  run: Run | null = null;
  #attempts = 0;
  readonly #steps: PostSteps;
  readonly #post: string;

  constructor(steps: PostSteps, post: string) {
    this.#steps = steps;
    this.#post = post;
  }

  /** The same decisions as `temporal/sync-post.ts`. */
  receive({ status, revision, dueAt, isUnfinished }: PostToSync): void {
    if (status === 'draft' && isUnfinished && !this.run) {
      this.run = {
        signalled: revision,
        dueAtMs: 0,
        canceled: false,
        unfinished: false,
        sending: null,
      };
    } else if (status === 'draft') {
      this.#news(revision, null, isUnfinished);
    } else if (dueAt !== null && (status === 'scheduled' || status === 'publishing')) {
      const dueAtMs = Date.parse(dueAt);
      if (!this.run) {
        this.run = {
          signalled: revision,
          dueAtMs,
          canceled: false,
          unfinished: false,
          sending: null,
        };
      } else if (revision > 1) {
        this.#news(revision, dueAtMs);
      }
    }
  }

  #news(revision: number, dueAtMs: number | null, unfinished = false): void {
    const { run } = this;
    if (run && revision > run.signalled) {
      run.signalled = revision;
      run.canceled = dueAtMs === null;
      run.unfinished = unfinished;
      run.dueAtMs = dueAtMs ?? run.dueAtMs;
      if (run.sending) {
        run.sending.stopped = true;
      }
    }
  }

  /** The worker that attempts at this moment is silent: Temporal gives its work to another one, or calls it cancelled. */
  giveUp(): void {
    const { sending } = this.run ?? {};
    for (const [channel, dueMs] of sending?.attempts ?? []) {
      if (dueMs < this.#attempts) {
        sending?.attempts.set(channel, this.#nowMs());
      }
    }
  }

  /** When the next step is due, in milliseconds since 1970; null when there is none. */
  nextMs(): number | null {
    if (!this.run) {
      return null;
    }

    const { canceled, dueAtMs, sending } = this.run;
    if (!sending) {
      return canceled ? 0 : dueAtMs;
    }

    return sending.stopped ? 0 : Math.min(Infinity, ...sending.attempts.values());
  }

  /** Takes one step, if it is due. @param random Decides whether answers are lost; none are when it is null. */
  async step(random: Random | null): Promise<void> {
    const { run } = this;
    if (!run) {
      return;
    }

    if (run.sending) {
      await (run.sending.attempts.size > 0 ? this.#attempt(run, random) : this.#end(run, random));
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
      return; // The worker died; another one repeats the claim.
    }

    if (claim.kind === 'gone') {
      this.run = null;
    } else if (claim.kind === 'not_due') {
      run.dueAtMs = Date.parse(claim.dueAt);
      run.signalled = Math.max(run.signalled, claim.revision);
    } else {
      const nowMs = this.#nowMs();
      const attempts = new Map(claim.targets.map(({ postChannelId }) => [postChannelId, nowMs]));
      run.signalled = Math.max(run.signalled, claim.revision);
      run.sending = { claim, attempts, sinceMs: nowMs, stopped: run.signalled > claim.revision };
    }
  }

  async #attempt(run: Run, random: Random | null): Promise<void> {
    const sending = run.sending as NonNullable<Run['sending']>;
    const nowMs = this.#nowMs();
    const open = [...sending.attempts].toSorted(([, a], [, b]) => a - b).map(([id]) => id);
    const channel = random ? random.pick(open) : (open[0] ?? '');
    if (sending.stopped || nowMs > sending.sinceMs + 26 * hour) {
      sending.attempts.delete(channel); // It waited for its first or its next attempt.
      return;
    }

    if ((sending.attempts.get(channel) ?? 0) > nowMs) {
      return;
    }

    // A running attempt is identified by its number; `giveUp` ends one that hangs.
    const token = this.#attempts++;
    sending.attempts.set(channel, token);
    const outcome = await this.#steps.attempt(this.#post, channel).catch(() => ({
      kind: 'again' as const,
      inMs: 1000,
    }));
    const isLost = outcome.kind === 'done' && random?.chance(0.1);
    if (sending.attempts.get(channel) !== token) {
      return; // It hung, and another attempt replaced it.
    }

    if (sending.stopped || (outcome.kind === 'done' && !isLost)) {
      sending.attempts.delete(channel);
    } else {
      sending.attempts.set(channel, nowMs + ((outcome.kind === 'again' && outcome.inMs) || 1000));
    }
  }

  async #end(run: Run, random: Random | null): Promise<void> {
    const { claim, stopped } = run.sending as NonNullable<Run['sending']>;
    const canceled = stopped && run.canceled;
    const end = await this.#steps.finalize(this.#post, claim, {
      canceled,
      signalled: run.signalled,
    });
    if (random?.chance(0.35)) {
      return; // The worker died; another one finalizes again.
    }

    if (end.unfinished) {
      Object.assign(run, { canceled: false, unfinished: false, sending: null });
    } else if (run.canceled || run.signalled === claim.revision) {
      this.run = null;
    } else {
      run.sending = null;
    }
  }
}

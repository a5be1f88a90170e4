import {
  claimed,
  interrupted,
  signalled,
  type PostSchedule,
} from '../../../domain/post-schedule.ts';
import type { PostToSync } from '../../../domain/to-sync.ts';
import type { Go, PostSteps } from '../post-steps.ts';
import type { Random } from './random.ts';

const hour = 60 * 60_000;

type Run = {
  schedule: PostSchedule;
  /** It claims at once, whatever its time: its publishing was interrupted. */
  isAsking: boolean;
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
  receive({ status, revision, dueAt, isStillSending = false }: PostToSync): void {
    const isTimed = dueAt !== null && (status === 'scheduled' || status === 'publishing');
    const signal = { revision, dueAtMs: isTimed ? Date.parse(dueAt) : 0 };
    if (this.run && (isTimed || status === 'draft')) {
      this.#signal(this.run, signal);
    } else if (isTimed || (status === 'draft' && isStillSending)) {
      this.run = { schedule: signal, isAsking: false, sending: null };
    }
  }

  #signal(run: Run, signal: PostSchedule): void {
    const before = run.schedule;
    run.schedule = signalled(before, signal);
    if (run.sending && run.schedule !== before) {
      run.sending.stopped = true;
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

    const { schedule, isAsking, sending } = this.run;
    if (!sending) {
      return isAsking ? 0 : schedule.dueAtMs;
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
    } else if (run.isAsking || this.#nowMs() >= run.schedule.dueAtMs) {
      await this.#claim(run, random);
    }
  }

  #nowMs = (): number => this.#steps.deps.now().getTime();

  async #claim(run: Run, random: Random | null): Promise<void> {
    const before = run.schedule;
    const claim = await this.#steps.claim(this.#post);
    if (random?.chance(0.1)) {
      return; // The worker died; another one repeats the claim.
    }

    run.isAsking = false;
    if (claim.kind === 'gone') {
      this.run = run.schedule === before ? null : run;
      return;
    }

    const { revision } = claim;
    const dueAtMs = claim.kind === 'not_due' ? Date.parse(claim.dueAt) : 0;
    run.schedule = claimed(run.schedule, before, { revision, dueAtMs });
    if (claim.kind === 'go') {
      const nowMs = this.#nowMs();
      const attempts = new Map(claim.targets.map(({ postChannelId }) => [postChannelId, nowMs]));
      const stopped = run.schedule.revision > revision;
      run.sending = { claim, attempts, sinceMs: nowMs, stopped };
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
    if (!stopped) {
      const { end } = await this.#steps.finalize(this.#post, claim);
      if (random?.chance(0.35)) {
        return; // The worker died; another one finalizes again.
      }

      if (end && run.schedule.revision === claim.revision) {
        this.run = null;
        return;
      }
    }

    Object.assign(run, { schedule: interrupted(run.schedule), isAsking: true, sending: null });
  }
}

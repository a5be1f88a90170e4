import { isFinal } from '../../../domain/statuses.ts';
import { faultsOf, readPost, type PostRow, restFaults } from './check-post.ts';
import { actAsUser } from './random-user.ts';
import type { Random } from './random.ts';
import { SimulatedWorkflow } from './simulated-workflow.ts';
import { uneventful, type Simulation } from './simulation.ts';
import { publishLate } from './unreliable-network.ts';
import type { PostToSync } from '../../../domain/to-sync.ts';
import { textsForChannel } from '../../../domain/parts.ts';
import type { PublishStep } from '../../../networks/network.ts';

/** The texts that an attempt may send, by network; null when it may send none. */
type ExpectedTexts = ReadonlyMap<string, readonly string[]> | null;

/** @returns the texts that an attempt of this post may send if it begins now. */
async function expectedTexts(
  { steps }: Simulation,
  post: string,
  { status }: PostRow,
): Promise<ExpectedTexts> {
  if (status !== 'publishing') {
    return null;
  }

  const rows = await steps.deps.orm.em
    .fork()
    .execute<{ platform: string; override: string; body: string; thread: string[] }[]>(
      `select c.platform, pc.body as override, p.body, p.thread
       from post_channels pc join posts p on p.id = pc.post_id join channels c on c.id = pc.channel_id
       where p.id = ?`,
      [post],
    );
  return new Map(rows.map((row) => [row.platform, textsForChannel(row, row.override, true)]));
}

/** @returns the faults of a send. */
function sendFaults(may: ExpectedTexts, network: string, { parts }: PublishStep): string[] {
  const wanted = may?.get(network);
  return parts.flatMap(({ key, text }) =>
    wanted?.[Number(key.split('-').at(-1))] === text
      ? []
      : [`${network} is sent "${text}" instead of "${String(wanted)}".`],
  );
}

/** Checks each newly published channel that had no open part: the post's exact parts are live. */
function publishedFaults(
  { networks }: Simulation,
  may: ExpectedTexts,
  was: PostRow,
  is: PostRow,
): string[] {
  return is.channels.flatMap(({ platform, status }) => {
    const before = was.channels.find((channel) => channel.platform === platform);
    if (status !== 'published' || before?.status === 'published' || before?.open !== 0) {
      return [];
    }

    const live = (networks[platform]?.live ?? []).toSorted((a, b) => a.part - b.part);
    const actual = live.map(({ text }) => text).join(' ');
    const wanted = may?.get(platform)?.join(' ');
    return actual === wanted ? [] : [`${platform} says "${actual}" instead of "${wanted}".`];
  });
}

const isOver = ({ status }: PostRow): boolean => status === 'published' || status === 'failed';

/**
 * Counts the ends of a post: one when it ends, and one more for each channel whose outcome changes after that
 * (`db/refinalize-post.ts`). Call `see` after every step.
 */
export class Endings {
  count = 0;
  #was: PostRow | null = null;

  see(post: PostRow): void {
    if (isOver(post)) {
      this.count += this.#was && isOver(this.#was) ? changes(this.#was, post) : 1;
    }

    this.#was = post;
  }
}

/** How many channels of an ended post got another final status. */
const changes = (was: PostRow, { channels }: PostRow): number =>
  channels.filter(({ platform, status }) => {
    const before = was.channels.find((channel) => channel.platform === platform);
    return isFinal(status) && before?.status !== status;
  }).length;

const minute = 60_000;

/** A post under random calls and failures. Every method throws an Error with the post's faults after the step. */
export class SimulatedPost {
  readonly #workflow: SimulatedWorkflow;
  readonly #world: Simulation;
  readonly #post: string;
  readonly #random: Random;
  readonly #log: string[];
  readonly #endings = new Endings();

  /** @param log Gets a line for each step. */
  constructor(world: Simulation, post: string, random: Random, log: string[]) {
    this.#workflow = new SimulatedWorkflow(world.steps, post);
    this.#world = world;
    this.#post = post;
    this.#random = random;
    this.#log = log;
  }

  /** Makes one random step. */
  async step(): Promise<void> {
    const random = this.#random;
    const kind = random.pick(['user', 'time', 'temporal', 'temporal', 'temporal', 'temporal']);
    if (kind === 'user') {
      await this.#user();
    } else if (kind === 'time') {
      const ms = random.pick([1000, 31_000, 2 * minute, 11 * minute, 31 * minute, 700 * minute]);
      this.#world.steps.pass(ms);
      this.#note(`${ms} ms pass`);
    } else {
      await this.#temporal(random);
    }

    await this.#check();
  }

  /** Lets everything succeed from now on. @returns the post's final state. */
  async rest(): Promise<string> {
    const { steps, behaviour, networks } = this.#world;
    Object.assign(behaviour, { random: null, ...uneventful });
    this.#note('from now on all goes well');
    for (let step = 0; step < 200; step++) {
      await this.#relay();
      const nextMs = this.#workflow.nextMs();
      if (nextMs === null) {
        break;
      }

      steps.pass(Math.max(0, (Number.isFinite(nextMs) ? nextMs : 0) - steps.deps.now().getTime()));
      await this.#temporal(null);
      await this.#check();
    }

    steps.pass(minute);
    for (const network of Object.values(networks)) {
      publishLate(network, steps.deps.now().getTime());
    }

    const post = await this.#check();
    this.#assertNone(restFaults(post));
    return `${post.status}: ${post.channels.map(({ status }) => status).join(', ')}`;
  }

  async #user(): Promise<void> {
    const { steps } = this.#world;
    const { status } = await readPost(steps, this.#post);
    const [act, refusal] = await actAsUser(steps, this.#post, status, this.#random);
    this.#note(refusal ? `${act} is refused: ${refusal}` : act);
    this.#endings.see(await readPost(steps, this.#post));
    // A message arrives now, later or never; in the last case the relay repeats it.
    const message = steps.messages.at(-1);
    if (!refusal && message && this.#random.chance(0.5)) {
      await this.#receive(message);
    }

    for (const late of steps.messages.filter(() => this.#random.chance(0.1))) {
      this.#workflow.receive(late); // Its sender has already timed out.
    }

    if (this.#random.chance(0.3)) {
      await this.#relay();
    }
  }

  async #temporal(random: Random | null): Promise<void> {
    const { steps, behaviour } = this.#world;
    const before = { ...behaviour };
    const was = await readPost(steps, this.#post);
    const may = await expectedTexts(this.#world, this.#post, was);
    let hung = false;
    behaviour.onSend = (network, step) => {
      const texts = step.parts.map(({ text }) => text).join(' ');
      this.#note(`${network} is sent "${texts}"`);
      this.#assertNone(sendFaults(may, network, step));
    };
    behaviour.midway = async () => {
      while (random?.chance(0.15)) {
        this.#note('meanwhile:');
        await this.#user();
      }
    };
    behaviour.hang = async () => {
      if (random?.chance(0.07)) {
        hung = true;
        await this.#letOthersContinue(random);
      }
    };
    await this.#workflow.step(random);
    Object.assign(behaviour, before);
    const { run } = this.#workflow;
    const what = run?.sending ? `sending, ${run.sending.attempts.size} to go` : 'waiting';
    this.#note(`workflow: ${run ? `${what}, knows ${run.schedule.revision}` : 'over'}`);
    if (!hung) {
      this.#assertNone(publishedFaults(this.#world, may, was, await readPost(steps, this.#post)));
    }
  }

  /** The worker hangs in the middle of its step, and other workers continue its work. */
  async #letOthersContinue(random: Random): Promise<void> {
    this.#note('the worker hangs:');
    this.#workflow.giveUp();
    for (let step = random.below(12); step >= 0; step--) {
      await this.step();
    }

    this.#note('the worker goes on');
  }

  async #receive(message: PostToSync): Promise<void> {
    this.#workflow.receive(message);
    this.#note(`receives ${message.status} ${message.revision}`);
    if (this.#random.chance(0.9)) {
      await this.#world.steps.deps.orm.em
        .fork()
        .execute('update posts set synced_revision = greatest(synced_revision, ?) where id = ?', [
          message.revision,
          this.#post,
        ]);
    }
  }

  async #relay(): Promise<void> {
    const { steps } = this.#world;
    for (;;) {
      const row = await readPost(steps, this.#post);
      const { revision, status, due_at: at } = row;
      if (row.synced_revision >= revision) {
        return;
      }

      const dueAt = at === null ? null : new Date(at).toISOString();
      const isSending = row.channels.some((it) => ['publishing', 'retrying'].includes(it.status));
      const isStillSending = status === 'draft' && isSending; // As in `worker/outbox.ts`.
      const { workspaceId } = steps;
      const postId = this.#post;
      await this.#receive({ workspaceId, postId, status, revision, dueAt, isStillSending });
    }
  }

  async #check(): Promise<PostRow> {
    const post = await readPost(this.#world.steps, this.#post);
    this.#endings.see(post);
    this.#assertNone(faultsOf(post, this.#workflow, this.#world.networks));
    const [events, endings] = [post.events.length, this.#endings.count];
    this.#assertNone(events === endings ? [] : [`${events} events, ${endings} endings.`]);
    return post;
  }

  #note(line: string): void {
    this.#log.push(line);
  }

  #assertNone(faults: readonly string[]): void {
    if (faults.length > 0) {
      throw new Error(faults.join(' '));
    }
  }
}

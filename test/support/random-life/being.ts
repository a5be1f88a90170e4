import type { PostToSync } from '../../../temporal/sync-post.ts';
import { faultsOf, lookAt, restFaults, type PostRow } from './check-life.ts';
import { Endings } from './endings.ts';
import { calm, type LifeWorld } from './life-world.ts';
import { ModelWorkflow } from './model-workflow.ts';
import { settleLate } from './moody-network.ts';
import type { Random } from './random.ts';
import { actAsUser } from './random-user.ts';
import { mayBeSaid, saidFaults, sendFaults } from './said.ts';

const minute = 60_000;

/** A post to which things happen. Every method throws an Error with what is wrong with it afterwards. */
export class Being {
  readonly #workflow: ModelWorkflow;
  readonly #world: LifeWorld;
  readonly #post: string;
  readonly #random: Random;
  readonly #log: string[];
  readonly #endings = new Endings();

  /** @param log Gets a line for all that happens. */
  constructor(world: LifeWorld, post: string, random: Random, log: string[]) {
    this.#workflow = new ModelWorkflow(world.life, post);
    this.#world = world;
    this.#post = post;
    this.#random = random;
    this.#log = log;
  }

  /** One thing that happens. */
  async step(): Promise<void> {
    const random = this.#random;
    const kind = random.pick(['user', 'time', 'temporal', 'temporal', 'temporal', 'temporal']);
    if (kind === 'user') {
      await this.#user();
    } else if (kind === 'time') {
      const ms = random.pick([1000, 31_000, 2 * minute, 11 * minute, 31 * minute, 700 * minute]);
      this.#world.life.pass(ms);
      this.#say(`${ms} ms pass`);
    } else {
      await this.#temporal(random);
    }

    await this.#check();
  }

  /** Nothing unforeseen happens any more. @returns how the post ends. */
  async rest(): Promise<string> {
    const { life, mood, networks } = this.#world;
    Object.assign(mood, { random: null, ...calm });
    this.#say('from now on all goes well');
    for (let step = 0; step < 200; step++) {
      await this.#relay();
      const nextMs = this.#workflow.nextMs();
      if (nextMs === null) {
        break;
      }

      life.pass(Math.max(0, (Number.isFinite(nextMs) ? nextMs : 0) - life.deps.now().getTime()));
      await this.#temporal(null);
      await this.#check();
    }

    life.pass(minute);
    for (const network of Object.values(networks)) {
      settleLate(network, life.deps.now().getTime());
    }

    const post = await this.#check();
    this.#must(restFaults(post));
    return `${post.status}: ${post.channels.map(({ status }) => status).join(', ')}`;
  }

  async #user(): Promise<void> {
    const { life } = this.#world;
    const { status } = await lookAt(life, this.#post);
    const [act, refusal] = await actAsUser(life, this.#post, status, this.#random);
    this.#say(refusal ? `${act} is refused: ${refusal}` : act);
    this.#endings.see(await lookAt(life, this.#post));
    // Told at once, told later or never: then the relay does it.
    const message = life.told.at(-1);
    if (!refusal && message && this.#random.chance(0.5)) {
      await this.#hear(message);
    }

    for (const late of life.told.filter(() => this.#random.chance(0.1))) {
      this.#workflow.hear(late); // Came so late that its sender had given up.
    }

    if (this.#random.chance(0.3)) {
      await this.#relay();
    }
  }

  async #temporal(random: Random | null): Promise<void> {
    const { life, mood } = this.#world;
    const before = { ...mood };
    const was = await lookAt(life, this.#post);
    const may = await mayBeSaid(this.#world, this.#post, was);
    let hung = false;
    mood.onSend = (network, step) => {
      const texts = step.parts.map(({ text }) => text).join(' ');
      this.#say(`${network} is sent "${texts}"`);
      this.#must(sendFaults(may, network, step));
    };
    mood.midway = async () => {
      while (random?.chance(0.15)) {
        this.#say('meanwhile:');
        await this.#user();
      }
    };
    mood.hang = async () => {
      if (random?.chance(0.07)) {
        hung = true;
        await this.#othersGoOn(random);
      }
    };
    await this.#workflow.step(random);
    Object.assign(mood, before);
    const { run } = this.#workflow;
    const what = run?.sending ? `sending, ${run.sending.tries.size} to go` : 'waiting';
    this.#say(`workflow: ${run ? `${what}, heard of ${run.heard}` : 'over'}`);
    if (!hung) {
      this.#must(saidFaults(this.#world, may, was, await lookAt(life, this.#post)));
    }
  }

  /** The worker hangs in the middle of its step, and others take its work over. */
  async #othersGoOn(random: Random): Promise<void> {
    this.#say('the worker hangs:');
    this.#workflow.giveUp();
    for (let step = random.below(12); step >= 0; step--) {
      await this.step();
    }

    this.#say('the worker goes on');
  }

  async #hear(message: PostToSync): Promise<void> {
    this.#workflow.hear(message);
    this.#say(`heard of ${message.status} ${message.revision}`);
    if (this.#random.chance(0.9)) {
      await this.#world.life.deps.orm.em
        .fork()
        .execute('update posts set synced_revision = greatest(synced_revision, ?) where id = ?', [
          message.revision,
          this.#post,
        ]);
    }
  }

  async #relay(): Promise<void> {
    const { life } = this.#world;
    for (;;) {
      const row = await lookAt(life, this.#post);
      const { revision, status, due_at: at } = row;
      if (row.synced_revision >= revision) {
        return;
      }

      const dueAt = at === null ? null : new Date(at).toISOString();
      const isSending = row.channels.some((it) => ['publishing', 'retrying'].includes(it.status));
      const isUnfinished = status === 'draft' && isSending; // As `worker/outbox.ts` reads it.
      const { workspaceId } = life;
      const postId = this.#post;
      await this.#hear({ workspaceId, postId, status, revision, dueAt, isUnfinished });
    }
  }

  async #check(): Promise<PostRow> {
    const post = await lookAt(this.#world.life, this.#post);
    this.#endings.see(post);
    this.#must(faultsOf(post, this.#workflow, this.#world.networks));
    const [events, endings] = [post.events.length, this.#endings.count];
    this.#must(events === endings ? [] : [`${events} events, ${endings} endings.`]);
    return post;
  }

  #say(line: string): void {
    this.#log.push(line);
  }

  #must(faults: readonly string[]): void {
    if (faults.length > 0) {
      throw new Error(faults.join(' '));
    }
  }
}

import type { ExecutionContext } from 'ava';
import type { Step } from '../../../networks/network.ts';
import { postSteps, type PostSteps } from '../post-steps.ts';
import { moodyNetwork, type MoodyNetwork } from './moody-network.ts';
import type { Random } from './random.ts';

export type LifeWorld = {
  readonly life: PostSteps;
  readonly networks: Readonly<Record<string, MoodyNetwork>>;
  readonly mood: Mood;
};

/** What the networks look at and call. */
export type Mood = {
  random: Random | null;
  midway: () => Promise<void>;
  hang: () => Promise<void>;
  onSend: (network: string, step: Step) => void;
};

const nothing = async (): Promise<void> => {};

/** Nothing happens while a network is asked. */
export const calm = { midway: nothing, hang: nothing, onSend: (): void => {} };

/** A workspace with a channel of each of these networks, which share a mood. */
export async function makeLifeWorld(
  t: ExecutionContext,
  names: readonly string[],
  databaseUrl: string,
): Promise<LifeWorld> {
  const mood: Mood = { random: null, ...calm };
  const clock: { life?: PostSteps } = {};
  const networks = Object.fromEntries(
    names.map((name) => [
      name,
      moodyNetwork(name, {
        random: () => mood.random,
        nowMs: () => clock.life?.deps.now().getTime() ?? 0,
        midway: () => mood.midway(),
        hang: () => mood.hang(),
        onSend: (network, step) => mood.onSend(network, step),
      }),
    ]),
  );
  const life = await postSteps(t, networks, databaseUrl);
  clock.life = life;
  return { life, networks, mood };
}

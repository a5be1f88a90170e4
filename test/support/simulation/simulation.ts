import type { ExecutionContext } from 'ava';
import type { PublishStep } from '../../../networks/network.ts';
import { postSteps, type PostSteps } from '../post-steps.ts';
import { unreliableNetwork, type UnreliableNetwork } from './unreliable-network.ts';
import type { Random } from './random.ts';

export type Simulation = {
  readonly steps: PostSteps;
  readonly networks: Readonly<Record<string, UnreliableNetwork>>;
  readonly behaviour: Behaviour;
};

/** Controls the networks: chance, and hooks for other actors. */
export type Behaviour = {
  random: Random | null;
  midway: () => Promise<void>;
  hang: () => Promise<void>;
  onSend: (network: string, step: PublishStep) => void;
};

const nothing = async (): Promise<void> => {};

/** No other actor does anything during a call to a network. */
export const uneventful = { midway: nothing, hang: nothing, onSend: (): void => {} };

/** A workspace with a channel on each of these networks, which share a behaviour. */
export async function startSimulation(
  t: ExecutionContext,
  names: readonly string[],
  databaseUrl: string,
): Promise<Simulation> {
  const behaviour: Behaviour = { random: null, ...uneventful };
  const clock: { steps?: PostSteps } = {};
  const networks = Object.fromEntries(
    names.map((name) => [
      name,
      unreliableNetwork(name, {
        random: () => behaviour.random,
        nowMs: () => clock.steps?.deps.now().getTime() ?? 0,
        midway: () => behaviour.midway(),
        hang: () => behaviour.hang(),
        onSend: (network, step) => behaviour.onSend(network, step),
      }),
    ]),
  );
  const steps = await postSteps(t, networks, databaseUrl);
  clock.steps = steps;
  return { steps, networks, behaviour };
}

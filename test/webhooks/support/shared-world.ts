import type { TestFn } from 'ava';
import { startWorkers, type ApiOptions } from '../../support/punctual.ts';
import { fileScope } from './file-scope.ts';
import { startWorld, type World } from './world.ts';

type Options = Omit<ApiOptions, 'allowPorts'> & { readonly workers?: true };

/** One world for all tests of a file, each of which makes a workspace of its own in it. It is there once they run. */
export function sharedWorld(test: TestFn, { workers, ...options }: Options = {}): World {
  const scope = fileScope(test);
  let started: World | undefined;
  test.before(async () => {
    started = await startWorld(scope, options);
    if (workers) {
      await startWorkers(scope, started.punctual);
    }
  });
  const world = (): World => {
    if (!started) {
      throw new Error('The world begins with the first test.');
    }

    return started;
  };
  return {
    get punctual() {
      return world().punctual;
    },
    get stage() {
      return world().stage;
    },
    subscribe: (answer) => world().subscribe(answer),
  };
}

import { verdict } from '../verdict.ts';
import type { Seen } from './bench.ts';

/** What is promised of a hundred thousand: the posts are back in so many seconds, and the delivery is found. */
const [crowd, postsTarget, deliveryTarget] = [100_000, 600, 300];

type Run = Seen & {
  readonly posts: number;
  readonly deliveries: number;
  readonly barePerSecond: number;
};

/** Prints what was seen. @returns whether the targets were met. */
export function report(run: Run, say: (line: string) => void): boolean {
  const { posts, deliveries, firstFound, allFound, allBack, deliveryFound, barePerSecond } = run;
  const perSecond = posts / (allBack - firstFound);
  // A sweep begins each minute: few posts wait for it as long as many do.
  const ofCrowd = firstFound + crowd / perSecond;
  say(
    `\n  the first lost post was found after ${seconds(firstFound)}, all ${posts} after ${seconds(allFound)}`,
  );
  say(`  all were back after ${seconds(allBack)}: ${perSecond.toFixed(0)} a second`);
  const share = `${((perSecond / barePerSecond) * 100).toFixed(0)} % of the bare loop's ${barePerSecond.toFixed(0)}`;
  say(`  which is ${share}\n`);
  const checks: [string, boolean][] = [
    [
      `${crowd} posts are back after ${seconds(ofCrowd)} at this rate; the target is ${postsTarget} s`,
      ofCrowd <= postsTarget,
    ],
    [
      `the lost delivery behind ${deliveries - 1} was found after ${seconds(deliveryFound)}; the target is ${deliveryTarget} s`,
      deliveryFound <= deliveryTarget,
    ],
  ];
  for (const [what, met] of checks) {
    verdict(say, what, met);
  }

  return checks.every(([, met]) => met);
}

const seconds = (value: number): string => `${value.toFixed(0)} s`;

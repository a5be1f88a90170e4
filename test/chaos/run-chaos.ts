import type { ExecutionContext } from 'ava';
import type { Stage } from '../../scripts/parts/part.ts';
import { checkAccess } from './check/access.ts';
import { checkEvents } from './check/events.ts';
import { checkFigures } from './check/figures.ts';
import { checkFiles } from './check/files.ts';
import type { Evidence, Violation } from './check/evidence.ts';
import { checkOthersOnTime } from './check/on-time.ts';
import { checkNetworks } from './check/on-networks.ts';
import { checkEnds, checkStatuses } from './check/statuses.ts';
import { checkTimes } from './check/times.ts';
import { runPosts } from './run-posts.ts';
import type { ChaosOptions } from './options.ts';
import { openJournal } from './parts/journal.ts';
import { makePlan } from './plan/make-plan.ts';
import { countFaults, countNetworks, isShort, report, describePost } from './report.ts';
import { watchFigures } from './watch-figures.ts';
import { startWorld } from './world.ts';

export type Run = {
  readonly t: ExecutionContext;
  readonly folder: string;
  readonly stage: Stage;
  readonly options: ChaosOptions;
  readonly say: (line: string) => void;
};

/** How many of the violated posts are described in full. */
const describedPosts = 5;

/** @returns whether every fault was applied and no invariant was violated. */
export async function runChaos({ t, folder, stage, options, say }: Run): Promise<boolean> {
  const plan = makePlan(options);
  say(
    `${options.posts} posts over ${Math.round(plan.windowMs / 1000)} s. To repeat: npm run chaos -- --posts ${options.posts} --seed ${options.seed}`,
  );
  let startMs = Date.now();
  // Until the run starts, its journal counts from here.
  const journal = openJournal(() => startMs);
  // A later failure would delay its next attempt beyond the end.
  const receiverFails = () => journal.elapsedMs() < plan.windowMs * 0.6;
  const world = await startWorld({ t, folder, stage, options, plan, journal, receiverFails });
  say(`Started everything in ${Math.round((Date.now() - startMs) / 1000)} s.`);
  startMs = Date.now();
  const figuresSeen = watchFigures(world.client);
  const { evidence: ran, violations: broken } = await runPosts(world, {
    plan,
    journal,
    startMs,
    folder,
  });
  const evidence = { ...ran, figures: await figuresSeen() };
  for (const each of world.processes) {
    each.release();
  }

  const violations = [...broken, ...(await check(evidence))];
  const faults = countFaults(evidence, journal);
  const networks = countNetworks(evidence, journal);
  say(`\n${report(evidence, { faults, networks, violations })}`);
  say(
    `Starts after a death: ${world.processes.map(({ name, restarts }) => `${name} ${restarts()}`).join(', ')}. It took ${Math.round(journal.elapsedMs() / 1000)} s.`,
  );
  say(
    journal
      .storyOf('')
      .filter((line) => /restore|replaced|older/v.test(line))
      .join('\n'),
  );
  for (const { invariant, marker, what } of violations) {
    say(`\nViolated: ${invariant}. ${marker} ${what}`);
  }
  const violated = [...new Set(violations.map((each) => each.marker).filter(Boolean))];
  for (const marker of violated.slice(0, describedPosts)) {
    say(`\n${await describePost(world.orm, journal, evidence, marker)}`);
  }
  for (const { title } of faults.filter(isShort)) {
    say(`\nApplied too rarely: ${title}.`);
  }

  return violations.length === 0 && !faults.some(isShort);
}

const check = async (evidence: Evidence): Promise<Violation[]> => [
  ...checkEnds(evidence),
  ...checkStatuses(evidence),
  ...checkNetworks(evidence),
  ...checkAccess(evidence),
  ...checkFigures(evidence),
  ...checkFiles(evidence),
  ...checkTimes(evidence),
  ...checkOthersOnTime(evidence),
  ...(await checkEvents(evidence)),
];

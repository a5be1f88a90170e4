import { lineFaults, type LineFault, type Platform } from '../plan/faults.ts';
import type { PlannedFault, PostPlan } from '../plan/post-plan.ts';
import type { Label } from '../plan/texts.ts';

/** What the lines before the networks are to do, each once. */
export type PlannedFaults = {
  /** From now on these posts meet their faults. */
  add(posts: readonly PostPlan[]): void;
  /** What befalls a request that would make these posts on this network, if anything. */
  take(platform: Platform, labels: readonly Label[]): TakenFault | undefined;
};

/** The caller that takes it makes it come about. */
export type TakenFault = { readonly marker: string } & Omit<PlannedFault, 'fault'> & {
    readonly fault: LineFault;
  };

export function plannedFaults(): PlannedFaults {
  const waiting: TakenFault[] = [];
  return {
    add(posts) {
      for (const { marker, faults } of posts) {
        for (const { fault, ...rest } of faults) {
          if (isOfLine(fault)) {
            waiting.push({ marker, ...rest, fault });
          }
        }
      }
    },
    take(platform, labels) {
      const index = waiting.findIndex(
        (fault) =>
          fault.platform === platform &&
          labels.some(({ marker, part }) => marker === fault.marker && part === fault.part),
      );
      return index === -1 ? undefined : waiting.splice(index, 1)[0];
    },
  };
}

const names: readonly string[] = lineFaults;
const isOfLine = (fault: string): fault is LineFault => names.includes(fault);

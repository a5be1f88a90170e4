import { lineFaults, uploadFaults, type LineFault, type UploadFault } from '../plan/faults.ts';
import type { Platform } from '../plan/platforms.ts';
import type { PlannedFault, PostPlan } from '../plan/post-plan.ts';
import type { Label } from '../plan/texts.ts';

/** The faults that the lines apply, each once. */
export type PlannedFaults = {
  /** Adds the faults of these posts. */
  add(posts: readonly PostPlan[]): void;
  /** The fault of a request that would make these posts on this network, if any. */
  take(platform: Platform, labels: readonly Label[]): TakenFault | undefined;
  /** The fault of a request that carries or prepares a file of these posts, if any. */
  takeOfUpload(
    platform: Platform,
    labels: readonly Label[],
    fault: UploadFault,
  ): TakenFault<UploadFault> | undefined;
};

/** A fault to apply; the caller that takes it applies it. */
export type TakenFault<F = LineFault> = { readonly marker: string } & Omit<
  PlannedFault,
  'fault'
> & {
    readonly fault: F;
  };

export function plannedFaults(): PlannedFaults {
  const ofCreates = openList<LineFault>(lineFaults);
  const ofUploads = openList<UploadFault>(uploadFaults);
  return {
    add(posts) {
      ofCreates.add(posts);
      ofUploads.add(posts);
    },
    take: (platform, labels) => ofCreates.take(platform, labels),
    takeOfUpload: (platform, labels, fault) =>
      ofUploads.take(platform, labels, (each) => each.fault === fault),
  };
}

function openList<F extends string>(names: readonly F[]) {
  const waiting: TakenFault<F>[] = [];
  const isOfLine = (fault: string): fault is F => names.some((name) => name === fault);
  return {
    add(posts: readonly PostPlan[]): void {
      for (const { marker, faults } of posts) {
        for (const { fault, ...rest } of faults) {
          if (isOfLine(fault)) {
            waiting.push({ marker, ...rest, fault });
          }
        }
      }
    },
    take(
      platform: Platform,
      labels: readonly Label[],
      isMeant: (fault: TakenFault<F>) => boolean = () => true,
    ): TakenFault<F> | undefined {
      const index = waiting.findIndex(
        (fault) =>
          fault.platform === platform &&
          isMeant(fault) &&
          labels.some(({ marker, part }) => marker === fault.marker && part === fault.part),
      );
      return index === -1 ? undefined : waiting.splice(index, 1)[0];
    },
  };
}
